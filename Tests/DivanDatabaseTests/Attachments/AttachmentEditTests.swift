// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

/// What counts of an entry with content in an edit, and which names may be new.
@Suite struct AttachmentEditTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    private func entry(_ extra: JSONObject) -> JSONObject {
        var entry: JSONObject = ["content_type": "text/plain", "data": "aGVsbG8="]
        for (key, value) in extra { entry[key] = value }
        return ["_attachments": ["t": .object(entry)]]
    }

    @Test(
        arguments: [
            ["length": 6], ["digest": "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="],
            ["digest": "md5-XrY7u+Ae7tCTyyK7j1rNww==", "length": 11, "revpos": 1], ["length": -1],
            ["length": "5"], ["digest": 5], ["stub": false], ["encoding": "brotli"],
            ["encoding": "gzip", "encoded_length": 25, "length": 5], ["foo": 1, "revpos": 9],
        ] as [JSONObject])
    func `content in place counts, and what stands beside it does not`(_ extra: JSONObject) throws {
        let first = try database.create("a", attachments: ["t": Array("before".utf8)])
        let edited = try database.put("a", entry(extra), parent: first.revisionID)
        #expect(
            edited.body["_attachments"]?["t"]?.jsonValue() == Sample.stub(position: 2))
        #expect(try edited.attachment(named: "t")?.content() == Sample.hello)
        #expect(try database.problems() == [])
    }

    @Test func `content that was read coded and is given back is coded`() throws {
        let coded = entry([
            "data": .string(Base64.encode(Sample.helloGzip)), "encoding": "gzip",
            "encoded_length": .integer(Int64(Sample.helloGzip.count)), "length": 5,
        ])
        let attachment = try database.put("a", coded, parent: nil).attachment(named: "t")
        #expect(attachment?.encoding == "gzip")
        #expect(try attachment?.content() == Sample.hello)
    }

    @Test func `what means nothing here is dropped of a stub, but for what its parent says`() throws
    {
        let stub = Sample.stub()
        guard case .object(var odd) = stub else { return }
        odd["foo"] = 1
        odd["data"] = "aGVsbG8="
        try database.putExistingRevision(
            "a", ["_attachments": ["t": .object(odd)]], history: ["1-a"])
        odd["data"] = nil
        odd["bar"] = 2
        let edited = try database.put(
            "a", ["n": 1, "_attachments": ["t": .object(odd)]], parent: "1-a")
        let kept = edited.body["_attachments"]?["t"]
        #expect(kept?["foo"]?.int64 == 1)
        #expect(kept?["bar"] == nil)
    }

    @Test(arguments: ["_x", "_", ""])
    func `a name that others refuse stays where it came from elsewhere, and is told`(name: String)
        throws
    {
        let given: JSONObject = ["_attachments": [:]]
        var inline = given
        inline["_attachments"] = .object([name: ["data": "aGVsbG8="]])
        try database.putExistingRevision("a", inline, history: ["1-a"])
        let stored = try database.existing("a")
        #expect(try stored.attachment(named: name)?.content() == Sample.hello)
        #expect(try database.problems() == [])
        let notices = try database.verificationReport().notices
        #expect(notices.map(\.documentID) == ["a"])
        #expect(notices.first?.message.contains("'\(name)'") == true)
        // An edit carries it on, in both ways of editing.
        let edited = stored.toMutable()
        edited["n"] = 1
        let second = try database.save(edited).document
        #expect(second.attachmentNames == [name])
        var body = second.properties
        body["n"] = 2
        body["_attachments"] = second.body["_attachments"]?.jsonValue()
        let third = try database.put("a", body, parent: second.revisionID)
        #expect(third.attachmentNames == [name])
        // No edit gives it other content, or brings such a name.
        let replaced = third.toMutable()
        replaced.setAttachment(named: name, contentType: nil, .bytes([1]))
        #expect(code { try database.save(replaced) } == .invalidDocument)
        #expect(code { try database.put("b", inline, parent: nil) } == .invalidDocument)
        let stub = third.body["_attachments"]?.jsonValue() ?? .null
        #expect(
            code { try database.put("b", ["_attachments": stub], parent: nil) }
                == .invalidDocument)
        let removed = third.toMutable()
        removed.removeAttachment(named: name)
        try database.save(removed)
        #expect(try database.verificationReport().notices.isEmpty)
    }

    @Test func `a merge keeps a name of either branch`() throws {
        try database.putExistingRevision("a", ["n": 1], history: ["1-a"])
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", "1-a"])
        try database.putExistingRevision(
            "a", ["_attachments": ["_x": ["data": "aGVsbG8="]]], history: ["2-a", "1-a"])
        let conflict = try #require(try database.conflict(of: "a"))
        let stubs = conflict.leaves.compactMap { $0.body["_attachments"]?.jsonValue() }.first
        let merged = try database.resolve(
            conflict, by: .save(["n": 3, "_attachments": try #require(stubs)]))
        #expect(merged.attachmentNames == ["_x"])
    }

    @Test func `names that differ in their bytes only are two, in every way of adding them`() throws
    {
        let (one, two) = ("\u{E9}", "e\u{301}")
        let contents: [(String, [UInt8])] = [(one, [1]), (two, [2])]
        let document = MutableDocument(id: "a")
        for (name, bytes) in contents {
            document.setAttachment(named: name, contentType: nil, .bytes(bytes))
        }
        #expect(document.attachmentNames.count == 2)
        var saved = [try database.save(document).document]
        var entries: JSONObject = [:]
        for (name, bytes) in contents { entries[name] = ["data": .string(Base64.encode(bytes))] }
        let body: JSONObject = ["_attachments": .object(entries)]
        saved.append(try database.put("b", body, parent: nil))
        try database.putExistingRevision("c", body, history: ["1-a"])
        saved.append(try database.existing("c"))
        for document in saved {
            for (name, bytes) in contents {
                #expect(try document.attachment(named: name)?.content() == bytes, "\(document.id)")
            }
        }
        document.removeAttachment(named: two)
        let last = try database.save(document).document
        #expect(try last.attachment(named: one)?.content() == [1])
        #expect(last.attachment(named: two) == nil)
    }
}
