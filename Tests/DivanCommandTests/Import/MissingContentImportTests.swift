// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// Contents that `divan import` brings for documents which are here already, without them.
@Suite struct MissingContentImportTests {
    private static let digest = "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="
    private static let blob = #"{"@type":"blob","digest":"\#(digest)","length":5}"#

    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
    }

    /// Makes a database with an attachment and a blob in two documents, and exports it whole, to `out`.
    private func exportSamples() throws {
        let records = """
            {"_id":"a","_attachments":{"x":{"content_type":"text/plain","data":"dGhlIGNvbnRlbnQ="}}}
            {"_id":"b","photo":\(Self.blob),"_blobs":{"\(Self.digest)":"aGVsbG8="}}
            """
        #expect(try tool.run("import", "db", input: records).status == 0)
        #expect(try tool.run("export", "db", "out").status == 0)
    }

    @Test func `an import brings the contents of documents that came as stubs`() throws {
        try exportSamples()
        #expect(try tool.run("export", "db", "stubs", "--stubs").status == 0)
        #expect(try tool.run("import", "copy", "stubs", "--stubs", "--create").status == 0)
        #expect(try tool.run("attachment", "get", "copy", "a", "x").status != 0)
        let filled = try tool.run("import", "copy", "out")
        #expect(filled.status == 0)
        #expect(filled.err.contains("; 2 unchanged; 2 missing contents supplied."))
        #expect(try tool.run("attachment", "get", "copy", "a", "x").out == "the content")
        #expect(try tool.run("export", "copy").out == tool.read("out"))
        #expect(try tool.run("verify", "copy").status == 0)
        let again = try tool.run("import", "copy", "out")
        #expect(again.err.contains("; 2 unchanged.\n"))
    }

    @Test func `an import brings contents that were lost or cut`() throws {
        try exportSamples()
        let folder = tool.directory.appending(path: "db.divan/data-1/attachments")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name != "tmp" {
            let file = folder.appending(path: name)
            if try Data(contentsOf: file).count == 5 {
                try Data("he".utf8).write(to: file)
            } else {
                try FileManager.default.removeItem(at: file)
            }
        }
        #expect(try tool.run("verify", "db").status != 0)
        let filled = try tool.run("import", "db", "out")
        #expect(filled.err.contains("; 2 unchanged; 2 missing contents supplied."))
        #expect(try tool.run("verify", "db").status == 0)
        #expect(try tool.run("export", "db").out == tool.read("out"))
    }

    @Test func `content that CouchDB names by its MD5 is supplied under that name`() throws {
        func record(_ rest: String) -> String {
            #"{"_id":"a","_rev":"1-x","_attachments":{"x":{"content_type":"text/plain","#
                + #""digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","revpos":1,\#(rest)}}}"#
        }
        let stub = record(#""length":5,"stub":true"#)
        #expect(try tool.run("import", "db", "--stubs", input: stub).status == 0)
        let filled = try tool.run("import", "db", input: record(#""data":"aGVsbG8=""#))
        #expect(filled.err.contains("; 1 unchanged; 1 missing content supplied."))
        #expect(try tool.run("attachment", "get", "db", "a", "x").out == "hello")
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `content that is not the revision's is a bad record`() throws {
        let stub = """
            {"_id":"a","_rev":"1-x","_attachments":{"x":{"digest":"\(Self.digest)","length":5,"stub":true}}}
            {"_id":"b","_rev":"1-x"}
            """
        #expect(try tool.run("import", "db", "--stubs", input: stub).status == 0)
        let other = """
            {"_id":"a","_rev":"1-x","_attachments":{"x":{"data":"aGVsbG9v"}}}
            {"_id":"b","_rev":"1-x","_attachments":{"x":{"data":"aGVsbG9v"}}}
            """
        let refused = try tool.run("import", "db", input: other)
        #expect(refused.status == 6)
        #expect(refused.err.contains("record 1: Attachment 'x' of document 'a' has "))
        // Nothing of the other revision refers to what its record brings.
        #expect(refused.err.contains("; 1 unchanged.\n"))
        #expect(try tool.run("attachment", "get", "db", "a", "x").status != 0)
    }
}
