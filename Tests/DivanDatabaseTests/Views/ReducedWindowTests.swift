// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct ReducedWindowTests {
    private let database: Database
    private let view: DatabaseView

    init() throws {
        database = try Database.inMemory()
        view = database.view(named: "v")
        view.setMap(version: "1", reduce: .sum) { document, emit in
            emit(document["key"], document["value"])
        }
    }

    @Test func `skip and limit count the rows of a reduction, not those that it folds`() throws {
        for n in 0..<40 {
            try database.create(
                "d\(n)", ["key": .integer(Int64(n % 4)), "value": .integer(Int64(n))])
        }
        let sums: [JSONValue] = (0..<4).map { key in
            .integer(Int64((0..<40).filter { $0 % 4 == key }.reduce(0, +)))
        }
        var query = view.query()
        query.limit = 1
        #expect(try query.run().map(\.value) == [.integer(780)])
        query.skip = 1
        #expect(try query.run().isEmpty)
        query.grouping = .exact
        (query.skip, query.limit) = (1, 2)
        #expect(try query.run().map(\.value) == Array(sums[1...2]))
        #expect(try query.run().map(\.key) == [1, 2])
        query.descending = true
        #expect(try query.run().map(\.key) == [2, 1])
        (query.skip, query.limit) = (3, nil)
        #expect(try query.run().map(\.value) == [sums[0]])
        query.limit = 0
        #expect(try query.run().isEmpty)
    }

    @Test func `a new view of an empty database has no rows, however it is asked`() throws {
        var query = view.query()
        #expect(try query.run().isEmpty)
        query.grouping = .exact
        #expect(try query.run().isEmpty)
        query.grouping = .none
        query.mapOnly = true
        for mode in [ViewQuery.UpdateMode.never, .before, .after] {
            query.updateMode = mode
            let rows = try query.run()
            #expect(rows.isEmpty)
            #expect(rows.totalRows == 0)
        }
        query.keys = [1]
        #expect(try query.run().isEmpty)
        // The same after everything has gone.
        try database.create("a", ["key": 1, "value": 1])
        #expect(try query.run().isEmpty == false || query.updateMode == .after)
        try database.purge("a")
        query.updateMode = .before
        #expect(try query.run().isEmpty)
    }
}
