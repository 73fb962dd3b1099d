// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Databases whose validation does not return, beside one that is well.
@Suite(.timeLimit(.minutes(5))) struct StuckDatabaseTests {
    /// A listener with databases that are stuck, named `stuck0` and so on, and `db`, which is not.
    private final class Stuck {
        let served: ServedSite
        let gate = Gate()
        /// How many writes have come to a validation.
        let arrived = Counter()
        private var waiting: [RawClient] = []

        init(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws {
            served = try ServedSite(edit)
        }

        deinit {
            gate.open()
            served.listener.stop()
        }

        /// Sends so many writes to each of so many databases, and waits until each database is stuck.
        func write(_ count: Int, to databases: Int, _ body: String) throws {
            for number in 0..<databases {
                let database = try served.site.manager.database(named: "stuck\(number)")
                database.setValidation(named: "waits") { [gate, arrived] _, _ in
                    arrived.add()
                    gate.wait()
                }
                for place in 0..<count {
                    let client = try served.client()
                    client.request("PUT", "/stuck\(number)/d\(place)", [], Array(body.utf8))
                    waiting.append(client)
                }
            }
            #expect(eventually { arrived.value == databases })
        }

        /// Makes a view `v` for each of so many design documents of a database, `d0` and so on, whose indexes are not made yet.
        func view(_ designs: Int = 1, in name: String) throws {
            let database = try served.site.manager.database(named: name)
            _ = try database.put("a", ["n": 1], parent: nil)
            for number in 0..<designs {
                database.view(named: "d\(number)/v").setMap(version: "1") { document, emit in
                    emit(document["n"], nil)
                }
            }
        }

        /// Sends the same request on so many connections.
        func ask(_ count: Int, _ method: String, _ target: String, _ body: String = "") throws
            -> [RawClient]
        {
            try (0..<count).map { _ in
                let client = try served.client()
                client.request(method, target, [StuckDatabaseTests.json], Array(body.utf8))
                return client
            }
        }

        /// The statuses of the writes that were stuck, once they are not.
        func statuses() -> [Int?] {
            gate.open()
            return waiting.map { $0.answer()?.status }
        }
    }

    @Test func `seven databases whose writes never end hold up those of no other one`() throws {
        let stuck = try Stuck()
        try stuck.write(4, to: 7, "{}")
        for (method, target) in [("PUT", "/db/a"), ("PUT", "/db/_local/a"), ("POST", "/db")] {
            #expect(try stuck.served.status(method, target, [Self.json], Array("{}".utf8)) == 201)
        }
        // Nothing was refused, and all that waited is done.
        #expect(stuck.statuses() == Array(repeating: 201, count: 28))
    }

    @Test func `three databases whose long writes never end hold up those of no other one`() throws
    {
        let stuck = try Stuck()
        let body = #"{"text":"\#(String(repeating: "x", count: MemoryBudget.free + 1))"}"#
        try stuck.write(3, to: 3, body)
        #expect(try stuck.served.status("PUT", "/db/a", [Self.json], Array(body.utf8)) == 201)
        #expect(stuck.statuses() == Array(repeating: 201, count: 9))
    }

    /// More than there are threads for one database.
    private static let many = 24

    @Test func `queries that wait for a database that is stuck hold up reads of no other one`()
        throws
    {
        let stuck = try Stuck()
        let database = try stuck.served.site.manager.database(named: "stuck0")
        _ = try database.put("a", ["n": 1], parent: nil)
        let index = #"{"index":{"fields":["n"]},"name":"n"}"#
        #expect(
            try stuck.served.status("POST", "/stuck0/_index", [Self.json], Array(index.utf8)) == 200
        )
        try stuck.write(1, to: 1, "{}")
        let query = #"{"selector":{"n":1}}"#
        let clients = try stuck.ask(Self.many, "POST", "/stuck0/_find", query)
        #expect(try stuck.served.status("GET", "/db/_all_docs", []) == 200)
        #expect(try stuck.served.status("POST", "/db/_find", [Self.json], Array(query.utf8)) == 200)
        #expect(stuck.statuses() == [201])
        for client in clients { #expect(client.answer()?.status == 200) }
    }

    @Test func `the database of a query counts however its name is written`() throws {
        let stuck = try Stuck()
        try stuck.view(in: "stuck0")
        try stuck.write(1, to: 1, "{}")
        let names = ["stuck0", "/stuck0", "%73tuck0", "s%74uck0", "st%75ck0", "stu%63k0"]
        let clients = try names.flatMap { name in
            try stuck.ask(8, "GET", "/\(name)/_design/d0/_view/v")
        }
        #expect(try stuck.served.status("GET", "/db/_all_docs", []) == 200)
        #expect(stuck.statuses() == [201])
        for client in clients { #expect(client.answer()?.status == 200) }
    }

    @Test func `answers in pieces that wait for a database that is stuck hold up no other one's`()
        throws
    {
        let stuck = try Stuck()
        try stuck.view(in: "stuck0")
        try stuck.view(in: "db")
        try stuck.write(1, to: 1, "{}")
        // Each query is asked when its piece is made.
        let (path, queries) = ("_design/d0/_view/v/queries", #"{"queries":[{},{}]}"#)
        let clients = try stuck.ask(Self.many, "POST", "/stuck0/\(path)", queries)
        #expect(
            try stuck.served.status("POST", "/db/\(path)", [Self.json], Array(queries.utf8)) == 200)
        #expect(try stuck.served.status("GET", "/db/_changes", []) == 200)
        #expect(stuck.statuses() == [201])
        for client in clients { #expect(client.answer()?.status == 200) }
    }

    @Test func `functions of many designs of a database that is stuck hold up no other one's`()
        throws
    {
        let stuck = try Stuck { $0.scripts = [PathRuntime()] }
        try stuck.view(8, in: "stuck0")
        try stuck.view(in: "db")
        try stuck.write(1, to: 1, "{}")
        let clients = try (0..<8).flatMap {
            try stuck.ask(3, "GET", "/stuck0/_design/d\($0)/_view/v")
        }
        #expect(try stuck.served.status("GET", "/db/_design/d0/_view/v", []) == 200)
        #expect(stuck.statuses() == [201])
        for client in clients { #expect(client.answer()?.status == 200) }
    }

    @Test func `what concerns no database goes on while three of them are stuck`() throws {
        let stuck = try Stuck()
        for number in 0..<3 { try stuck.view(in: "stuck\(number)") }
        try stuck.write(1, to: 3, "{}")
        let clients = try (0..<3).flatMap { number in
            try stuck.ask(Self.many, "GET", "/stuck\(number)/_design/d0/_view/v")
        }
        for target in [
            "/_all_dbs", "/_dbs_info", "/_session", "/_up", "/_active_tasks", "/_db_updates",
            "/_node/_local/_stats", "/_node/_local/_prometheus", "/_scheduler/jobs", "/_uuids",
            "/db", "/db/_design_docs", "/stuck0/a",
        ] {
            #expect(try stuck.served.status("GET", target, []) == 200, "\(target)")
        }
        #expect(stuck.statuses() == [201, 201, 201])
        for client in clients { #expect(client.answer()?.status == 200) }
    }

    @Test func `feeds that wait for a database hold up those of no other one`() throws {
        let (gate, arrived) = (Gate(), Counter())
        let served = try ServedSite {
            $0.authorization.reading = { _, _, document in
                guard document.id == "waits" else { return true }
                arrived.add()
                return gate.wait()
            }
        }
        defer { gate.open() }
        let other = try served.site.manager.database(named: "other")
        for (database, id) in [(served.database, "waits"), (other, "a")] {
            _ = try database.put(DocumentID(id), [:], parent: nil)
        }
        let feed = "_changes?feed=continuous&heartbeat=60000"
        let waiting = try (0..<Self.many).map { _ in
            let client = try served.client()
            client.request("GET", "/db/\(feed)")
            return client
        }
        #expect(eventually { arrived.value > 0 })
        let client = try served.client()
        client.request("GET", "/other/\(feed)")
        #expect(client.read(until: #""id":"a""#) != nil)
        gate.open()
        for client in waiting { #expect(client.read(until: #""id":"waits""#) != nil) }
    }

    private static let json = "Content-Type: application/json"
}
