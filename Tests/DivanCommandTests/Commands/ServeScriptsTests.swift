// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// What `divan serve` does with the functions of design documents.
@Suite struct ServeScriptsTests {
    let tool: TestTool

    init() throws { tool = try TestTool() }

    /// Starts a server, asks it, ends it, and returns its answers and what it complained of.
    func ask(_ options: [String], _ requests: [(String, String, String)]) throws -> (
        answers: [String], err: String
    ) {
        let child = try tool.start(["serve", "data", "--port", "0", "--everybody"] + options)
        let port = try #require(child.address()).port
        let answers = try requests.map { method, path, body in
            try ChildProcess.output(
                of: "bash",
                [
                    "-c", #"exec 3<>/dev/tcp/127.0.0.1/$1; printf %s "$2" >&3; cat <&3"#, "bash",
                    "\(port)",
                    "\(method) /\(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                        + body,
                ])
        }
        child.interrupt()
        return (answers, try child.wait().err)
    }

    static let design = #"""
        {"views":{"names":{"map":"function (doc) { emit(doc.name, null) }"}},
         "validate_doc_update":"function (doc) { if (!doc.name) throw({forbidden: 'It has no name.'}) }"}
        """#
    let requests = [
        ("PUT", "db", ""),
        ("PUT", "db/_design/people", Self.design.replacing("\n", with: "")),
        ("PUT", "db/a", #"{"name":"Ann"}"#),
        ("PUT", "db/b", #"{}"#),
        ("GET", "db/_design/people/_view/names", ""),
    ]

    /// Makes the directory, so that the server says nothing of having made it.
    private func makeData() throws {
        try FileManager.default.createDirectory(
            atPath: tool.path("data"), withIntermediateDirectories: false)
    }

    @Test(.enabled(if: Scripts.run, Scripts.need))
    func `functions of design documents run unless they are turned off`() throws {
        for options in [
            [], ["--javascript", "on", "--javascript-time", "60", "--javascript-memory", "32"],
            ["--javascript-processes", "1", "--javascript-jit"],
            ["--javascript", "on", "--javascript-engine", "duktape"],
        ] {
            try? FileManager.default.removeItem(atPath: tool.path("data"))
            try makeData()
            let (answers, err) = try ask(options, requests)
            #expect(answers[1].contains(#""id":"_design/people""#), "\(answers[1])")
            #expect(answers[2].contains(#""id":"a""#))
            #expect(answers[3].contains("It has no name."))
            #expect(answers[4].contains(#""key":"Ann""#))
            #expect(err == "")
        }
    }

    @Test func `where functions cannot run a server goes on without them, and says so`() throws {
        try makeData()
        let missing = ["--javascript-program", "/nowhere/divan-javascript"]
        let (answers, err) = try ask(missing, requests)
        #expect(answers[1].contains("not_implemented"))
        #expect(answers[2].contains(#""id":"a""#))
        #expect(err.hasPrefix("Functions of design documents do not run here. "), "\(err)")
        #expect(err.contains("install divan-javascript") && err.split(separator: "\n").count == 1)
        let refused = try tool.run(
            "serve", "data", "--everybody", "--javascript", "on", "--javascript-program",
            "/nowhere/x")
        #expect(refused.status == ExitCode.failure.rawValue)
        #expect(refused.err.contains("cannot be started"))
        let (off, quiet) = try ask(["--javascript", "off"], requests)
        #expect(off[1].contains("not_implemented"))
        #expect(quiet == "")
    }

    @Test(arguments: [
        ["--javascript", "maybe"], ["--javascript-time", "0"], ["--javascript-time", "x"],
        ["--javascript-engine", "v8"], ["--javascript-memory", "65537"],
        ["--javascript-processes", "0"],
        ["--javascript", "off", "--javascript-time", "3"],
        ["--javascript", "off", "--javascript-jit"],
        ["--query-server", "python"], ["--query-server", "python=couchpy"],
        ["--query-server", "=/bin/true"], ["--query-server", "python= "],
        ["--query-server", "query=/bin/true"],
    ])
    func `values that make no sense are refused`(options: [String]) throws {
        let result = try tool.start(["serve", "data", "--everybody"] + options).wait()
        #expect(result.status == ExitCode.usage.rawValue)
        #expect(result.err.contains(options[0]))
    }

    @Test func `a query server that does not run ends the start, with its name`() throws {
        let result = try tool.run(
            "serve", "data", "--everybody", "--query-server", "python=/nowhere/couchpy")
        #expect(result.status == ExitCode.failure.rawValue)
        #expect(result.err.contains("'python=/nowhere/couchpy' does not run"))
    }

    @Test func `design documents in a language are run by its query server`() throws {
        let script = tool.path("server.py")
        try Data(
            """
            import json, sys
            names = []
            for line in sys.stdin:
                command, answer = json.loads(line), True
                if command[0] == "add_fun": names.append(command[1])
                if command[0] == "map_doc": answer = [[[command[1].get(name), 1]] for name in names]
                print(json.dumps(answer), flush=True)
            """.utf8
        ).write(to: URL(filePath: script))
        let (answers, _) = try ask(
            ["--javascript", "off", "--query-server", "word=/usr/bin/python3 \(script)"],
            [
                ("PUT", "db", ""),
                (
                    "PUT", "db/_design/d",
                    #"{"language":"word","views":{"v":{"map":"name"}}}"#
                ),
                ("PUT", "db/a", #"{"name":"Ann"}"#), ("GET", "db/_design/d/_view/v", ""),
            ])
        #expect(answers[3].contains(#""key":"Ann","value":1"#), "\(answers[3])")
    }
}
