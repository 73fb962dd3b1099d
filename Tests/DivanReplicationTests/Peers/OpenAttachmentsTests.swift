// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanReplication

/// Which attachment a part of a multipart answer is the content of.
@Suite struct OpenAttachmentsTests {
    /// A document with attachments that follow, by names in their order and digests.
    private func document(_ entries: [(name: String, digest: String?)]) throws -> WireDocument {
        let stubs = entries.map { name, digest in
            let digest = digest.map { ",\"digest\":\"\($0)\"" } ?? ""
            return "\"\(name)\":{\"follows\":true\(digest)}"
        }
        let text = "{\"_id\":\"a\",\"_attachments\":{\(stubs.joined(separator: ","))}}"
        return try WireDocument(parsing: Array(text.utf8).span)
    }

    private func open(_ entries: [(name: String, digest: String?)]) throws -> OpenAttachments {
        OpenAttachments(of: try document(entries))
    }

    @Test func `a part is found by its name, else by its digest, else by the order`() throws {
        var open = try open([
            ("a", nil), ("b", "md5-x"), ("c", "sha1-y"), ("d", "md5-x"), ("e", nil),
        ])
        #expect(open.take("c", ["md5-x"]) == "c")
        #expect(open.take(nil, ["md5-z", "sha1-z"]) == "a")
        #expect(open.take("c", ["md5-x", "sha1-y"]) == "b")
        #expect(open.take("unknown", ["md5-x"]) == "d")
        #expect(open.take(nil, ["md5-x"]) == "e")
        #expect(open.take("e", ["md5-x"]) == nil)
    }

    @Test func `of attachments with either digest of a part the first one has it`() throws {
        var open = try open([("a", "sha1-y"), ("b", "md5-x")])
        #expect(open.take(nil, ["md5-x", "sha1-y"]) == "a")
        #expect(open.take(nil, ["md5-x", "sha1-y"]) == "b")
    }

    @Test func `names and digests that differ in their bytes only are others`() throws {
        var open = try open([("e\u{301}", nil), ("\u{E9}", nil)])
        #expect(open.take("\u{E9}", []) == "\u{E9}")
        #expect(open.take("\u{E9}", []) == "e\u{301}")
    }

    @Test(arguments: [["md5-none"], ["md5-all"]])
    func `parts without names take time in proportion`(digests: [String]) throws {
        let factor = try Growth.ofEightTimes(500) { count in
            let document = try document((0..<count).map { ("a\($0)", "md5-all") })
            var open = OpenAttachments(of: document)
            for _ in 0..<count {
                let name = open.take(nil, digests)
                #expect(name != nil)
            }
        }
        #expect(factor < Growth.most)
    }
}
