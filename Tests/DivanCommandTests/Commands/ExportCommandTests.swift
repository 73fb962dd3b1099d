// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
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

    /// A blob of five bytes, and its content as an export writes it.
    private static let blob =
        #"{"@type":"blob","content_type":"text/plain","digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","length":5}"#
    private static let blobs = #""_blobs":{"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=":"aGVsbG8="}"#

    @Test func `the contents of blobs come along, wherever they stand`() throws {
        let records = """
            {"_id":"a","photo":\(Self.blob),\(Self.blobs)}
            {"_id":"b","list":[1,{"x":\(Self.blob)}],"_attachments":{"t":{"data":"aGVsbG8="}},\(Self.blobs)}
            """
        #expect(try tool.run("import", "db", input: records).status == 0)
        #expect(try !tool.run("cat", "db").out.contains("_blobs"))
        _ = try copy()
        let exported = try tool.read("out")
        #expect(exported.components(separatedBy: Self.blobs).count == 3)
        #expect(exported.components(separatedBy: #""data":"aGVsbG8=""#).count == 2)
        #expect(try tool.run("export", "copy").out == exported)
        #expect(try tool.run("verify", "copy").status == 0)
        // As new edits, too.
        #expect(try tool.run("import", "new", "out", "--create", "--new-revisions").status == 0)
        #expect(
            try tool.run("export", "new", "--body").out == tool.run("export", "db", "--body").out)
    }

    @Test func `a content of a blob that is not what it says is a bad record`() throws {
        let records = """
            {"_id":"a","p":\(Self.blob),"_blobs":{"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=":"%%%"}}
            {"_id":"b","p":\(Self.blob),"_blobs":{"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=":"aGVsbG9v"}}
            {"_id":"c","_rev":"1-c","_blobs":{"x":"aGVsbG8="}}
            {"_id":"d","_rev":"1-d","_blobs":{"x":7}}
            {"_id":"e","_rev":"1-e","unused":true,\(Self.blobs)}
            {"_id":"f","_blobs":[]}
            """
        let result = try tool.run("import", "db", input: records)
        #expect(result.status == 6)
        #expect(result.err.contains("record 3: has a content under _blobs that is not base64, or"))
        #expect(result.err.hasSuffix("5 bad records left out.\n"))
        #expect(try tool.run("ls", "db").lines == ["e"])
    }

    @Test func `objects that look like blobs come back as they are`() throws {
        for (number, object) in [
            #"{"@type":"blob","data":"aGVsbG8="}"#, #"{"@type":"blob","data":7}"#,
            #"{"@type":"blob","data":"no base64","digest":"x","length":-1}"#, Self.blob,
        ].enumerated() {
            try tool.run("put", "db", "d\(number)", #"{"x":\#(object)}"#)
        }
        let export = try tool.run("export", "db", "out")
        // The last one's content was never here.
        #expect(export.status == 5 && export.err.hasSuffix("2 contents were left out.\n"))
        #expect(try tool.run("import", "copy", "out", "--create").status == 0)
        #expect(try tool.run("cat", "copy").out == tool.run("cat", "db").out)
    }

    @Test func `a second export brings edits and deletions to where the first one was imported`()
        throws
    {
        for id in ["a", "b", "c"] { try tool.run("put", "db", id, #"{"v":1}"#) }
        _ = try copy()
        try tool.run("rm", "db", "a")
        for _ in 0..<3 { try tool.run("edit", "db", "b", "--set", "v=2") }
        #expect(try tool.run("export", "db", "out", "--deleted").status == 0)
        let again = try tool.run("import", "copy", "out")
        #expect(again.err.contains("; 1 unchanged"))
        #expect(try tool.run("get", "copy", "a").status == 3)
        #expect(try tool.run("conflicts", "copy").out == "")
        #expect(try tool.run("tree", "copy", "b").out == tool.run("tree", "db", "b").out)
    }

    @Test func `damaged content is named and left out`() throws {
        try tool.run("put", "db", "n", #"{"v":1}"#)
        try tool.write("the content of it", to: "a")
        try tool.run("attach", "db", "n", "a")
        let file = try contentFile(ofLength: "the content of it".utf8.count)
        try Data("THE CONTENT OF IT".utf8).write(to: file)
        let export = try tool.run("export", "db", "out")
        #expect(export.status == 5)
        #expect(
            export.err.contains(
                #"The attachment "a" of "n" is left out: its content is damaged."#))
        #expect(try tool.run("import", "copy", "out", "--create").status == 6)
        #expect(try tool.run("import", "copy", "out", "--stubs", "--create").status == 0)
        #expect(try tool.run("get", "copy", "n").out == tool.run("get", "db", "n").out)
    }

    @Test func `content that goes while an export waits goes with its revision`() throws {
        let text = String(repeating: "x", count: 100_000)
        for number in 10..<20 {
            try tool.write(text + "\(number)", to: "a")
            try tool.run("put", "db", "d\(number)", "{}")
            try tool.run("attach", "db", "d\(number)", "a")
        }
        let command = """
            (\(TestTool.executable.path) export db 2>err; echo $? >status) |
            (dd bs=1 count=1 2>dd; echo >begun; while [ ! -e go ]; do sleep 0.05; done; cat) >out
            """
        let shell = try ChildProcess("/bin/sh", ["-c", command], in: tool.directory.path)
        // Its reader takes no more than that, so the export waits, and has read all documents.
        #expect(eventually { FileManager.default.fileExists(atPath: tool.path("begun")) })
        try tool.run("detach", "db", "d18", "a")
        try tool.run("rm", "db", "d19")
        try tool.run("compact", "db")
        try tool.write("", to: "go")
        #expect(shell.wait() == 0)
        let complaints = try tool.read("err")
        #expect(try tool.read("status") == "0\n", "\(complaints)")
        #expect(try tool.run("import", "copy", "out", "--create").status == 0)
        #expect(try tool.run("cat", "copy").out == tool.run("cat", "db").out)
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
        for name in ["gone", "present"] {
            try tool.write("the content of \(name)", to: name)
            try tool.run("attach", "db", "n", name)
        }
        let stubs = try tool.run("export", "db", "--stubs")
        #expect(stubs.status == 0)
        #expect(!stubs.out.contains("data"))
        try FileManager.default.removeItem(
            at: contentFile(ofLength: "the content of gone".utf8.count))
        let export = try tool.run("export", "db", "out")
        #expect(export.status == 5)
        #expect(
            export.err.contains(
                #"The attachment "gone" of "n" is left out: its content is not in this database."#))
        #expect(export.err.hasSuffix("One content was left out.\n"))
        #expect(try tool.read("out").components(separatedBy: #""data":""#).count == 2)
        let refused = try tool.run("import", "copy", "out", "--create")
        #expect(refused.status == 6 && refused.err.contains("take it without by --stubs"))
        #expect(try tool.run("import", "copy", "out", "--stubs", "--create").status == 0)
        let content = try tool.run("attachment", "get", "copy", "n", "present").out
        #expect(content == "the content of present")
        #expect(
            try tool.run("attachment", "ls", "copy", "n").lines.first?.hasSuffix("not here") == true
        )
        #expect(
            try tool.run("import", "copy", "out", "--stubs", "--drop-attachments").status == 2)
    }

    @Test func `a record that import changes becomes a new revision`() throws {
        try tool.run("put", "db", "n", #"{"v":1}"#)
        try tool.run("put", "db", "m", #"{"v":1}"#)
        try tool.write("content", to: "a")
        try tool.run("attach", "db", "n", "a")
        try tool.run("export", "db", "out")
        let revision = { (name: String, id: String) in
            try tool.run("get", name, id).out.firstMatch(of: #/"_rev": ?"([^"]+)"/#)?.1
        }
        #expect(
            try tool.run("import", "plain", "out", "--create", "--drop-attachments").status == 0)
        #expect(try revision("plain", "m") == revision("db", "m"))
        #expect(try revision("plain", "n")?.hasPrefix("1-") == true)
        #expect(try tool.run("import", "set", "out", "--create", "--set", "v=2").status == 0)
        #expect(try revision("set", "m") != revision("db", "m"))
        // A document of that name is not replaced unawares.
        let again = try tool.run("import", "db", "out", "--set", "v=2")
        #expect(again.status == 6 && again.err.hasSuffix("2 bad records left out.\n"))
    }

    @Test func `lines of a continuous feed are rows around documents`() throws {
        for id in ["a", "b", "c"] { try tool.run("put", "db", id, #"{"v":1}"#) }
        try tool.run("rm", "db", "b")
        let feed = try tool.run("changes", "db", "--include-docs").out
        #expect(try tool.run("import", "copy", "--create", input: feed).status == 0)
        #expect(try tool.run("cat", "copy").out == tool.run("cat", "db").out)
        let bare = try tool.run("import", "copy", input: tool.run("changes", "db").out)
        #expect(bare.status == 6 && bare.err.contains("dump with include_docs=true"))
        // What only looks like one is a document, and so is what has its ID elsewhere.
        let own = #"{"last_seq":1}"# + "\n" + #"{"seq":1,"id":"x","changes":["red"]}"#
        #expect(try tool.run("import", "own", "--create", input: own).status == 0)
        #expect(try tool.run("ls", "own").lines.count == 2)
        #expect(try tool.run("import", "own", "--id-field", "id", input: feed).status == 6)
        #expect(try tool.run("get", "own", "a").out.contains(#""changes""#))
    }

    @Test func `a stub that cannot wait for its content is a bad record, and not the end`() throws {
        let stub = #"{"stub":true,"digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","length":5}"#
        let records = """
            {"_id":"a","_attachments":{"x":\(stub)}}
            {"_id":"b","_rev":"1-b","_attachments":{"x":{"stub":true}}}
            {"_id":"c","_rev":"1-c","_attachments":{"x":\(stub)}}
            {"_id":"d"}
            """
        let result = try tool.run("import", "db", "--stubs", input: records)
        #expect(result.status == 6)
        #expect(result.err.hasSuffix("2 bad records left out.\n"))
        #expect(try tool.run("ls", "db").lines == ["c", "d"])
    }

    /// The file of one content of the database.
    private func contentFile(ofLength length: Int) throws -> URL {
        let folder = try #require(FileManager.default.enumerator(atPath: tool.path("db.divan")))
        for case let path as String in folder where path.contains("attachments/") {
            let file = tool.path("db.divan/\(path)")
            let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
            if size == length { return URL(filePath: file) }
        }
        throw CocoaError(.fileNoSuchFile)
    }
}
