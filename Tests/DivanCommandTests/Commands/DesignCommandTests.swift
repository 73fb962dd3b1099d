// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Design documents from the shell.
@Suite struct DesignCommandTests {
    let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
        try tool.run("put", "db", "ann", input: #"{"name":"Ann","age":30,"owner":"ann"}"#)
        try tool.run("put", "db", "bob", input: #"{"name":"Bob","age":40,"owner":"bob"}"#)
    }

    /// Writes a file into a folder below the test's.
    func write(_ text: String, to path: String) throws {
        let file = tool.directory.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// A design document as CouchApp lays one out.
    func writePeople() throws {
        let files = [
            "_id": "_design/people\n",
            "language": "javascript\n",
            "views/by_name/map.js": "function (doc) {\n  if (doc.name) emit(doc.name, 1);\n}\n",
            "views/by_name/reduce.js": "_sum\n",
            "views/ages/map.js": "function (doc) { emit(null, doc.age); }\r\n",
            "views/ages/reduce.js": "function (keys, values) { return sum(values); }",
            "filters/mine.js":
                "function (doc, req) { return doc.owner == (req.query.owner || req.userCtx.name); }\n",
            "validate_doc_update.js": """
            function (newDoc, oldDoc, userCtx) {
              if (userCtx.roles.indexOf("_admin") >= 0) return;
              if (newDoc.owner != userCtx.name) throw({forbidden: "It is not yours."});
            }

            """,
            "rewrites.json": #"[{"from": "/", "to": "index.html"}]"#,
            "numbers.json": "[1, 2.5]",
            "empty.txt": "",
            ".couchapprc": "{}",
            "_attachments/index.html": "<p>Hello</p>",
            "_attachments/style/a.css": "p {}",
        ]
        for (path, text) in files { try write(text, to: "people/\(path)") }
    }

    @Test func `a folder of CouchApp becomes a design document, and comes out again`() throws {
        try writePeople()
        let stored = try tool.run("design", "put", "db", "people", "people/")
        #expect(stored.out.contains(#"{"id":"_design/people","rev":"1-"#), "\(stored.err)")
        let text = try tool.run("design", "get", "db", "people").out
        #expect(text.contains(#""map":"function (doc) {\n  if (doc.name) emit(doc.name, 1);\n}""#))
        #expect(text.contains(#""reduce":"_sum""#) && text.contains(#""numbers":[1,2.5]"#))
        #expect(text.contains(#""map":"function (doc) { emit(null, doc.age); }""#))
        #expect(text.contains(#""rewrites":[{"from":"/","to":"index.html"}]"#))
        #expect(text.contains(#""empty":"""#) && !text.contains("couchapprc"))
        let files = try tool.run("attachment", "ls", "db", "_design/people")
        #expect(files.out.contains("index.html\ttext/html\t12 B"))
        #expect(files.out.contains("style/a.css\ttext/css"))

        #expect(try tool.run("design", "get", "db", "_design/people", "copy").status == 0)
        let copied = try tool.run("design", "put", "db", "other", "copy")
        #expect(copied.err.contains("_id"))
        let (one, other) = (
            try tool.run("get", "db", "_design/people", "--body").out,
            try tool.run("get", "db", "_design/other", "--body").out
        )
        let withoutAttachments = { (text: String) in
            text.replacing(#/"revpos":\d+/#, with: "")
        }
        #expect(withoutAttachments(one) == withoutAttachments(other))
        let names = try ChildProcess.output(
            of: "find", ["copy", "-type", "f", "-printf", "%P\\n"], in: tool.directory.path)
        #expect(
            names.split(separator: "\n").sorted() == [
                "_attachments/index.html", "_attachments/style/a.css", "_id", "empty.txt",
                "filters/mine.js", "language", "numbers.json", "rewrites.json",
                "validate_doc_update.js", "views/ages/map.js", "views/ages/reduce.js",
                "views/by_name/map.js", "views/by_name/reduce.js",
            ])
        let again = try tool.run("design", "get", "db", "people", "copy")
        #expect(again.status == ExitCode.conflict.rawValue)
    }

    @Test func `a folder that is put back keeps the media types that attachments have`() throws {
        try writePeople()
        try tool.run("design", "put", "db", "people", "people")
        for (name, type) in [("data", "application/x-odd"), ("a.css", "text/x-odd")] {
            try tool.write("content", to: name)
            try tool.run("attach", "db", "_design/people", name, "--type", type)
        }
        #expect(try tool.run("design", "get", "db", "people", "copy").status == 0)
        try write("new content", to: "copy/_attachments/data")
        try write("{}", to: "copy/_attachments/more.json")
        #expect(try tool.run("design", "put", "db", "people", "copy").status == 0)
        let files = try tool.run("attachment", "ls", "db", "_design/people").lines
        #expect(
            files == [
                "a.css\ttext/x-odd\t7 B", "data\tapplication/x-odd\t11 B",
                "index.html\ttext/html\t12 B", "more.json\tapplication/json\t2 B",
                "style/a.css\ttext/css\t4 B",
            ])
    }

    @Test func `texts that no file holds exactly become JSON`() throws {
        let text = #"""
            {"a":"ends in CR\r","b":"two\n\n","c":{"..":"up","d/e":"x"},"f.g":"point","h":{"x":"1","x.txt":{"y":1}},
             "i":{},"j":null,"k":"\ufeffmark","l":{".hidden":1},"m":{"":2}}
            """#
        try tool.write(text, to: "odd.json")
        #expect(try tool.run("design", "put", "db", "odd", "odd.json").status == 0)
        #expect(try tool.run("design", "get", "db", "odd", "folder").status == 0)
        #expect(try tool.run("design", "put", "db", "odd2", "folder").status == 0)
        let bodies = try ["odd", "odd2"].map {
            try tool.run("get", "db", "_design/\($0)", "--body").out
        }
        #expect(bodies[0] == bodies[1])
        #expect(bodies[0].contains("two"))
        try tool.write(#"{"..":1}"#, to: "up.json")
        try tool.run("design", "put", "db", "up", "up.json")
        let refused = try tool.run("design", "get", "db", "up", "up")
        #expect(refused.status == ExitCode.failure.rawValue)
        #expect(refused.err.contains("names no file can have"))
    }

    @Test func `a revision is replaced, unless one is named`() throws {
        try tool.write(#"{"views":{"a":{"map":"function(doc) {}"}}}"#, to: "a.json")
        let first = try tool.run("design", "put", "db", "a", "a.json")
        try tool.write(#"{"views":{"b":{"map":"function(doc) {}"}}}"#, to: "a.json")
        #expect(try tool.run("design", "put", "db", "a", "a.json").out.contains(#""rev":"2-"#))
        let revision = try #require(first.out.firstMatch(of: #/"rev":"([^"]*)"/#)?.1)
        try tool.write(#"{"views":{"c":{"map":"function(doc) {}"}}}"#, to: "a.json")
        let late = try tool.run("design", "put", "db", "a", "a.json", "--rev", String(revision))
        #expect(late.status == ExitCode.conflict.rawValue)
        let input = #"{"_rev":"1-00","language":"javascript"}"#
        let refused = try tool.run("design", "put", "db", "a", "-", input: input)
        #expect(refused.status == ExitCode.conflict.rawValue)
    }

    @Test func `what is no design document is refused in a sentence that names it`() throws {
        let bad: [(path: String, text: String, words: String)] = [
            ("views/a/map.json", "{", "is not JSON"),
            ("views/a/x.js", "1", "must contain map function"),
            ("filters.js", "x", "`filters` field must have object type"),
        ]
        for (number, (path, text, words)) in bad.enumerated() {
            try write(text, to: "bad\(number)/\(path)")
            let result = try tool.run("design", "put", "db", "bad", "bad\(number)")
            #expect(result.status == ExitCode.badInput.rawValue)
            #expect(result.err.contains(words), "\(result.err)")
        }
        try write("1", to: "twice/a.js")
        try write("2", to: "twice/a.txt")
        #expect(
            try tool.run("design", "put", "db", "bad", "twice").err.contains("two files"))
        try Data([0x66, 0xFF]).write(
            to: tool.directory.appendingPathComponent("twice/a.txt"))
        try FileManager.default.removeItem(atPath: tool.path("twice/a.js"))
        #expect(
            try tool.run("design", "put", "db", "bad", "twice").err.contains("no text in UTF-8"))
        #expect(try tool.run("design", "put", "db", "bad", "missing").status == 3)
        #expect(try tool.run("design", "get", "db", "none").status == 3)
        #expect(try tool.run("design", "get", "db", "").status == 2)
        for words in [
            ["put", "db", "a"], ["list", "db", "x"], ["check", "db", "a"], ["get", "db"],
        ] {
            let result = try tool.start(["design"] + words).wait()
            #expect(result.status == 2)
        }
    }

    @Test func `links, pipes and depth lead nowhere`() throws {
        try tool.write("secret", to: "secret.txt")
        try write("{}", to: "linked/a.json")
        try FileManager.default.createSymbolicLink(
            atPath: tool.path("linked/b.txt"), withDestinationPath: "../secret.txt")
        let linked = try tool.run("design", "put", "db", "bad", "linked")
        #expect(linked.status == ExitCode.badInput.rawValue)
        #expect(linked.err.contains("is a link"))
        try FileManager.default.removeItem(atPath: tool.path("linked/b.txt"))
        try FileManager.default.createSymbolicLink(
            atPath: tool.path("linked/c"), withDestinationPath: "..")
        #expect(try tool.run("design", "put", "db", "bad", "linked").err.contains("is a link"))
        try FileManager.default.removeItem(atPath: tool.path("linked/c"))
        #expect(mkfifo(tool.path("linked/d"), 0o600) == 0)
        #expect(try tool.run("design", "put", "db", "bad", "linked").err.contains("a pipe"))

        let deep = "deep/" + String(repeating: "a/", count: 33)
        try write("x", to: deep + "b.txt")
        #expect(try tool.run("design", "put", "db", "bad", "deep").err.contains("folders deep"))

        try write("x", to: "long/a.txt")
        let long = try FileHandle(forWritingTo: URL(filePath: tool.path("long/a.txt")))
        try long.truncate(atOffset: 65 << 20)
        #expect(try tool.run("design", "put", "db", "bad", "long").err.contains("is longer than"))

        #expect(try tool.run("design", "list", "db").out == "")
    }

    #if os(Linux)
    @Test func `a name that is not UTF-8 is told`() throws {
        try write("x", to: "names/a.txt")
        _ = try ChildProcess.output(
            of: "bash", ["-c", #"touch "$1/"$'b\xff.txt'"#, "bash", tool.path("names")])
        let result = try tool.run("design", "put", "db", "bad", "names")
        #expect(result.status == ExitCode.badInput.rawValue)
        #expect(result.err.contains("not UTF-8"))
    }
    #endif

    @Test func `design documents are listed with what they have`() throws {
        try writePeople()
        try tool.run("design", "put", "db", "people", "people")
        try tool.run("put", "db", "_design/none", input: #"{"language":"erlang"}"#)
        let list = try tool.run("design", "list", "db").lines
        #expect(list.count == 2)
        #expect(list[0].hasPrefix("_design/none") && list[0].hasSuffix("erlang      no functions"))
        #expect(list[1].hasSuffix("javascript  2 views, 1 filter, rewrites, validates"))
        let json = try tool.run("design", "list", "db", "--json").lines
        #expect(json[1].contains(#""views":2,"filters":1,"updates":0"#))
        #expect(json[1].hasSuffix(#""rewrites":true,"validates":true}"#))
    }

    // MARK: - Functions that run

    @Test(.enabled(if: Scripts.run, Scripts.need))
    func `each function is tried on a document`() throws {
        try writePeople()
        try tool.run("design", "put", "db", "people", "people")
        let all = try tool.run("design", "check", "db", "people", "ann")
        #expect(
            all.lines == [
                "views/ages  emits 1 row", "  null  30", "  reduced: 30",
                "views/by_name  emits 1 row", #"  "Ann"  1"#,
                "filters/mine  does not let it pass", "validate_doc_update  accepts it",
            ])
        #expect(all.status == 0)
        let passing = try tool.run(
            "design", "check", "db", "people", "mine", "ann", "--param", #"owner="ann""#)
        #expect(passing.lines == ["filters/mine  lets it pass"])
        let refusing = try tool.run(
            "design", "check", "db", "people", "ann", "--user", "bob", "--json")
        #expect(refusing.status == 0)
        #expect(
            refusing.lines.last
                == #"{"function":"validate_doc_update","accepts":false,"error":"forbidden","reason":"It is not yours."}"#
        )
        #expect(
            refusing.lines.first
                == #"{"function":"views/ages","rows":[{"key":null,"value":30}],"reduced":30}"#)
        let owning = try tool.run(
            "design", "check", "db", "people", "validate_doc_update", "mine", "ann", "--user", "ann"
        )
        #expect(
            owning.lines == ["filters/mine  lets it pass", "validate_doc_update  accepts it"])
        let unknown = try tool.run("design", "check", "db", "people", "by_nam", "ann")
        #expect(unknown.status == 3 && unknown.err.contains("no view or filter"))
        #expect(try tool.run("design", "check", "db", "people", "none").status == 3)
    }

    @Test(.enabled(if: Scripts.run, Scripts.need))
    func `a function that does not run keeps no other from being tried`() throws {
        let text = #"""
            {"views":{"a":{"map":"function (doc) { emit("},"b":{"map":"function (doc) { log('here'); doc.x.y; }"},
             "c":{"map":"function (doc) { while (true) {} }"},"d":{"map":"function (doc) { emit(doc._id) }",
             "reduce":"_none"},"e":{"map":"function (doc) { emit(doc._id) }"}},
             "validate_doc_update":"function () { throw({unauthorized: 'Sign in.'}) }"}
            """#
        // As a replication might bring it: "design put" refuses the name of that reduce.
        try tool.run("put", "db", "_design/bad", input: text)
        let result = try tool.run("design", "check", "db", "bad", "ann", "--javascript-time", "5")
        #expect(result.status == ExitCode.problemsFound.rawValue)
        #expect(result.err.contains("3 functions"), "\(result.err)")
        #expect(result.out.contains("views/a  does not run (compilation_error)"), "\(result.out)")
        #expect(result.out.contains("views/b  emits nothing\n  log: here\n  log: "))
        #expect(result.out.contains("views/c  does not run (os_process_error): "))
        #expect(result.out.contains("views/d  does not run (invalid_design_doc)"))
        #expect(result.out.contains("views/e  emits 1 row\n  \"ann\"  null\n"))
        #expect(result.out.contains("validate_doc_update  refuses it (unauthorized): Sign in."))
    }

    @Test(.enabled(if: Scripts.run, Scripts.need))
    func `a view of a design document is queried by its name`() throws {
        try writePeople()
        try tool.run("design", "put", "db", "people", "people")
        let rows = try tool.run("view", "db", "people/by_name", "-r", "--include-docs", "--json")
        #expect(rows.lines.count == 2, "\(rows.err)")
        #expect(rows.lines[0].hasPrefix(#"{"key":"Ann","id":"ann","value":1,"doc":{"#))
        #expect(try tool.run("view", "db", "people/by_name").lines == ["null  2"])
        #expect(try tool.run("view", "db", "people/ages").lines == ["null  70"])
        #expect(
            try tool.run("view", "db", "people/by_name", "--key", #""Bob""#, "-r").lines
                == [#""Bob"  1  bob"#])
        #expect(try tool.run("view", "db", "people/none").status == 3)
        #expect(try tool.run("view", "db", "none/by_name").status == 3)
        let bad = try tool.run(
            "view", "db", "people/by_name", "--javascript-program", "/nowhere/divan-javascript")
        #expect(bad.status == ExitCode.failure.rawValue)
        #expect(bad.err.contains("install divan-javascript"))
        try tool.write(#"{"views":{"a":{"map":"function (doc) { emit("}}}"#, to: "bad.json")
        try tool.run("put", "db", "_design/bad", input: try tool.read("bad.json"))
        let broken = try tool.run("view", "db", "bad/a")
        #expect(broken.status == ExitCode.failure.rawValue)
        #expect(broken.err.contains("\"divan design check\" shows the reason."))
    }
}
