// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What `divan export` writes besides properties, and `divan import` takes back.
@Suite struct ExportCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
    }

    /// Exports one database and imports the export into a new one.
    private func copy(_ options: [String] = [], to name: String = "copy") throws -> TestTool.Result
    {
        let export = try tool.start(["export", "db", "out"] + options).wait()
        #expect(export.status == 0)
        #expect(try tool.run("import", name, "out", "--create").status == 0)
        return export
    }

    @Test func `the contents of attachments come along, of any length`() throws {
        try tool.run("put", "db", "n", #"{"title":"Notes"}"#)
        for length in [0, 1, 196_607, 196_608, 400_001] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            try Data(bytes).write(to: tool.directory.appending(path: "f\(length)"))
            let name = "db.\(length)"
            try tool.run("attach", "db", "n", "f\(length)", "--name", name, "--type", "image/png")
        }
        for (number, options) in [[], ["--format", "array"]].enumerated() {
            let name = "copy\(number)"
            _ = try copy(options, to: name)
            for length in [0, 1, 196_607, 196_608, 400_001] {
                try tool.run("attachment", "get", name, "n", "db.\(length)", "-o", "got")
                let got = try Data(contentsOf: tool.directory.appending(path: "got"))
                #expect(try got == Data(contentsOf: tool.directory.appending(path: "f\(length)")))
            }
            #expect(try tool.run("cat", name).out == tool.run("cat", "db").out)
        }
    }

    @Test func `the contents of blobs come along, wherever they stand`() throws {
        let blob = #"{"@type":"blob","content_type":"text/plain","data":"aGVsbG8="}"#
        let records = """
            {"_id":"a","photo":\(blob)}
            {"_id":"b","list":[1,{"x":\(blob)}],"_attachments":{"t":{"data":"aGVsbG8="}}}
            """
        #expect(try tool.run("import", "db", input: records).status == 0)
        #expect(try !tool.run("cat", "db").out.contains("data"))
        _ = try copy()
        let exported = try tool.read("out")
        #expect(exported.components(separatedBy: #""data":"aGVsbG8=""#).count == 4)
        #expect(exported.contains(#""digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","length":5"#))
        #expect(try tool.run("export", "copy").out == exported)
        #expect(try tool.run("verify", "copy").status == 0)
        // As new edits, too.
        #expect(try tool.run("import", "new", "out", "--create", "--new-revisions").status == 0)
        #expect(
            try tool.run("export", "new", "--body").out == tool.run("export", "db", "--body").out)
    }

    @Test func `a blob whose content is not what it says is a bad record`() throws {
        let records = """
            {"_id":"a","p":{"@type":"blob","data":"%%%"}}
            {"_id":"b","p":{"@type":"blob","data":"aGVsbG8=","digest":"sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="}}
            {"_id":"c","_rev":"1-c","p":{"@type":"blob","data":"aGVsbG8=","length":4}}
            {"_id":"d","_rev":"1-d","p":{"@type":"blob","data":7}}
            {"_id":"e","p":{"@type":"other","data":7}}
            """
        let result = try tool.run("import", "db", input: records)
        #expect(result.status == 6)
        #expect(
            result.err.contains("record 3: Document 'c' has a blob whose data is not base64, or"))
        #expect(result.err.hasSuffix("4 bad records left out.\n"))
        #expect(try tool.run("ls", "db").lines == ["e"])
    }

    @Test func `the losing sides of conflicts come along when that is asked for`() throws {
        try tool.run("put", "db", "a", #"{"side":"left"}"#, "--history", "2-b,1-a")
        try tool.run("put", "db", "a", #"{"side":"right"}"#, "--history", "3-d,2-c,1-a")
        try tool.run("put", "db", "b", "{}")
        let plain = try tool.run("export", "db")
        #expect(plain.lines.count == 2)
        #expect(
            plain.err.contains("Of 1 document in conflict only the winning revision was written"))
        let export = try copy(["--conflicts"])
        #expect(export.err.hasPrefix("Exported 2 documents in "))
        #expect(!export.err.contains("conflict"))
        #expect(
            try tool.read("out").hasPrefix(
                """
                {"_id":"a","_rev":"3-d","_revisions":{"start":3,"ids":["d","c","a"]},"side":"right"}
                {"_id":"a","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"side":"left"}
                {"_id":"b",
                """))
        #expect(
            try tool.run("conflicts", "copy", "--json").out
                == tool.run("conflicts", "db", "--json").out)
        #expect(try tool.run("tree", "copy", "a").out == tool.run("tree", "db", "a").out)
        #expect(try tool.run("export", "db", "--conflicts", "--body").status == 2)
    }

    @Test func `content that is not here is named and left out, and stubs are written on demand`()
        throws
    {
        try tool.run("put", "db", "n", "{}")
        for name in ["gone", "here"] {
            try tool.write("the content of \(name)", to: name)
            try tool.run("attach", "db", "n", name)
        }
        let stubs = try tool.run("export", "db", "--stubs")
        #expect(stubs.status == 0)
        #expect(!stubs.out.contains("data"))
        try removeContent(ofLength: "the content of gone".utf8.count)
        let export = try tool.run("export", "db", "out")
        #expect(export.status == 5)
        #expect(
            export.err.contains(
                #"The attachment "gone" of "n" is left out: its content is not in this database."#))
        #expect(export.err.hasSuffix("One content was left out.\n"))
        #expect(try tool.read("out").components(separatedBy: #""data":""#).count == 2)
        #expect(try tool.run("import", "copy", "out", "--create").status == 6)
    }

    /// Removes the file of one content of the database.
    private func removeContent(ofLength length: Int) throws {
        let folder = try #require(FileManager.default.enumerator(atPath: tool.path("db.divan")))
        for case let path as String in folder where path.contains("attachments/") {
            let file = tool.path("db.divan/\(path)")
            let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
            if size == length { return try FileManager.default.removeItem(atPath: file) }
        }
        Issue.record("There is no such content.")
    }
}
