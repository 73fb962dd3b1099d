// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// An index serves the queries that it can serve, whatever its order, and says which it cannot.
@Suite struct IndexOrderTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.inBatch {
            for number in 0..<1_200 {
                let name = (number % 2 == 0 ? "n" : "N") + String(10_000 + number)
                try database.create(
                    "d\(number)", ["n": .integer(Int64(number)), "name": .string(name)])
            }
        }
    }

    private func built(_ condition: QueryExpression) -> SelectQuery {
        QueryBuilder.select(.expression(Meta.id)).from(.database(database)).where(condition)
    }

    /// Which versions of the indexes have rows, and how many.
    private var rows: [Int] {
        get throws { try database.indexReports().map(\.rows) }
    }

    @Test func `an index without a collation serves texts of both kinds of queries`() throws {
        try database.createIndex(PropertyIndex(on: "name"))
        // Bytes put "N" before "n"; people do not.
        let query = built(.property("name").greaterThan("n11190")).orderBy(.property("name"))
        #expect(try query.run().compactMap { $0["id"].string }.count == 4)
        #expect(try query.explain().index?.name == "name")
        #expect(try query.explain().isSorted == false)
        #expect(try rows == [1_200], "only the order that was asked for is built")
        let found = try database.find(selector: ["name": ["$gt": "n11190"]]) {
            $0.sort = [.ascending("name")]
        }
        #expect(try found.run().count == 9)
        #expect(try found.explain().index?.name == "name")
        #expect(try found.explain().isSorted == false)
        #expect(try rows == [1_200, 1_200])
        #expect(try database.indexes().map(\.name) == ["name"])
    }

    @Test func `the rows of one order serve both kinds of queries where they do as well`() throws {
        try database.createIndex(PropertyIndex(on: "n"))
        #expect(try built(.property("n").lessThan(7)).explain().actualRows == 7)
        let query = try database.find(selector: ["n": ["$gte": 5, "$lt": 7]])
        #expect(try query.explain().actualRows == 2)
        #expect(try query.explain().index?.name == "n")
        #expect(try database.find(selector: ["n": 7]).explain().actualRows == 1)
        #expect(try rows == [1_200])
    }

    @Test func `pages go on in the order in which they began`() throws {
        try database.createIndex(PropertyIndex(on: "n"))
        _ = try built(.property("n").lessThan(7)).run()
        var query = try database.find(selector: ["n": ["$gte": 5, "$lt": 9]]) {
            ($0.sort, $0.limit) = ([.ascending("n")], 2)
        }
        query.bookmark = try query.run().bookmark
        // Has the rows in the other order made, which the next page would prefer.
        _ = try database.find(selector: ["n": 1]) { $0.sort = [.ascending("n")] }.run()
        #expect(try query.run().map(\.id) == ["d7", "d8"])
    }

    @Test func `an index without a collation goes with all its rows`() throws {
        try database.createIndex(PropertyIndex(on: "name"))
        _ = try built(.property("name").greaterThan("n")).run()
        _ = try database.find(selector: ["name": ["$gt": "n"]]).run()
        #expect(try rows.count == 2)
        // Another one of the name takes the place of all of them.
        #expect(try database.createIndex(PropertyIndex(named: "name", on: "n")))
        #expect(try rows == [0])
        _ = try built(.property("n").greaterThan(3)).run()
        #expect(try database.problems() == [])
        #expect(try database.deleteIndex(named: "name"))
        #expect(try rows == [])
    }

    @Test func `updating brings the orders up to date that were used`() throws {
        try database.createIndex(PropertyIndex(on: "name"))
        try database.updateIndexes()
        #expect(try rows == [1_200])
        _ = try database.find(selector: ["name": ["$gt": "n"]]).run()
        try database.create("new", ["name": "new"])
        try database.updateIndexes()
        #expect(try rows == [1_201, 1_201])
    }

    @Test func `an explanation names an index that is not used, and why`() throws {
        try database.createIndex(PropertyIndex(named: "titles", on: "name", collation: .unicode))
        try database.createIndex(PropertyIndex(named: "both", on: "n", "name"))
        try database.createIndex(
            PropertyIndex(
                named: "some", on: "name", filter: try DocumentSelector(json: ["n": ["$gt": 5]])))
        let explanation = try built(.property("name").greaterThan("n")).explain()
        #expect(
            explanation.unused.map { "\($0.name): \($0.reason)" } == [
                "both: the query has no condition on its first property, 'n'",
                "some: it has a filter, and the query does not name it",
                "titles: it sorts texts by .unicode, and the query compares them by .raw",
            ])
        #expect(explanation.text.contains("Not used: the index 'titles', since it sorts texts by"))
        // Equal texts are equal in every order.
        let equal = try built(.property("name").equalTo("n10010")).explain()
        #expect(equal.index?.name == "titles")
        #expect(equal.actualRows == 1)
    }

    @Test func `the log is told once of an index that cannot serve a query`() throws {
        let name = "titles that do not serve"
        let log = DatabaseLog(of: name)
        try database.createIndex(PropertyIndex(named: name, on: "name", collation: .unicode))
        for _ in 0..<3 { _ = try built(.property("name").greaterThan("n")).run() }
        #expect(log.waits(for: "does not use the index"))
        #expect(log.messages(.warning).count == 1)
    }

    @Test func `an index has no name with a zero in it`() throws {
        #expect(throws: DatabaseError.self) {
            try database.createIndex(PropertyIndex(named: "a\u{0}raw", on: "a"))
        }
    }

    @Test func `an index that was deleted is made again by no query`() async throws {
        try database.createIndex(PropertyIndex(on: "n"))
        let live = try database.find(selector: ["name": ["$gt": "n"], "n": ["$lt": 5]])
            .live(interval: .zero)
        var results = live.updates.makeAsyncIterator()
        #expect(try await results.next()?.rows.count == 5)
        #expect(try database.deleteIndex(named: "n"))
        // The live query looks whether this touches the rows that it has read.
        try database.create("other", ["n": 4, "name": "other"])
        #expect(try await results.next()?.rows.count == 6)
        #expect(try database.indexes().isEmpty)
        #expect(try rows == [])
        #expect(try !database.deleteIndex(named: "n"))
        live.stop()
    }

    @Test func `purges are forgotten although an order of an index was never needed`() throws {
        try database.createIndex(PropertyIndex(on: "name"))
        try database.setPurgeHistoryLimit(20)
        _ = try database.find(selector: ["name": ["$gt": "n"]]) {
            $0.sort = [.ascending("name")]
        }.run()
        for number in 0..<30 { try database.purge("d\(number)") }
        _ = try database.find(selector: ["name": ["$gt": "n"]]) {
            $0.sort = [.ascending("name")]
        }.run()
        try database.compact()
        var purges = 0
        try database.inspect(store: "purges") { _ in purges += 1 }
        #expect(purges == 20)
    }

    @Test func `IDs compare by their bytes in an index of any order`() throws {
        try database.inBatch {
            for id in ["~1", "z1", "Z1", "a1"] as [DocumentID] {
                try database.create(id, ["type": "a"])
            }
        }
        let selector: JSONValue = ["type": "a", "_id": ["$gt": "z"]]
        func found() throws -> Set<DocumentID> {
            Set(try database.find(selector: selector).run().map(\.id))
        }
        #expect(try found() == ["~1", "z1"])
        for collation in [nil, .raw, .unicode, .ascii] as [Collation?] {
            let index = PropertyIndex(on: "type", "_id", collation: collation)
            try database.createIndex(index)
            #expect(try found() == ["~1", "z1"])
            try database.deleteIndex(named: index.name)
        }
    }

    @Test func `names with an underscore mean to the builder what they mean without an index`()
        throws
    {
        let document = MutableDocument(["type": "b"], id: "with")
        document.setAttachment(named: "x", contentType: nil, .bytes([1, 2, 3]))
        try database.save(document)
        func answers() throws -> [[String]] {
            let columns = QueryBuilder.select(.property("_id"), .property("type"))
                .from(.database(database)).where(.property("type").equalTo("b"))
            let counted = QueryBuilder.select(.expression(Function.count()).as("n"))
                .from(.database(database))
                .where(.not(QueryExpression.property("_attachments.x").isMissing()))
            return try [columns.run().map { $0.toJSON() }, counted.run().map { $0.toJSON() }]
        }
        let expected = try answers()
        try database.createIndex(PropertyIndex(on: "type", "_id"))
        #expect(try answers() == expected)
    }
}
