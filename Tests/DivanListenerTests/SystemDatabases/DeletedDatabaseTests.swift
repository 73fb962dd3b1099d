// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanLogging
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// What ends with a database that is deleted, and begins with a new one of its name.
@Suite(.timeLimit(.minutes(10))) struct DeletedDatabaseTests {
    let site: TestSite
    let source: Database

    init() throws {
        site = try TestSite()
        source = try site.manager.database(named: "source")
        _ = try site.manager.database(named: "target")
    }

    private static let continuous = #"{"source":"source","target":"target","continuous":true}"#
    private static let once = #"{"source":"source","target":"target"}"#

    private func add(_ id: DocumentID, to database: Database? = nil, _ body: JSONObject = [:])
        throws
    {
        _ = try (database ?? source).put(id, body, parent: nil)
    }

    private func has(_ id: String) -> Bool { site.send("GET", "/target/\(id)").status == 200 }
    private func state(_ id: String) -> JSONValue {
        site.send("GET", "/_replicator/\(id)").json["_replication_state"] ?? .null
    }
    private var tasks: [JSONValue] { site.send("GET", "/_active_tasks").json.array ?? [] }

    // MARK: - _replicator

    @Test(arguments: ["_users", "_replicator"])
    func `one that a client deletes stays away until a client makes it again`(name: String) {
        #expect(site.send("GET", "/\(name)").status == 200)
        #expect(site.send("DELETE", "/\(name)").status == 200)
        for _ in 0..<2 { #expect(site.send("GET", "/\(name)").status == 404) }
        #expect(site.send("PUT", "/\(name)/org.couchdb.user:x", "{}").status == 404)
        #expect(site.send("GET", "/_all_dbs").json == ["source", "target"])
        #expect(site.send("PUT", "/\(name)").status == 201)
        #expect(site.send("GET", "/\(name)").status == 200)
        let rules = site.send("GET", "/\(name)/_design/_auth")
        #expect(rules.status == (name == "_users" ? 200 : 404))
        #expect(site.send("DELETE", "/\(name)").status == 200)
        #expect(site.send("GET", "/\(name)").status == 404)
    }

    @Test
    func
        `a listener that starts makes those anew that a client has deleted, one that takes over does not`()
        throws
    {
        #expect(site.send("GET", "/_users").status == 200)
        #expect(site.send("DELETE", "/_users").status == 200)
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        let former = site.router.site
        let successor = try Site(site.manager, options, succeeding: former)
        #expect(!successor.makesByItself(.users) && successor.makesByItself(.replicator))
        #expect(try Site(site.manager, options).makesByItself(.users))
    }

    @Test func `a _replicator that is deleted and made again runs its documents at once`()
        async throws
    {
        site.send("PUT", "/_replicator/first", Self.continuous)
        try add("a")
        await eventually { has("a") }
        for round in 0..<3 {
            #expect(site.send("DELETE", "/_replicator").status == 200)
            #expect(site.send("PUT", "/_replicator").status == 201)
            try add("b\(round)")
            // The same document as that of a database before: its first revision has the same ID.
            #expect(site.send("PUT", "/_replicator/second", Self.once).status == 201)
            await eventually { state("second") == "completed" }
            #expect(has("b\(round)"))
        }
        #expect(site.send("GET", "/_scheduler/docs").json["total_rows"] == 1)
    }

    @Test func `replications of a _replicator end when it is deleted`() async throws {
        site.send("PUT", "/_replicator/r", Self.continuous)
        try add("a")
        await eventually { has("a") }
        #expect(site.send("DELETE", "/_replicator").status == 200)
        await eventually { tasks.isEmpty }
        #expect(site.send("GET", "/_scheduler/jobs").json["total_rows"] == 0)
        #expect(site.send("GET", "/_scheduler/docs").json["docs"] == [])
        #expect(site.send("GET", "/_scheduler/docs/_replicator/r").status == 404)
    }

    @Test func `a _replicator that the app deletes, closes and makes itself is followed`()
        async throws
    {
        func open() throws -> Database { try site.manager.database(named: "_replicator") }
        func describe(_ id: DocumentID, in database: Database) throws {
            _ = try database.put(
                id, ["source": "source", "target": "target", "continuous": true], parent: nil)
        }
        try describe("r1", in: open())
        try add("a")
        await eventually { has("a") }
        try site.manager.deleteDatabase(named: "_replicator")
        await eventually { tasks.isEmpty }
        try describe("r2", in: open())
        try add("b")
        await eventually { has("b") }
        #expect(tasks.count == 1 && tasks[0]["doc_id"] == "r2")
        // Closing it ends its replications, and opening it takes them up.
        try open().close()
        await eventually { tasks.isEmpty }
        #expect(site.manager.openedDatabase(named: "_replicator") == nil)
        _ = try open()
        await eventually { tasks.count == 1 }
    }

    @Test func `a _replicator that is replaced by a copy runs what the copy says`() async throws {
        let other = try site.manager.database(named: "other")
        try add("x", to: other)
        let copy = try site.manager.database(named: "copy")
        try add("new", to: copy, ["source": "other", "target": "target"])
        site.send("PUT", "/_replicator/old", Self.continuous)
        await eventually { tasks.count == 1 }
        try site.manager.database(named: "_replicator").close()
        await eventually { tasks.isEmpty }
        let place = URL(filePath: copy.path)
        try site.manager.replaceDatabase(named: "_replicator", from: place)
        _ = try site.manager.database(named: "_replicator")
        await eventually { state("new") == "completed" }
        #expect(has("x") && site.send("GET", "/_replicator/old").status == 404)
    }

    // MARK: - The ends

    @Test(arguments: ["source", "target"])
    func `a replication ends, and says why, when a database that it uses is deleted`(
        name: String
    ) async throws {
        site.send("PUT", "/_replicator/r", Self.continuous)
        try add("a")
        await eventually { has("a") }
        #expect(site.send("DELETE", "/\(name)").status == 200)
        await eventually { state("r") == "failed" }
        let reason = site.send("GET", "/_replicator/r").json["_replication_state_reason"]
        #expect(reason?.string?.contains("'\(name)' is closed or deleted") == true)
        #expect(tasks.isEmpty)
        #expect(site.send("GET", "/_scheduler/jobs").json["total_rows"] == 0)
        // A database of the same name is another one, and so is a replication of it.
        #expect(site.send("PUT", "/\(name)").status == 201)
        if name == "source" {
            try add("b", to: site.manager.database(named: "source"))
        }
        #expect(site.send("PUT", "/_replicator/again", Self.once).status == 201)
        await eventually { state("again") == "completed" }
        #expect(has(name == "source" ? "b" : "a"))
    }

    @Test(arguments: ["source", "target"])
    func `a replication that a request started ends with its database, too`(name: String)
        async throws
    {
        let started = site.send("POST", "/_replicate", Self.continuous)
        #expect(started.status == 202)
        try add("a")
        await eventually { has("a") }
        #expect(site.send("DELETE", "/\(name)").status == 200)
        await eventually { tasks.isEmpty }
        let again = site.send("POST", "/_replicate", Self.once)
        #expect(again.status == 404)
        #expect(again.json["error"] == "db_not_found")
    }

    // MARK: - Users, updates, feeds

    @Test func `users go with _users, and their sessions do not come back with a new one`() throws {
        let site = try TestSite { $0.access = .users(["root": "secret"]) }
        func basic(_ name: String, _ password: String) -> HTTPHeaders {
            ["Authorization": "Basic " + Base64.encode(Array("\(name):\(password)".utf8))]
        }
        func makeUser() -> Int {
            site.send(
                "PUT", "/_users/org.couchdb.user:ann",
                #"{"name":"ann","password":"pw","roles":[],"type":"user"}"#, basic("root", "secret")
            ).status
        }
        func user(_ headers: HTTPHeaders) -> JSONValue? {
            site.send("GET", "/_session", "", headers).json["userCtx"]?["name"]
        }
        #expect(makeUser() == 201)
        let login = site.send(
            "POST", "/_session", "name=ann&password=pw",
            ["Content-Type": "application/x-www-form-urlencoded"])
        let cookie: HTTPHeaders = [
            "Cookie": String(login.headers["Set-Cookie"]?.prefix { $0 != ";" } ?? "")
        ]
        #expect(user(cookie) == "ann" && user(basic("ann", "pw")) == "ann")
        #expect(site.send("DELETE", "/_users", "", basic("root", "secret")).status == 200)
        #expect(user(cookie) == .null && user(basic("ann", "pw")) == nil)
        #expect(site.send("PUT", "/_users", "", basic("root", "secret")).status == 201)
        #expect(makeUser() == 201)
        #expect(user(basic("ann", "pw")) == "ann")
        // The new ann is another user, even with the same password.
        #expect(user(cookie) == .null)
    }

    @Test func `a database that the app deletes and makes again counts as created`() async throws {
        let first = site.send("GET", "/_db_updates").json
        let since = first["last_seq"]?.string ?? ""
        try site.manager.deleteDatabase(named: "target")
        _ = try site.manager.database(named: "target")
        let news = site.send("GET", "/_db_updates?since=\(since)").json["results"]?.array ?? []
        #expect(news.map { $0["db_name"] } == ["target"])
        #expect(news.map { $0["type"] } == ["created"])
        // The new one is followed.
        let rest = site.send("GET", "/_db_updates").json["last_seq"]?.string ?? ""
        try add("a", to: site.manager.database(named: "target"))
        await eventually {
            let news = site.send("GET", "/_db_updates?since=\(rest)").json["results"]
            return news?[0]?["type"] == "updated"
        }
    }

    @Test(arguments: ["longpoll", "continuous", "eventsource"])
    func `a feed that waits ends whole when its database is deleted`(mode: String) throws {
        let target = "/target/_changes?feed=\(mode)&heartbeat=60000"
        let head = RequestHead(method: "GET", target: target, headers: ["Host": "localhost"])
        let response = site.router.respond(ListenerRequest(head))
        guard case .stream(let producer, _) = response.body else {
            Issue.record("It has no stream.")
            return
        }
        defer { producer.cancel() }
        let woken = DispatchSemaphore(value: 0)
        producer.whenReady { woken.signal() }
        var bytes: [UInt8] = []
        func read() throws -> Bool {
            while true {
                switch try producer.next() {
                case .bytes(let piece): bytes += piece
                case .end: return true
                case .wait(let duration) where duration == .zero: continue
                case .wait: return false
                }
            }
        }
        #expect(try !read())
        #expect(site.send("DELETE", "/target").status == 200)
        var hasEnded = false
        while !hasEnded, woken.wait(timeout: .now() + 60) == .success { hasEnded = try read() }
        #expect(hasEnded)
        let text = String(decoding: bytes, as: UTF8.self)
        switch mode {
        case "longpoll": #expect((try? JSONParser.parse(text))?["results"] == [])
        case "continuous": #expect(text.contains(#"{"last_seq":"#))
        default: #expect(!text.contains("data: {"))
        }
    }
}
