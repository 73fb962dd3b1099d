// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import Synchronization
import Testing

@testable import DivanQuery

/// What a query tells of the memory of its rows while it finds them.
@Suite struct CollectedRowsTests {
    private struct TooMany: Error {}

    private func database() throws -> Database {
        let database = try Database.inMemory()
        try database.inBatch {
            for n in 0..<3_000 {
                try database.save(
                    MutableDocument(["n": .integer(Int64(n))], id: DocumentID("d\(n)")))
            }
        }
        database.view(named: "v").setMap(version: "1", reduce: .count) { document, emit in
            emit(document["n"])
            emit("all")
        }
        return database
    }

    /// The most bytes that a query tells of before it is stopped beyond a limit, and whether it was.
    private func most(_ query: ViewQuery, limit: Int) throws -> (bytes: Int, isStopped: Bool) {
        let most = Mutex(0)
        var query = query
        query.willHold = { bytes in
            most.withLock { $0 = bytes }
            if bytes > limit { throw TooMany() }
        }
        do { _ = try query.run() } catch is TooMany { return (most.withLock { $0 }, true) }
        return (most.withLock { $0 }, false)
    }

    @Test func `a query is stopped soon after its rows take too much`() throws {
        let database = try database()
        defer { database.close() }
        var query = database.view(named: "v").query()
        query.mapOnly = true
        // Half a thousand times three thousand rows.
        query.keys = Array(repeating: "all", count: 500)
        let rows = try most(query, limit: 2 << 20)
        #expect(rows.isStopped && rows.bytes < 4 << 20)
        query.keys = ["all", "all"]
        let few = try most(query, limit: 2 << 20)
        #expect(!few.isStopped && few.bytes > 0)
        #expect(try few.bytes <= query.run().heldBytes)
    }

    @Test func `so is one whose groups do`() throws {
        let database = try database()
        defer { database.close() }
        var query = database.view(named: "v").query()
        query.grouping = .exact
        let groups = try most(query, limit: 1)
        // It is told of each 64 kB.
        #expect(groups.isStopped && (64 << 10..<65 << 10).contains(groups.bytes))
        query.keys = Array(repeating: 1, count: 2_000)
        let keys = try most(query, limit: 1)
        #expect(keys.isStopped && (64 << 10..<65 << 10).contains(keys.bytes))
    }
}
