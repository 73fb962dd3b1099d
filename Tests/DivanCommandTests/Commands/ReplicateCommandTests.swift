// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

struct ReplicateCommandTests {
    let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "a.divan")
        for n in 0..<3 {
            try tool.run("put", "a.divan", "doc\(n)", input: "{\"n\": \(n)}")
        }
    }

    @Test func `replicate brings a database's documents to another one, which it makes`() throws {
        let result = try tool.run("replicate", "a.divan", "b.divan")
        #expect(result.status == 0)
        #expect(result.err.contains("Replicated 3 documents"))
        #expect(try tool.run("ls", "b.divan").lines.count == 3)
        #expect(try tool.run("replicate", "a", "b").err.contains("Replicated 0 documents"))
    }

    @Test func `replicate takes single documents when asked`() throws {
        try tool.run("replicate", "a.divan", "b.divan", "--doc", "doc1")
        #expect(try tool.run("ls", "b.divan").lines.count == 1)
    }

    @Test func `sync brings changes both ways`() throws {
        try tool.run("create", "b.divan")
        try tool.run("put", "b.divan", "other", input: "{}")
        let result = try tool.run("sync", "a.divan", "b.divan")
        #expect(result.status == 0)
        #expect(try tool.run("ls", "a.divan").lines.count == 4)
        #expect(try tool.run("ls", "b.divan").lines.count == 4)
    }

    @Test func `two URLs, and a source that is missing, are refused`() throws {
        #expect(try tool.run("replicate", "http://x/a", "http://x/b").status == 2)
        #expect(try tool.run("replicate", "none.divan", "b.divan").status == 3)
        #expect(try tool.run("replicate", "a", "b", "--filter", "unknown").status == 6)
        #expect(try tool.run("replicate", "a", "b", "--header", "nocolon").status == 2)
        let taken = try tool.run("replicate", "a", "b", "--filter", "f", "--param", "limit=5")
        #expect(taken.status == 2)
        #expect(taken.err.contains("'limit'"))
    }

    @Test func `--reset begins at the beginning, and compares what is there`() throws {
        try tool.run("put", "a.divan", "one", "{}")
        try tool.run("replicate", "a.divan", "b.divan")
        try tool.run("purge", "b.divan", "one")
        try tool.run("replicate", "a.divan", "b.divan")
        #expect(try tool.run("get", "b.divan", "one").status == 3)
        let result = try tool.run("replicate", "a.divan", "b.divan", "--reset")
        #expect(result.err.contains("Replicated 1 document"))
        #expect(try tool.run("get", "b.divan", "one").status == 0)
    }

    /// A server that has a database, and answers for its changes with this.
    private func server(
        changes status: Int, _ headers: [(String, String)], _ body: String
    ) throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            switch request.target.split(separator: "?")[0] {
            case "/db", "/db/": connection.respond(status: 200, body: Array("{}".utf8))
            case "/db/_changes":
                connection.respond(status: status, headers: headers, body: Array(body.utf8))
            default: connection.respond(status: 404, body: Array(#"{"error":"not_found"}"#.utf8))
            }
        }
    }

    @Test func `a replication says that it tries again, and gives up`() throws {
        let page = try server(changes: 200, [("Content-Type", "text/html")], "<html>Sign in</html>")
        defer { page.stop() }
        let result = try tool.run(
            "replicate", "http://127.0.0.1:\(page.port)/db", "c.divan", "--patience", "2")
        #expect(result.status != 0)
        #expect(result.err.contains("Trying again in "), "\(result.err)")
        #expect(result.err.contains("gave up after 2 tries in "), "\(result.err)")
    }

    @Test func `a replication does not wait a year because a server asks for it`() throws {
        let busy = try server(changes: 503, [("Retry-After", "31536000")], "{}")
        defer { busy.stop() }
        let result = try tool.run("replicate", "http://127.0.0.1:\(busy.port)/db", "c.divan")
        #expect(result.status != 0)
        #expect(
            result.err.contains("gave up after 1 try, while the other end asks to be left alone"),
            "\(result.err)")
    }

    /// A server whose database lacks everything, and answers documents with a status.
    private func server(documents status: Int) throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            let answer: (Int, String) =
                switch (request.method, request.target.split(separator: "?")[0]) {
                case ("GET", "/db"), ("GET", "/db/"), ("POST", "/db/_ensure_full_commit"):
                    (200, "{}")
                case ("POST", "/db/_revs_diff"):
                    (200, Self.missing(String(decoding: request.body, as: UTF8.self)))
                case ("PUT", let path) where path.hasPrefix("/db/_local/"): (201, #"{"ok":true}"#)
                case ("PUT", _): (status, #"{"error":"unauthorized","reason":"no entry"}"#)
                default: (404, #"{"error":"not_found"}"#)
                }
            connection.respond(
                status: answer.0, headers: [("Content-Type", "application/json")],
                body: Array(answer.1.utf8))
        }
    }

    @Test func `a source that says it has more changes than can be is replicated`() throws {
        let rows = #""results":[{"seq":1,"id":"far","changes":[{"rev":"1-abc"}]}],"last_seq":1"#
        let document = #"{"_id":"far","_rev":"1-abc","_revisions":{"start":1,"ids":["abc"]}}"#
        let server = try LoopbackServer { request, connection in
            let path = request.target.split(separator: "?")[0]
            let answer: (Int, String) =
                switch path.split(separator: "/").last {
                case "db": (200, #"{"update_seq":1}"#)
                case "_changes" where request.target.contains("since="):
                    (200, #"{"results":[],"last_seq":1,"pending":0}"#)
                case "_changes": (200, "{\(rows),\"pending\":\(Int.max)}")
                case "_bulk_get":
                    (200, #"{"results":[{"id":"far","docs":[{"ok":DOC}]}]}"#)
                case _ where request.method == "PUT" || request.method == "POST": (201, "{}")
                default: (404, "{}")
                }
            connection.respond(
                status: answer.0, headers: [("Content-Type", "application/json")],
                body: Array(answer.1.replacingOccurrences(of: "DOC", with: document).utf8))
        }
        defer { server.stop() }
        let result = try tool.run(
            "replicate", "http://127.0.0.1:\(server.port)/db", "a.divan")
        #expect(result.status == 0)
        #expect(try tool.run("ls", "a.divan").lines.count == 4)
    }

    /// The answer that all revisions of a question are missing.
    private static func missing(_ question: String) -> String {
        question.replacingOccurrences(of: "[", with: #"{"missing":["#)
            .replacingOccurrences(of: "]", with: "]}")
    }

    @Test func `what ends a replication at a document is told, and no success`() throws {
        let server = try server(documents: 404)
        defer { server.stop() }
        let result = try tool.run(
            "replicate", "a.divan", "http://127.0.0.1:\(server.port)/db", "--doc", "doc1")
        #expect(result.status == 3)
        #expect(result.err.contains("'doc1'"))
    }

    @Test func `a document that alone is answered 401 is refused, as one among several`() throws {
        let server = try server(documents: 401)
        defer { server.stop() }
        let result = try tool.run(
            "replicate", "a.divan", "http://127.0.0.1:\(server.port)/db", "--doc", "doc1")
        #expect(result.status == 5)
        #expect(result.err.contains("doc1: "))
        #expect(
            result.err.contains("try them again when they change, and all of them with --reset."))
    }

    @Test func `a continuous replication brings later changes, and ends at Control-C`() throws {
        let child = try tool.start(["replicate", "a.divan", "b.divan", "--continuous"])
        try eventually { try tool.run("get", "b.divan", "doc2").status == 0 }
        try tool.run("put", "a.divan", "later", input: "{}")
        try eventually { try tool.run("get", "b.divan", "later").status == 0 }
        child.interrupt()
        #expect(try child.wait().status == 0)
    }

    // MARK: - TLS

    /// Serves the folder `data` over TLS; its address, and the fingerprint that it prints.
    private func serve(_ port: String = "0", host: String = "127.0.0.1") throws -> (
        child: TestTool.Child, address: TestTool.Child.Address, fingerprint: String
    ) {
        let who = host == "127.0.0.1" ? ["--everybody"] : ["--user", "ann:secret"]
        let child = try tool.start(
            ["serve", "data", "--host", host, "--tls", "--port", port] + who)
        return (child, try #require(child.address()), try #require(child.fingerprint()))
    }

    @Test
    func `a server's own certificate is trusted by what it prints, or kept, or as an authority`()
        throws
    {
        try tool.run("create", "data/notes.divan")
        let (server, address, fingerprint) = try serve()
        let other = address.url + "notes"
        #expect(try tool.run("sync", "a.divan", other).status == 1)
        #expect(try tool.run("sync", "a.divan", other, "--pin", fingerprint).status == 0)
        #expect(try tool.run("ls", "data/notes.divan").lines.count == 3)
        let authority = try tool.run("replicate", other, "b.divan", "--ca", "data/listener.pem")
        #expect(authority.status == 0)
        let wrong = String(repeating: "5f", count: 32)
        let refused = try tool.run("replicate", other, "c.divan", "--pin", wrong)
        #expect(refused.status == 1)
        #expect(refused.err.contains(fingerprint))
        #expect(try tool.run("ls", "c.divan").lines.isEmpty)
        let first = try tool.run("replicate", other, "c.divan", "--trust-first", "known")
        #expect(first.status == 0)
        #expect(first.err.contains("First contact with 127.0.0.1:"))
        #expect(first.err.contains(fingerprint))
        let again = try tool.run("replicate", other, "c.divan", "--trust-first", "known")
        #expect(again.status == 0)
        #expect(!again.err.contains("First contact"))
        server.interrupt()
        #expect(try server.wait().status == 0)
    }

    @Test func `a server that shows another certificate than before is told as ssh tells it`()
        throws
    {
        try tool.run("create", "data/notes.divan")
        let (first, address, old) = try serve()
        #expect(
            try tool.run("replicate", "a", address.url + "notes", "--trust-first", "known").status
                == 0)
        first.interrupt()
        #expect(try first.wait().status == 0)
        try FileManager.default.removeItem(atPath: tool.path("data/listener.pem"))
        let (second, _, new) = try serve("\(address.port)")
        // Continuous, and it ends all the same.
        let result = try tool.run(
            "sync", "a", address.url + "notes", "--trust-first", "known", "--continuous")
        #expect(result.status == 1)
        for part in [old, new, "line 1 of", "known", "127.0.0.1:\(address.port)"] {
            #expect(result.err.contains(part), "\(part)")
        }
        second.interrupt()
        #expect(try second.wait().status == 0)
    }

    @Test func `a way to trust servers that cannot be used is refused before anything is sent`()
        throws
    {
        let pin = ["--pin", String(repeating: "5f", count: 32)]
        let cases = [
            ["a", "http://127.0.0.1:1/x"] + pin, ["a", "b"] + pin,
            ["a", "https://127.0.0.1:1/x", "--trust-first", "k"] + pin,
            ["a", "https://127.0.0.1:1/x", "--pin", "5f:5f"],
            ["a", "https://127.0.0.1:1/x", "--ca", "a.divan/lock"],
        ]
        for arguments in cases {
            #expect(try tool.start(["replicate"] + arguments).wait().status == 2, "\(arguments)")
        }
        #expect(
            try tool.run("replicate", "a", "https://127.0.0.1:1/x", "--ca", "none").status == 3)
        // No database is made for options that cannot be.
        #expect(
            try tool.start(["replicate", "https://x/a", "new", "--pin", "5f"]).wait().status == 2)
        #expect(try tool.run("ls", "new").status == 3)
    }

    @Test func `processes that meet servers at the same time lose no line of the file they share`()
        throws
    {
        try tool.run("create", "data/notes.divan")
        let (server, address, fingerprint) = try serve(host: "0.0.0.0")
        // All of the loopback's addresses lead here, and each is a host of its own.
        let hosts = (1...6).map { "127.0.0.\($0):\(address.port)" }
        let children = try hosts.enumerated().map { n, host in
            try tool.start([
                "replicate", "https://ann:secret@\(host)/notes", "copy\(n).divan",
                "--trust-first", "known", "-q",
            ])
        }
        for child in children { #expect(try child.wait().status == 0) }
        let lines = try tool.read("known").split(separator: "\n").map(String.init)
        #expect(lines.sorted() == hosts.map { "\($0) \(fingerprint)" })
        server.interrupt()
        #expect(try server.wait().status == 0)
    }

    @Test func `sync makes the database behind a URL where that is wanted, whichever way is first`()
        throws
    {
        try tool.run("import", "notes", "--create", input: #"{"_id":"a"}"#)
        let server = try tool.start(["serve", "data", "--port", "0", "--everybody", "-q"])
        let address = try #require(server.address())
        #expect(try tool.run("sync", "notes", address.url + "notes").status == 3)
        for n in 0..<4 {
            let url = "\(address.url)notes\(n)"
            let made = try tool.run("sync", "notes", url, "--create-target")
            #expect(made.status == 0, "\(made.err)")
            #expect(WireClient(port: address.port).send("GET", "/notes\(n)/a") == 200)
        }
        server.interrupt()
        #expect(try server.wait().status == 0)
    }
}
