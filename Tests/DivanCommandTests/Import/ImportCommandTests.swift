// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// `divan import`, as a child process.
@Suite struct ImportCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
    }

    @Test func `JSON lines, arrays, values and a byte order mark are understood`() throws {
        for input in [
            "{\"_id\":\"a\",\"v\":1}\n{\"_id\":\"b\",\"v\":2}\n",
            "[{\"_id\":\"a\",\"v\":1},{\"_id\":\"b\",\"v\":2}]",
            "{\n\"_id\":\"a\",\"v\":1\n}\n{\n\"_id\":\"b\",\"v\":2}",
            "\u{FEFF}[{\"_id\":\"a\",\"v\":1},{\"_id\":\"b\",\"v\":2}]",
        ] {
            let tool = try TestTool()
            let result = try tool.run("import", "db", "--create", input: input)
            #expect(result.status == 0, "\(result.err)")
            #expect(result.err.hasPrefix("Imported 2 documents in "))
            #expect(try tool.run("cat", "db", "-b").lines == ["{\"v\":1}", "{\"v\":2}"])
        }
    }

    @Test func `an array inside an object is found by its key`() throws {
        try tool.write(
            #"{"3166-1": [{"alpha_3": "AUT"}, {"alpha_3": "DEU"}], "x": {"y": [{"c": 7}]}}"#,
            to: "in.json")
        let result = try tool.run(
            "import", "db", "in.json", "--key", "3166-1", "--id-field", "alpha_3")
        #expect(result.status == 0)
        #expect(try tool.run("ls", "db").lines == ["AUT", "DEU"])
        #expect(
            try tool.run(
                "import", "db", "in.json", "-k", "/x/y", "-i", "c", "--id-prefix", "n:", "--set",
                #"type="t""#
            ).status == 0)
        #expect(try tool.run("get", "db", "n:7", "-b").out == #"{"c":7,"type":"t"}"# + "\n")
        let missing = try tool.run("import", "db", "in.json", "--key", "nothing")
        #expect(missing.status == 6)
        #expect(missing.err.contains("in.json:1: the input has not an array \"nothing\"."))
    }

    @Test func `what is no account does not get into _users`() throws {
        try tool.run("create", "_users")
        let hashed = #"{"_id":"org.couchdb.user:ann","name":"ann","roles":[],"type":"user"}"#
        let wrong = [
            #"{"_id":"note"}"#,
            #"{"_id":"org.couchdb.user:joe","name":"joe","roles":["_admin"],"type":"user"}"#,
            #"{"_id":"org.couchdb.user:sue","name":"sue","roles":[],"type":"user","password":"p"}"#,
        ]
        let result = try tool.run(
            "import", "_users", input: (wrong + [hashed]).joined(separator: "\n"))
        #expect(result.status != 0)
        #expect(try tool.run("ls", "_users").lines == ["org.couchdb.user:ann"])
        for document in wrong {
            #expect(try tool.run("put", "_users", input: document).status != 0)
            try tool.run("import", "db", input: document)
        }
        try tool.run("replicate", "db", "_users")
        #expect(try tool.run("ls", "_users").lines == ["org.couchdb.user:ann"])
    }

    @Test func `an unnamed array inside an object is asked for`() throws {
        let result = try tool.run("import", "db", input: "{\n \"rows2\": [\n {}\n]}")
        #expect(result.status == 2)
        #expect(result.err.contains("--key rows2"))
    }

    @Test func `bad records are reported by line and left out`() throws {
        let input = """
            {"_id":"a"}
            {"_id":
            [1]
            {"_id":"_bad"}
            {"_id":5}
            {"_id":"a"}
            {"_id":"r","_bogus":1}
            {"_id":"z"}
            """
        let result = try tool.run("import", "db", input: input)
        #expect(result.status == 6)
        let lines = result.err.split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("standard input:2: record 2: not JSON. At byte 7: expected "))
        #expect(lines[1] == "standard input:3: record 3: not an object, which a document is.")
        for line in [
            "standard input:4: record 4:", "standard input:6: record 6:",
            "standard input:7: record 7:",
        ] {
            #expect(lines.contains { $0.hasPrefix(line) }, "\(line) in \(result.err)")
        }
        #expect(lines.last == "divan: 5 bad records left out.")
        #expect(try tool.run("ls", "db").lines == ["5", "a", "z"])
    }

    @Test func `strict stops at the first bad record and keeps those before it`() throws {
        for input in [
            "{\"_id\":\"a\"}\n{oops\n{\"_id\":\"b\"}", "{\"_id\":\"a\"}\n{\"_id\":\"a\"}\n{}",
        ] {
            let tool = try TestTool()
            let result = try tool.run("import", "db", "--create", "--strict", input: input)
            #expect(result.status == 6)
            #expect(result.err.contains("standard input:2: record 2: "))
            #expect(result.err.contains("1 document imported before it stay"))
            #expect(try tool.run("ls", "db").lines == ["a"])
        }
    }

    @Test func `a cut array keeps what came before the cut`() throws {
        let result = try tool.run("import", "db", input: "[{\"_id\":\"a\"},{\"_id\":\"b\"")
        #expect(result.status == 6)
        #expect(result.err.contains("the input ends inside the array, after record 1."))
        #expect(try tool.run("ls", "db").lines == ["a"])
    }

    @Test func `input that is all bad is given up`() throws {
        let result = try tool.run("import", "db", input: String(repeating: "x\n", count: 5_000))
        #expect(result.status == 6)
        #expect(result.err.contains("records are all bad"))
        #expect(result.err.split(separator: "\n").count < 1_100)
    }

    @Test func `existing documents are bad records or are updated`() throws {
        try tool.run("import", "db", input: #"{"_id":"a","v":1}"#)
        #expect(try tool.run("import", "db", input: #"{"_id":"a","v":2}"#).status == 6)
        let update = try tool.run(
            "import", "db", "--update", input: "{\"_id\":\"a\",\"v\":2}\n{\"_id\":\"b\"}")
        #expect(update.status == 0)
        let again = try tool.run("import", "db", "--update", input: #"{"_id":"a","v":2}"#)
        #expect(again.err.contains("1 unchanged"))
        #expect(try tool.run("get", "db", "a").out.contains("\"_rev\":\"2-"))
    }

    @Test func `a dump of all documents keeps its revisions`() throws {
        let dump = """
            {"total_rows":2,"offset":0,"rows":[
            {"id":"a","key":"a","value":{"rev":"3-x"},"doc":{"_id":"a","_rev":"3-x","v":1}},
            {"id":"g","key":"g","value":{"rev":"2-y","deleted":true},"doc":null},
            {"id":"n","key":"n","value":{"rev":"1-z"}},
            {"key":"q","error":"not_found"}
            ]}

            """
        let result = try tool.run("import", "db", input: dump)
        #expect(result.status == 6)
        #expect(result.err.contains(":4: record 3: the row has no document"))
        #expect(result.err.contains(":5: record 4: the row reports an error: not_found."))
        #expect(
            try tool.run("get", "db", "a").out == #"{"_id":"a","_rev":"3-x","v":1}"# + "\n")
        #expect(try tool.run("ls", "db").lines == ["a"])
    }

    @Test func `a bulk dump brings histories and tombstones`() throws {
        let dump = """
            {"new_edits":false,"docs":[
            {"_id":"a","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]},"v":1},
            {"_id":"t","_rev":"2-d","_deleted":true},
            {"_id":"w","_rev":"1-w","_revisions":{"start":5,"ids":["w"]}}
            ]}
            """
        let result = try tool.run("import", "db", input: dump)
        #expect(
            result.err.contains("record 3: has a _revisions that does not begin with its _rev."))
        #expect(try tool.run("tree", "db", "a").out == "1-a ─ 2-b ─ 3-c   winner\n")
        #expect(try tool.run("ls", "db", "--deleted").lines == ["a", "t"])
        let tool = try TestTool()
        try tool.run("import", "db", "--create", "--new-revisions", input: dump)
        #expect(try tool.run("get", "db", "a").out.contains("\"_rev\":\"1-"))
        #expect(try tool.run("ls", "db", "--deleted").lines == ["a", "w"])
    }

    @Test func `attachments are imported with their content, of revisions and of new documents`()
        throws
    {
        let entry = #""_attachments":{"x.txt":{"content_type":"text/plain","data":"aGVsbG8="}}"#
        let input = """
            {"_id":"a","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"v":1,\(entry)}
            {"_id":"n","v":2,\(entry)}
            {"v":3,\(entry)}
            {"_id":"bad","_attachments":{"x":{"data":"%"}}}
            """
        let result = try tool.run("import", "db", input: input)
        #expect(result.status == 6)
        #expect(result.err.contains("record 4: "), "\(result.err)")
        #expect(result.err.contains("'bad'"), "\(result.err)")
        #expect(try tool.run("tree", "db", "a").out == "1-a ─ 2-b   winner\n")
        let ids = try tool.run("ls", "db").lines
        #expect(ids.count == 3)
        for id in ids {
            #expect(try tool.run("attachment", "get", "db", id, "x.txt").out == "hello")
        }
        // An existing document gets the attachments of the record that replaces it, and no others.
        let other = entry.replacingOccurrences(of: "x.txt", with: "y.txt")
        let again = "{\"_id\":\"n\",\"v\":4,\(other)}"
        #expect(try tool.run("import", "db", input: again).status == 6)
        #expect(try tool.run("import", "db", "--update", input: again).status == 0)
        #expect(try tool.run("attachment", "get", "db", "n", "y.txt").out == "hello")
        #expect(try tool.run("attachment", "get", "db", "n", "x.txt").status != 0)
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `attachments without their content are refused or left out`() throws {
        let input = #"{"_id":"a","_rev":"1-a","_attachments":{"x":{"stub":true}},"v":1}"#
        let refused = try tool.run("import", "db", input: input)
        #expect(refused.status == 6)
        #expect(refused.err.contains("record 1: the attachment \"x\" of \"a\" has no content"))
        #expect(try tool.run("import", "db", "--drop-attachments", input: input).status == 0)
        #expect(try tool.run("get", "db", "a", "-b").out == "{\"v\":1}\n")
    }

    @Test func `IDs come from a property or are made`() throws {
        let result = try tool.run(
            "import", "db", "-i", "k", input: "{\"k\":\"x\"}\n{\"k\":12}\n{\"j\":1}\n{\"k\":[]}\n")
        #expect(result.status == 6)
        #expect(result.err.contains("record 3: has no property \"k\""))
        #expect(result.err.contains("record 4: has a \"k\" that is neither text nor"))
        #expect(try tool.run("ls", "db").lines == ["12", "x"])
        try tool.run("import", "db", input: "{}\n{}\n")
        #expect(try tool.run("ls", "db").lines.count == 4)
    }

    @Test func `more than a batch is imported whole, records of all sizes among them`() throws {
        var lines = (0..<3_333).map { "{\"_id\":\"\($0)\"}" }
        lines[10] = "{\"_id\":\"10\",\"big\":\"\(String(repeating: "x", count: 3_000_000))\"}"
        try tool.write(lines.joined(separator: "\n"), to: "in")
        let result = try tool.run("import", "db", "in")
        #expect(result.err.hasPrefix("Imported 3,333 documents"))
        #expect(try tool.run("info", "db", "--json").out.contains("\"documents\":3333"))
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `empty input imports nothing`() throws {
        for input in ["", "\n\n", "[]", "[\n]\n"] {
            let result = try tool.run("import", "db", input: input)
            #expect(result.status == 0)
            #expect(result.err.hasPrefix("Imported 0 documents"))
        }
    }

    @Test func `the command line is checked before anything is read`() throws {
        #expect(try tool.run("import", "db", "missing.json").status == 3)
        #expect(try tool.run("import", "db", "--format", "xml").status == 2)
        #expect(try tool.run("import", "db", "--set", "x").status == 2)
        #expect(try tool.run("import", "db", "--key", "a", "--format", "lines").status == 2)
        #expect(try tool.run("import", "nowhere", input: "{}").status == 3)
        #expect(try tool.run("import", "db", tool.directory.path).status == 1)
    }

    @Test func `an interruption keeps whole batches and says how many`() throws {
        // A pipe that stays open: the import waits for more when the signal comes.
        let fifo = tool.path("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let child = try tool.start(["import", "db", "fifo"])
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: fifo))
        let lines = (0..<1_500).map { "{\"_id\":\"\($0)\"}\n" }.joined()
        try writer.write(contentsOf: Data(lines.utf8))
        usleep(500_000)
        child.interrupt()
        let result = try child.wait()
        try writer.close()
        #expect(result.status == 130)
        // How much it had read by then depends on the machine; what it says must be what is there.
        let stored = try tool.run("ls", "db").lines.count
        let number =
            stored >= 1_000 ? "\(stored / 1_000),\(String(stored + 1_000).suffix(3))" : "\(stored)"
        #expect(result.err == "divan: Interrupted: \(number) documents imported, which stay.\n")
        #expect(stored <= 1_500)
        #expect(try tool.run("verify", "db").status == 0)
    }
}
