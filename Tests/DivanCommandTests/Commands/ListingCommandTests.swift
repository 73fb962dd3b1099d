// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// The commands that go through many documents, as a child process.
@Suite struct ListingCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        let lines = (0..<2_500).map { "{\"_id\":\"d\(1000 + $0)\",\"n\":\($0)}\n" }
        try tool.run("import", "db", "--create", input: lines.joined())
    }

    @Test func `ls pages through everything in order`() throws {
        let ids = try tool.run("ls", "db").lines
        #expect(ids == (0..<2_500).map { "d\(1000 + $0)" }.sorted())
        #expect(try tool.run("ls", "db", "--descending").lines == ids.reversed())
    }

    @Test func `ls takes a range, a limit and a skip across pages`() throws {
        let ids = try tool.run("ls", "db").lines
        let limited = try tool.run("ls", "db", "--skip", "5", "--limit", "1500")
        #expect(limited.lines == Array(ids[5..<1505]))
        let backwards = try tool.run(
            "ls", "db", "--descending", "--start", ids[2000], "--end", ids[900])
        #expect(backwards.lines == ids[900...2000].reversed())
        #expect(try tool.run("ls", "db", "--limit", "0").out.isEmpty)
        #expect(try tool.run("ls", "db", "--start", "e").out.isEmpty)
        #expect(try tool.run("ls", "db", "--limit", "x").status == 2)
    }

    @Test func `ls shows revisions and sequences on demand`() throws {
        let line = try tool.run("ls", "db", "-l", "-n1").out
        #expect(line.contains("  1-"))
        #expect(line.hasSuffix("  d1000\n"))
        let json = try tool.run("ls", "db", "--json", "-n1").out
        #expect(json.hasPrefix(#"{"id":"d1000","rev":"1-"#))
    }

    @Test func `export and import give the same database`() throws {
        for format in ["lines", "array"] {
            let export = try tool.run("export", "db", "out.\(format)", "--format", format)
            #expect(export.status == 0)
            #expect(export.err.hasPrefix("Exported 2,500 documents in "))
            let name = "copy\(format)"
            #expect(try tool.run("import", name, "out.\(format)", "--create").status == 0)
            let rows = try tool.run("ls", "db", "-l").lines.map { $0.dropFirst(11) }
            #expect(try tool.run("ls", name, "-l").lines.map { $0.dropFirst(11) } == rows)
            let again = try tool.run("import", name, "out.\(format)")
            #expect(again.err.contains("2,500 unchanged"))
        }
    }

    @Test func `export writes to standard output and in part`() throws {
        let part = try tool.run("export", "db", "--body", "--start", "d1000", "--end", "d1001")
        #expect(part.lines == ["{\"n\":0}", "{\"n\":1}"])
        let empty = try tool.run("export", "db", "-", "--format", "array", "--start", "x")
        #expect(empty.out == "[\n]\n")
    }

    @Test func `an export that fails leaves the file as it was`() throws {
        try tool.write("before", to: "out")
        #expect(try tool.run("export", "nowhere", "out").status == 3)
        #expect(try tool.read("out") == "before")
        #expect(try tool.run("export", "db", "no/such/dir/out").status == 1)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: tool.directory.path)
                .allSatisfy { !$0.hasSuffix(".partial") })
    }

    @Test(.enabled(if: Machine.has("/dev/full"), "It needs /dev/full."))
    func `a full disk is an error`() throws {
        let command =
            "\(TestTool.executable.path) cat \(tool.path("db.divan")) >/dev/full 2>err"
        let shell = try ChildProcess("/bin/sh", ["-c", command], in: tool.directory.path)
        #expect(shell.wait() == 1)
        #expect(try tool.read("err").contains("could not be written"))
    }

    @Test func `changes are a line each, in order, and end with the last sequence`() throws {
        let all = try tool.run("changes", "db").lines
        #expect(all.count == 2_501)
        #expect(all[0].hasPrefix(#"{"seq":1,"id":"d1000","changes":[{"rev":"1-"#))
        #expect(all.last == #"{"last_seq":2500}"#)
        let part = try tool.run("changes", "db", "--since", "10", "--limit", "2").lines
        #expect(part.count == 3)
        #expect(part.last == #"{"last_seq":12}"#)
        #expect(try tool.run("changes", "db", "--since", "2500").lines == [#"{"last_seq":2500}"#])
    }

    @Test func `changes come with deletions and documents`() throws {
        try tool.run("rm", "db", "d1000")
        let lines = try tool.run("changes", "db", "--since", "2499", "--include-docs").lines
        #expect(lines[0].contains(#""doc":{"_id":"d3499","_rev":"#))
        #expect(lines[1].contains(#""deleted":true,"doc":{"_id":"d1000","_rev":"2-"#))
    }

    @Test func `follow goes on with what another process does until it is interrupted`() throws {
        let child = try tool.start(["changes", "db", "--since", "2500", "--follow"])
        // The second one comes when it is following.
        for name in ["first", "later"] {
            try tool.run("put", "db", name, "{}")
            #expect(child.waitForOutput("\"\(name)\""))
        }
        child.interrupt()
        let result = try child.wait()
        #expect(result.status == 130)
        #expect(result.err == "divan: Interrupted.\n")
        #expect(result.lines.count == 2)
    }

    @Test func `follow ends at its limit`() throws {
        let child = try tool.start(["changes", "db", "--since", "2499", "--follow", "-n2"])
        #expect(child.waitForOutput("\n"))
        try tool.run("put", "db", "later", "{}")
        let result = try child.wait()
        #expect(result.status == 0)
        #expect(result.lines.count == 2)
    }

    @Test func `a terminal gets colours, lines that fit and a bar`() throws {
        let shown = try tool.runOnTerminal("get", "db", "d1000")
        #expect(shown.contains("{\r\n  \u{1B}[34m\"_id\"\u{1B}[0m: \u{1B}[32m\"d1000\"\u{1B}[0m,"))
        let plain = try tool.runOnTerminal(
            "get", "db", "d1000", environment: ["TERM": "xterm", "NO_COLOR": "1"])
        #expect(plain.contains("{\r\n  \"_id\": \"d1000\","))
        #expect(
            try !tool.runOnTerminal("get", "db", "d1000", "--color", "never").contains("\u{1B}"))
        let bar = try tool.runOnTerminal("export", "db", "out")
        #expect(bar.contains("\rExporting  ["))
        #expect(bar.contains("\r\u{1B}[KExported 2,500 documents"))
        #expect(try !tool.runOnTerminal("export", "db", "out", "-q").contains("Export"))
    }

    @Test func `tree draws in the terminal and as a picture`() throws {
        try tool.run("put", "db", "t", "{}", "--history", "2-b,1-a")
        try tool.run("put", "db", "t", "{}", "--history", "2-c,1-a")
        let drawn = try tool.run("tree", "db", "t")
        #expect(drawn.lines.count == 2)
        #expect(drawn.out.contains("winner"))
        #expect(try tool.run("tree", "db", "t", "--svg", "t.svg").status == 0)
        #expect(try tool.read("t.svg").hasSuffix("</svg>\n"))
        #expect(try tool.run("tree", "db", "t", "--svg", "-").out == (try tool.read("t.svg")))
        #expect(try tool.run("tree", "db", "none").status == 3)
        #expect(try tool.run("tree", "db", "t", "--svg", "no/dir/x").status == 1)
    }
}
