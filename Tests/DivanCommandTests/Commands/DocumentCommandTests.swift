// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// The commands that work on single documents, as a child process.
@Suite struct DocumentCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
    }

    @Test func `create makes a directory and refuses to make it again`() throws {
        let first = try tool.run("create", "notes")
        #expect(first.status == 0)
        #expect(first.err == "Created notes.divan.\n")
        let second = try tool.run("create", "notes.divan")
        #expect(second.status == 4)
        #expect(second.err == "divan: The database notes.divan exists already.\n")
        #expect(try tool.run("create", "notes", "--if-missing").status == 0)
    }

    @Test func `create makes a partitioned database, whose documents name their partition`() throws
    {
        #expect(try tool.run("create", "parts", "--partitioned").status == 0)
        #expect(try tool.run("put", "parts", "a:1", "{}").status == 0)
        let refused = try tool.run("put", "parts", "plain", "{}")
        #expect(refused.status == 6 && refused.err.contains("a partition, a colon and a name"))
        #expect(try tool.run("info", "parts", "--json").out.contains("\"partitioned\":true"))
        #expect(try tool.run("create", "parts", "--partitioned", "--if-missing").status == 0)
        #expect(try tool.run("create", "db", "--partitioned", "--if-missing").status == 4)
    }

    @Test(arguments: ["Notes", "1x", "a b", "_x", "a.divan/..divan"])
    func `create refuses what is no name`(_ name: String) throws {
        let result = try tool.run("create", name)
        #expect(result.status == 6)
        #expect(result.err.contains("is not a name for a database"))
    }

    @Test func `a database that is not there is not found`() throws {
        for command in ["info", "ls", "cat", "export", "changes", "verify", "compact", "inspect"] {
            let result = try tool.run(command, "nowhere.divan")
            #expect(result.status == 3, "\(command)")
            #expect(result.err.split(separator: "\n").count == 1, "\(command): \(result.err)")
            #expect(result.out.isEmpty)
            #expect(result.err.hasPrefix("divan: There is no database at nowhere.divan."))
        }
    }

    @Test func `info tells the counts, for people and for programs`() throws {
        try tool.run("put", "db", "a", "{}")
        let text = try tool.run("info", "db")
        #expect(text.status == 0)
        #expect(text.lines.contains { $0.hasPrefix("Documents") && $0.hasSuffix(" 1") })
        let json = try tool.run("info", "db.divan", "--json")
        #expect(json.out.contains("\"documents\":1,\"last_sequence\":1,\"conflicts\":false"))
        #expect(json.out.contains("\"unrun_validations\":[]"))
    }

    @Test func `info tells of design documents whose rules nothing keeps`() throws {
        try tool.run("put", "db", "_design/auth", #"{"validate_doc_update":"function(){}"}"#)
        try tool.run("put", "db", "_design/view", #"{"views":{}}"#)
        let text = try tool.run("info", "db")
        #expect(
            text.lines.contains { $0.hasPrefix("Rules not kept") && $0.contains("_design/auth") })
        let json = try tool.run("info", "db", "--json")
        #expect(json.out.contains("\"unrun_validations\":[\"_design/auth\"]"))
    }

    @Test func `put stores and get prints with the body as it was given`() throws {
        let put = try tool.run("put", "db", "a", #"{"n":1.0,"big":12345678901234567890123}"#)
        #expect(put.status == 0)
        #expect(put.out.hasPrefix(#"{"id":"a","rev":"1-"#))
        let get = try tool.run("get", "db", "a", "--body")
        #expect(get.out == #"{"big":12345678901234567890123,"n":1.0}"# + "\n")
    }

    @Test func `put reads standard input and uses the document's own ID and revision`() throws {
        try tool.run("put", "db", input: #"{"_id":"own","v":1}"#)
        let get = try tool.run("get", "db", "own")
        let again = try tool.run(
            "put", "db", input: get.out.replacing("\"v\":1", with: "\"v\":2"))
        #expect(again.status == 0)
        #expect(again.out.hasPrefix(#"{"id":"own","rev":"2-"#))
        #expect(try tool.run("get", "db", "own", "--pointer", "/v").out == "2\n")
    }

    @Test func `put makes an ID where there is none`() throws {
        let result = try tool.run("put", "db", input: #"{"v":1}"#)
        #expect(result.status == 0)
        #expect(try tool.run("ls", "db").lines.count == 1)
    }

    @Test func `put over an existing document is a conflict unless it is based on it`() throws {
        try tool.run("put", "db", "a", "{}")
        let conflict = try tool.run("put", "db", "a", #"{"v":2}"#)
        #expect(conflict.status == 4)
        #expect(conflict.out.isEmpty)
        #expect(try tool.run("put", "db", "a", "{}", "--rev", "1-abc").status == 4)
        #expect(try tool.run("put", "db", "a", #"{"v":3}"#, "--replace").status == 0)
        #expect(try tool.run("put", "db", "new", "{}", "--replace").status == 0)
    }

    @Test(arguments: [
        ("[1]", "a document is a JSON object"), ("{", "is not JSON"),
        ("{\"a\":NaN}", "is not JSON"),
        ("{\"_x\":1}", "_x"), ("", "is not JSON"),
    ])
    func `put refuses what is no document`(_ json: String, _ part: String) throws {
        let result = try tool.run("put", "db", "a", input: json)
        #expect(result.status == 6)
        #expect(result.err.contains(part), "\(result.err)")
        #expect(try tool.run("ls", "db").out.isEmpty)
    }

    @Test func `bad IDs and revisions are bad input`() throws {
        #expect(try tool.run("put", "db", "", "{}").status == 6)
        #expect(try tool.run("put", "db", "_design", "{}").status == 6)
        #expect(try tool.run("put", "db", "a", "{}", "--history", "x-1").status == 6)
        #expect(try tool.run("get", "db", "a", "--rev", "zzz").status == 6)
        #expect(try tool.run("put", "db", String(repeating: "x", count: 5000), "{}").status == 6)
    }

    @Test func `get says whether a document is deleted or never was`() throws {
        try tool.run("put", "db", "a", "{}")
        try tool.run("rm", "db", "a")
        let deleted = try tool.run("get", "db", "a")
        #expect(deleted.status == 3)
        #expect(deleted.err.contains("is deleted"))
        let never = try tool.run("get", "db", "b")
        #expect(never.status == 3)
        #expect(never.err == "divan: There is no document \"b\".\n")
    }

    @Test func `get prints an old revision, a tombstone and single values`() throws {
        try tool.run("put", "db", "a", #"{"v":[{"x":"y"}]}"#)
        let first = try tool.run("get", "db", "a", "--pointer", "/v/0/x")
        #expect(first.out == "\"y\"\n")
        #expect(try tool.run("get", "db", "a", "--pointer", "/nothing").status == 3)
        #expect(try tool.run("get", "db", "a", "--pointer", "v").status == 2)
        #expect(try tool.run("get", "db", "a", "--rev", "7-abc").status == 3)
        #expect(try tool.run("get", "db", "a", "--pretty").lines.count > 3)
    }

    @Test func `edit sets and removes properties`() throws {
        try tool.run("put", "db", "a", #"{"x":1,"y":{"z":1}}"#)
        let result = try tool.run(
            "edit", "db", "a", "--set", #"/y/w="t""#, "--set", "new=[1]", "--unset", "x",
            "--unset", "/y/z", "--unset", "/no/such")
        #expect(result.status == 0)
        #expect(try tool.run("get", "db", "a", "-b").out == #"{"new":[1],"y":{"w":"t"}}"# + "\n")
        #expect(try tool.run("edit", "db", "a", "--set", "x=text").status == 2)
        #expect(try tool.run("edit", "db", "a", "--set", "x").status == 2)
        #expect(try tool.run("edit", "db", "a", "--set", "/new/x=1").status == 6)
        #expect(try tool.run("edit", "db", "b", "--set", "x=1").status == 3)
        #expect(try tool.run("edit", "db", "a", "--set", "_x=1").status == 6)
    }

    @Test func `edit that removes only what is not there makes no revision`() throws {
        try tool.run("put", "db", "a", #"{"x":1,"y":{"z":1}}"#)
        let before = try tool.run("get", "db", "a").out
        let result = try tool.run("edit", "db", "a", "--unset", "none", "--unset", "/y/none")
        #expect(result.status == 0)
        #expect(result.err.contains("Nothing was changed."))
        #expect(result.out.isEmpty)
        #expect(try tool.run("get", "db", "a").out == before)
        #expect(try tool.run("edit", "db", "a", "--unset", "/x/none").status == 6)
    }

    @Test func `edit opens the editor and saves what it wrote`() throws {
        try tool.run("put", "db", "a", #"{"title":"old"}"#)
        let result = try tool.run(
            "edit", "db", "a", environment: ["EDITOR": "sed -i s/old/new/"])
        #expect(result.status == 0)
        #expect(try tool.run("get", "db", "a", "-b").out == #"{"title":"new"}"# + "\n")
        let same = try tool.run("edit", "db", "a", environment: ["VISUAL": "true"])
        #expect(same.status == 0)
        #expect(same.err == "Nothing was changed.\n")
    }

    @Test func `edit keeps what was written when it cannot be saved`() throws {
        try tool.run("put", "db", "a", #"{"title":"old"}"#)
        let broken = try tool.run("edit", "db", "a", environment: ["EDITOR": "sed -i s/}/]/"])
        #expect(broken.status == 6)
        #expect(broken.err.contains("What you wrote is kept in \(tool.directory.path)"))
        let divan = TestTool.executable.path
        try tool.write(
            "#!/bin/sh\n\(divan) edit db a --set 'title=\"theirs\"'\nsed -i s/old/mine/ \"$1\"\n",
            to: "editor")
        let conflict = try tool.run("edit", "db", "a", environment: ["EDITOR": "sh editor"])
        #expect(conflict.status == 4)
        #expect(conflict.err.contains("What you wrote is kept in"))
        #expect(try tool.run("get", "db", "a", "-b").out.contains("theirs"))
    }

    @Test func `edit fails when the editor does`() throws {
        try tool.run("put", "db", "a", "{}")
        #expect(try tool.run("edit", "db", "a", environment: ["EDITOR": "false"]).status == 1)
        #expect(
            try tool.run("edit", "db", "a", environment: ["EDITOR": "/no/such/editor"]).status == 1)
    }

    @Test func `rm deletes all that are named or none`() throws {
        for id in ["a", "b"] { try tool.run("put", "db", id, "{}") }
        #expect(try tool.run("rm", "db", "a", "missing").status == 3)
        #expect(try tool.run("ls", "db").lines == ["a", "b"])
        let result = try tool.run("rm", "db", "a", "b")
        #expect(result.status == 0)
        #expect(result.lines.count == 2)
        #expect(result.lines[0].hasSuffix("\"deleted\":true}"))
        #expect(try tool.run("ls", "db").out.isEmpty)
        #expect(try tool.run("ls", "db", "--deleted").lines == ["a", "b"])
        #expect(try tool.run("rm", "db", "a").status == 3)
    }

    @Test func `rm of a losing leaf resolves a conflict`() throws {
        try tool.run("put", "db", "a", "{}", "--history", "2-b,1-x")
        try tool.run("put", "db", "a", "{}", "--history", "2-a,1-x")
        #expect(try tool.run("ls", "db", "--conflicts").lines == ["a"])
        #expect(try tool.run("get", "db", "a", "--conflicts").lines.count == 2)
        #expect(try tool.run("rm", "db", "a", "--rev", "2-a").status == 0)
        #expect(try tool.run("ls", "db", "--conflicts").out.isEmpty)
        #expect(try tool.run("rm", "db", "a", "--rev", "1-x").status == 4)
        #expect(try tool.run("rm", "db", "a", "b", "--rev", "1-x").status == 2)
    }

    @Test func `purge leaves no trace and takes all or none`() throws {
        for id in ["a", "b"] { try tool.run("put", "db", id, "{}") }
        #expect(try tool.run("purge", "db", "a", "missing").status == 3)
        #expect(try tool.run("purge", "db", "a").status == 0)
        #expect(try tool.run("ls", "db", "--deleted").lines == ["b"])
        #expect(try tool.run("tree", "db", "a").status == 3)
        #expect(try tool.run("purge", "db", "b", "--rev", "9-z").status == 3)
    }

    @Test func `cat prints each document and reports those that are missing`() throws {
        for id in ["a", "b"] { try tool.run("put", "db", id, #"{"v":1}"#) }
        let all = try tool.run("cat", "db", "--body")
        #expect(all.lines == [#"{"v":1}"#, #"{"v":1}"#])
        let some = try tool.run("cat", "db", "b", "x", "a")
        #expect(some.status == 3)
        #expect(some.lines.count == 2)
        #expect(some.err.contains("There is no document \"x\"."))
    }

    @Test func `local documents are put, got and removed`() throws {
        #expect(try tool.run("put", "db", "_local/x", #"{"v":1}"#).status == 0)
        #expect(try tool.run("get", "db", "_local/x").out == #"{"_id":"_local/x","v":1}"# + "\n")
        #expect(try tool.run("ls", "db").out.isEmpty)
        #expect(try tool.run("rm", "db", "_local/x").status == 0)
        #expect(try tool.run("get", "db", "_local/x").status == 3)
        #expect(try tool.run("rm", "db", "_local/x").status == 3)
    }

    @Test func `control characters in IDs do not reach the terminal`() throws {
        try tool.run("put", "db", "a\u{1B}[31m\nb", "{}")
        #expect(try tool.run("ls", "db").out == #"a\u{1B}[31m\nb"# + "\n")
        #expect(try tool.run("ls", "db", "--json").out.contains(#""a\u001b[31m\nb""#))
        let missing = try tool.run("get", "db", "x\u{1B}c")
        #expect(!missing.err.contains("\u{1B}"))
    }

    @Test func `a file that is no database is refused`() throws {
        try tool.write("not a database", to: "file.divan")
        let result = try tool.run("info", "file.divan")
        #expect(result.status != 0)
        #expect(result.err.split(separator: "\n").count == 1)
        #expect(try tool.run("info", "").status == 2)
    }
}
