// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanIndex
import DivanJSON
import DivanModel
import Testing

/// A run tells which rows its result depends on.
@Suite struct FootprintTests {
    private func footprint(_ database: Database, _ selector: JSONValue) throws -> QueryFootprint {
        let run = try FindRun(FindQuery(Selector(json: selector)), database.core)
        return try run.planned.run(begin: {}) { _, _ in true }.footprint
    }

    @Test func `a query by index depends on the ranges that it read`() throws {
        let database = try Database.inMemory()
        try database.inBatch {
            for number in 0..<100 {
                try database.create("d\(number)", ["x": .integer(Int64(number))])
            }
        }
        try database.createIndex(PropertyIndex(on: "x"))
        guard case .rows(let rows) = try footprint(database, ["x": ["$gt": 97]]) else {
            Issue.record("The query read more than an index.")
            return
        }
        #expect(rows.map(\.index) == [IndexName(.property, "x")])
        let map = try PropertyIndexMap(PropertyIndex(on: "x"))
        func isRead(_ value: JSONValue) -> Bool {
            var key: [UInt8] = []
            map.coder.appendComponent(value, to: &key)
            RowKey.append(DocumentID(unchecked: "d"), ordinal: 0, to: &key)
            return rows.contains { $0.ranges.contains { $0.contains(key) } }
        }
        #expect(isRead(98) && isRead("text") && !isRead(97) && !isRead(.null))
    }

    @Test func `a query without an index depends on everything`() throws {
        let database = try Database.inMemory()
        try database.create("d", ["x": 1])
        guard case .everything = try footprint(database, ["x": 1]) else {
            Issue.record("All documents were read.")
            return
        }
    }
}
