// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// An edge keeps databases in step with its hub.
@Suite(.timeLimit(.minutes(10))) struct HubTests {
    let hub: EdgeHost

    init() throws { hub = try EdgeHost() }

    @Test func `documents go both ways, and a database is made on the side that lacks it`()
        async throws
    {
        try hub.save(1, "from the hub", in: "orders")
        let edge = try EdgeHost(of: hub, ["orders", "readings"])
        try edge.save(2, "from the edge", in: "readings")
        try await eventually { try edge.has(1, "from the hub", in: "orders") }
        try await eventually { try hub.has(2, "from the edge", in: "readings") }
        try edge.save(3, "from the hub", in: "orders")
        try await eventually { try hub.has(3, "from the hub", in: "orders") }
        await eventually {
            let sums = EdgeFigures(edge.site, edge.edge.report).sums
            return sums["running"] == 4 && sums["pending"] == 0 && sums["lag"] == 0
        }
        #expect(edge.edge.report.reach == .reached)
    }

    @Test func `a pattern follows databases that are made later, on either side`() async throws {
        let edge = try EdgeHost(of: hub, ["r*", "!r-scratch*"])
        await eventually { edge.edge.report.reach == .reached }
        try hub.save(1, "a", in: "r1")
        try hub.save(1, "a", in: "r-scratch-1")
        try hub.save(1, "a", in: "other")
        try edge.save(2, "b", in: "r2")
        try await eventually { try edge.has(1, "a", in: "r1") && hub.has(2, "b", in: "r2") }
        #expect(!edge.manager.databaseExists(named: "r-scratch-1"))
        #expect(!edge.manager.databaseExists(named: "other"))
        #expect(edge.edge.report.entries.keys.sorted() == ["r1", "r2"])
    }

    @Test func `a database of users is not followed, whatever its name`() async throws {
        let edge = try EdgeHost(of: hub, ["r*"])
        try edge.site.configuration.set(
            "chttpd_auth", "authentication_db", to: "r-accounts", isKept: false)
        _ = try edge.manager.database(named: "r-accounts")
        try edge.save(1, "a", in: "r1")
        try await eventually { try hub.has(1, "a", in: "r1") }
        #expect(!hub.manager.databaseExists(named: "r-accounts"))
        #expect(edge.edge.report.entries.keys.sorted() == ["r1"])
    }

    @Test func `a partitioned database is made as one`() async throws {
        _ = try hub.manager.database(named: "down", partitioned: true)
        let edge = try EdgeHost(of: hub, ["down", "up"])
        // Before the edge can have made it, or after it was made from the hub's.
        await eventually { edge.state(of: "down")?.state == .followed }
        #expect(try edge.database("down").isPartitioned)
        let other = try EdgeHost { [hub] in $0.hub = hub.address(["p*"]) }
        _ = try other.manager.database(named: "part", partitioned: true)
        await eventually { hub.manager.databaseExists(named: "part") }
        #expect(try hub.database("part").isPartitioned)
    }

    @Test func `a hub that comes later is reached then`() async throws {
        hub.stop()
        let edge = try EdgeHost(of: hub, ["orders"])
        await eventually { edge.edge.report.reach == .unreachable }
        #expect(edge.edge.report.reason?.contains("127.0.0.1") == true)
        try edge.save(1, "a", in: "orders")
        try hub.start()
        try await eventually { try hub.has(1, "a", in: "orders") }
        #expect(edge.edge.report.reach == .reached)
        #expect(edge.edge.report.reason == nil)
    }

    @Test func `what the hub has deleted stays here, until an administrator wants it there again`()
        async throws
    {
        try hub.save(1, "a", in: "orders")
        let edge = try EdgeHost(of: hub, ["*"])
        try await eventually { try edge.has(1, "a", in: "orders") }
        try await eventually { try EdgeHost.isRunning(edge, "orders") }
        try hub.site.delete("orders")
        await eventually { edge.state(of: "orders")?.state == .deleted }
        #expect(try edge.has(1, "a", in: "orders"))
        // Several looks later it is still so, also for a service that was started again.
        edge.stop()
        try edge.start()
        await eventually { edge.state(of: "orders")?.state == .deleted }
        #expect(!hub.manager.databaseExists(named: "orders"))
        for direction in EdgeDocument.Direction.allCases {
            let document = try #require(try edge.document(direction, "orders"))
            #expect(document["_replication_state"].string == "completed")
            try edge.database("_replicator").delete(document)
        }
        try await eventually { try hub.has(1, "a", in: "orders") }
    }

    @Test func `a hub that another one has replaced gets everything again`() async throws {
        for name in ["r1", "r2"] { try hub.save(1, "a", in: name) }
        let edge = try EdgeHost(of: hub, ["r*"])
        try await eventually { try edge.has(1, "a", in: "r1") && edge.has(1, "a", in: "r2") }
        // A push that has not saved yet how far it has come does not know that what it meets later is another hub.
        try await eventually {
            try EdgeHost.hasSaved(edge, "r1") && EdgeHost.hasSaved(edge, "r2")
        }
        hub.stop()
        try FileManager.default.removeItem(at: hub.folder)
        try edge.save(2, "b", in: "r1")
        try hub.start()
        try await eventually {
            try hub.has(1, "a", in: "r1") && hub.has(1, "a", in: "r2") && hub.has(2, "b", in: "r1")
        }
        await eventually { edge.state(of: "r1")?.state == .followed }
    }

    @Test(arguments: [false, true])
    func `an edge that has nothing new brings a hub what that has lost`(isRestored: Bool)
        async throws
    {
        try hub.save(1, "early", in: "orders")
        let edge = try EdgeHost(of: hub, ["orders"])
        try await eventually { try edge.has(1, "early", in: "orders") }
        try await eventually { try EdgeHost.isRunning(edge, "orders") }
        hub.stop()
        let backup = hub.folder.path + "-backup"
        defer { try? FileManager.default.removeItem(atPath: backup) }
        try FileManager.default.copyItem(atPath: hub.folder.path, toPath: backup)
        try hub.start()
        try edge.save(2, "late", in: "orders")
        try await eventually { try hub.has(2, "late", in: "orders") }
        try await eventually { try EdgeHost.hasSaved(edge, "orders") }
        hub.stop()
        try FileManager.default.removeItem(at: hub.folder)
        if isRestored {
            try FileManager.default.copyItem(atPath: backup, toPath: hub.folder.path)
        }
        try hub.start()
        try await eventually {
            try hub.has(1, "early", in: "orders") && hub.has(2, "late", in: "orders")
        }
    }

    @Test func `a document that was edited is left alone, and one that was removed comes back`()
        async throws
    {
        for n in 1...4 { try hub.save(Int64(n), DocumentID("\(n)"), in: "orders") }
        let edge = try EdgeHost(of: hub, ["orders"])
        try await eventually { try EdgeHost.isRunning(edge, "orders") }
        let replicator = try edge.database("_replicator")
        let pull = try #require(try edge.document(.pull, "orders")?.toMutable())
        pull["selector"] = ["n": ["$gt": 10]]
        try replicator.save(pull)
        await eventually {
            EdgeFigures(edge.site, edge.edge.report).rows.first?["pull"]?["edited"] == true
        }
        try hub.save(11, "11", in: "orders")
        try hub.save(5, "5", in: "orders")
        try await eventually { try edge.has(11, "11", in: "orders") }
        #expect(try edge.document(.pull, "orders")?.body["selector"] != nil)
        #expect(try !edge.has(5, "5", in: "orders"))
        try replicator.delete(DocumentID("hub-pull-orders"))
        try await eventually { try edge.has(5, "5", in: "orders") }
    }

    @Test func `other options replace documents, and remove those of databases that are left out`()
        async throws
    {
        for name in ["a", "b"] { try hub.save(1, "x", in: name) }
        var databases = ["a", "b"]
        var selector: JSONObject?
        let edge = try EdgeHost { [hub] options in
            options.hub = hub.address(databases) { $0.selector = selector }
        }
        try await eventually { try EdgeHost.isRunning(edge, "a") && EdgeHost.isRunning(edge, "b") }
        edge.stop()
        (databases, selector) = (["a"], ["n": ["$gt": 5]])
        try edge.start()
        try await eventually {
            try edge.document(.pull, "b") == nil && edge.document(.push, "b") == nil
        }
        try await eventually { try edge.document(.pull, "a")?.body["selector"] != nil }
        #expect(try edge.document(.push, "a")?.body["selector"] == nil)
        #expect(try edge.has(1, "x", in: "b"))
        try hub.save(2, "small", in: "a")
        try hub.save(6, "large", in: "a")
        try await eventually { try edge.has(6, "large", in: "a") }
        #expect(try !edge.has(2, "small", in: "a"))
    }

    @Test func `names the edge cannot have, and hubs it cannot use, are told of`() throws {
        for (url, databases, said) in [
            ("hub.example", ["a"], "address of the hub"), ("http://h/?a=b", ["a"], "address"),
            ("http://h", [], "Name the databases"), ("http://h", ["!a"], "Name the databases"),
            ("http://h", ["_users"], "'_users' names no databases"),
            ("http://h", ["Ä"], "names no databases"),
        ] {
            let error = #expect(throws: DatabaseError.self) {
                _ = try EdgeRules(ListenerHub(url, databases: databases))
            }
            #expect(error?.message.contains(said) == true, "\(url) \(databases)")
        }
        var both = ListenerHub("http://h", databases: ["a"])
        (both.filter, both.selector) = ("d/f", [:])
        #expect(throws: DatabaseError.self) { _ = try EdgeRules(both) }
        var taken = ListenerHub("http://h", databases: ["a"])
        (taken.filter, taken.filterParameters) = ("d/f", ["since": "2020"])
        #expect(throws: DatabaseError.self) { _ = try EdgeRules(taken) }
        #expect(throws: (any Error).self) {
            _ = try EdgeHost { $0.hub = ListenerHub("nothing", databases: ["a"]) }
        }
    }

    @Test func `a name that no database can have leads nowhere`() {
        for name in ["..", ".", "", "_users", "A", "1", "a b", "a?b", "a.b", "a%2e", "é"] {
            #expect(!EdgeRules.isName(name), "\(name)")
        }
        #expect(!EdgeRules.isName(String(repeating: "a", count: 240)))
        for name in ["a", "a/b", "r-1_$()+", String(repeating: "a", count: 239)] {
            #expect(EdgeRules.isName(name), "\(name)")
        }
    }

    @Test func `_edge and the metrics tell how it is doing`() async throws {
        try hub.save(1, "a", in: "orders")
        let edge = try EdgeHost(of: hub, ["orders"])
        await eventually {
            edge.send("GET", "/_edge").json["databases"]?[0]?["pull"]?["lag"] == 0
                && edge.send("GET", "/_edge").json["databases"]?[0]?["push"]?["lag"] == 0
        }
        let answer = edge.send("GET", "/_edge").json
        #expect(answer["hub"]?.string == "http://127.0.0.1:\(hub.port)/")
        #expect(answer["state"] == "reached" && answer["reached"]?.string != nil)
        #expect(answer["running"] == 2 && answer["waiting"] == 0 && answer["total_rows"] == 1)
        let row = try #require(answer["databases"]?[0])
        #expect(row["name"] == "orders" && row["state"] == "followed")
        #expect(row["pull"]?["written"] == 1 && row["pull"]?["refused"] == 0)
        #expect(edge.send("GET", "/_edge?skip=1").json["databases"] == [])
        #expect(edge.send("GET", "/_edge?skip=x").status == 400)
        #expect(hub.send("GET", "/_edge").status == 404)
        let metrics = edge.send("GET", "/_node/_local/_prometheus").text
        #expect(metrics.contains("\ncouchdb_edge_hub_reached 1\n"))
        #expect(metrics.contains("\ncouchdb_edge_databases 1\n"))
        hub.stop()
        await eventually { edge.send("GET", "/_edge").json["state"] == "unreachable" }
        await eventually { edge.send("GET", "/_edge").json["waiting"] == 2 }
        for n in 0..<5 { try edge.save(1, DocumentID("late\(n)"), in: "orders") }
        await eventually {
            let row = edge.send("GET", "/_edge").json["databases"]?[0]
            return (row?["push"]?["pending"]?.int64 ?? 0) >= 5 && row?["pull"]?["pending"] == 0
        }
    }
}

extension EdgeHost {
    /// Whether the hub knows that it has all that the edge has.
    static func hasSaved(_ edge: EdgeHost, _ name: String) throws -> Bool {
        let job = edge.site.replicator.job(EdgeDocument(.push, name).id)
        let saved = job?.running?.replication.report.checkpointed?.number
        return try isRunning(edge, name) && saved == edge.database(name).lastSequence
    }

    /// Whether both replications of a database run and have brought everything.
    static func isRunning(_ edge: EdgeHost, _ name: String) throws -> Bool {
        EdgeDocument.Direction.allCases.allSatisfy { direction in
            let job = edge.site.replicator.job(EdgeDocument(direction, name).id)
            return job?.running?.lag == 0
        }
    }
}
