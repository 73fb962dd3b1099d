// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

@Suite struct OneShotQueryTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        for n in 0..<60 {
            try database.create(
                "d\(n)",
                ["n": .integer(Int64(n % 7)), "name": .string(["b", "A", "\u{e1}", "a"][n % 4])])
        }
        try database.delete("d3")
        try database.create("_design/d", ["n": 1])
    }

    private static let map: DatabaseView.Map = { document, emit in
        emit([document["name"].value ?? .null, document["n"].value ?? .null], document["n"])
        if document["n"].int == 2 { emit("two", 1) }
    }

    private func rows(_ query: ViewQuery) throws -> [String] {
        try query.run().map { "\($0.key) \($0.documentID ?? "-") \($0.value ?? .null)" }
    }

    @Test func `the largest numbers to skip and of rows find nothing`() throws {
        let view = database.view(named: "large")
        view.setMap(version: "1", reduce: .count, Self.map)
        for limit in [nil, 1, Int.max, Int.max / 2] as [Int?] {
            for skip in [Int.max, Int.max / 2 + 1, 1 << 62] {
                for isGrouped in [false, true] {
                    var query = view.query()
                    (query.skip, query.limit, query.mapOnly) = (skip, limit, !isGrouped)
                    if isGrouped { query.groupLevel = 1 }
                    for start in [nil, "a"] as [JSONValue?] {
                        query.startKey = start
                        query.includeOffset = true
                        #expect(try query.run().isEmpty, "\(skip) \(String(describing: limit))")
                    }
                }
            }
        }
    }

    @Test func `a query with a map of its own finds what a view finds`() throws {
        for collation in [Collation.unicode, .raw] {
            let view = database.view(named: "v-\(collation)")
            view.collation = collation
            view.setMap(version: "1", Self.map)
            var mine = database.query(collation: collation, map: Self.map)
            var theirs = view.query()
            #expect(try rows(mine) == rows(theirs))
            #expect(try mine.run().totalRows == theirs.run().totalRows)
            let changes: [(inout ViewQuery) -> Void] = [
                { $0.descending = true }, { $0.skip = 5 }, { $0.limit = 9 },
                { ($0.startKey, $0.endKey) = (["a"], ["b", 4]) }, { $0.keys = ["two", ["a", 1]] },
            ]
            for change in changes {
                change(&mine)
                change(&theirs)
                #expect(try rows(mine) == rows(theirs))
            }
        }
    }

    @Test func `a query with a map and a reduce of its own groups as a view does`() throws {
        let view = database.view(named: "v")
        view.setMap(version: "1", reduce: .sum, Self.map)
        var mine = database.query(reduce: .sum, map: Self.map)
        var theirs = view.query()
        #expect(try mine.run().map(\.value) == theirs.run().map(\.value))
        (mine.grouping, theirs.grouping) = (.level(1), .level(1))
        #expect(try rows(mine) == rows(theirs))
        #expect(try mine.run().count == 5)
    }

    @Test func `a query with a map of its own leaves nothing behind`() throws {
        var stored: [String] = []
        try database.inspect { stored.append("\($0.store) \($0.key)") }
        #expect(try database.query(map: Self.map).run().count > 0)
        var after: [String] = []
        try database.inspect { after.append("\($0.store) \($0.key)") }
        #expect(after == stored)
        #expect(try database.viewNames() == [])
        #expect(try database.existingView(named: "one-shot") == nil)
    }

    @Test func `a query with a map of its own is of the moment when it runs`() throws {
        let query = database.query { document, emit in emit(document["n"]) }
        let before = try query.run()
        try database.create("new", ["n": 99])
        #expect(try query.run().count == before.count + 1)
        try database.purge("new")
        #expect(try query.run() == before)
        // In a batch it sees the batch, and after a rollback nothing of it.
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.create("undone", ["n": 99])
                #expect(try query.run().count == before.count + 1)
                throw Whim()
            }
        }
        #expect(try query.run() == before)
        database.close()
        #expect(code { try query.run() } == .databaseClosed)
    }

    @Test func `a query with a map of its own reads a database that is read only`() throws {
        let sandbox = Sandbox()
        try sandbox.database().create("a", ["n": 1])
        let reader = try sandbox.database { $0.readOnly = true }
        #expect(try reader.query { _, emit in emit("x") }.run().map(\.documentID) == ["a"])
    }

    @Test func `a live query with a map of its own follows changes`() async throws {
        let live = database.query { document, emit in
            if document["n"].int == 99 { emit(document["n"]) }
        }
        .live(interval: .zero)
        var counts: [Int] = []
        for try await rows in live {
            counts.append(rows.count)
            if rows.isEmpty { try database.save(MutableDocument(["n": 99], id: "new")) }
            if rows.count == 1 { break }
        }
        #expect(counts == [0, 1])
    }
}
