// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Numbers are equal however they are written, also inside arrays and objects: `[1, "a"]` and
/// `[1.0, "a"]` are one key for every question that an index answers.
@Suite struct MixedNumbersTests {
    private let database: Database
    private let view: DatabaseView

    init() throws {
        database = try Database.inMemory()
        view = database.view(named: "parts")
        view.setMap(version: "1", reduce: .count) { document, emit in
            emit(document["key"], nil)
        }
        try database.inBatch {
            let keys: [(String, JSONValue)] = [
                ("a", ["widget", 3.0]), ("b", ["widget", 3]), ("c", ["widget", 3.5]),
                ("d", [1, "z"]), ("e", [1.0, "m"]), ("f", [1, "a"]), ("g", [1.0]),
                ("h", [2.0, "q"]),
                ("i", [2, "b"]), ("j", ["part": 1.0, "size": 2]), ("k", ["part": 1, "size": 2.0]),
            ]
            for (id, key) in keys { try database.create(DocumentID(id), ["key": key]) }
        }
    }

    private func ids(_ edit: (inout ViewQuery) -> Void) throws -> [DocumentID] {
        var query = view.query()
        query.mapOnly = true
        edit(&query)
        let ids = try query.run().compactMap(\.documentID)
        #expect(try database.problems() == [])
        return ids
    }

    private func groups(_ edit: (inout ViewQuery) -> Void) throws -> [(JSONValue, JSONValue?)] {
        var query = view.query()
        edit(&query)
        return try query.run().map { ($0.key, $0.value) }
    }

    @Test func `a key finds the rows of all keys that equal it, by document`() throws {
        for key: JSONValue in [["widget", 3], ["widget", 3.0]] {
            #expect(try ids { $0.keys = [key] } == ["a", "b"])
            #expect(
                try ids {
                    $0.startKey = key
                    $0.endKey = key
                } == ["a", "b"])
        }
        #expect(try ids { $0.keys = [["size": 2, "part": 1]] } == ["j", "k"])
        #expect(
            try ids {
                $0.keys = [["widget", 3], [1.0, "a"], [1, "m"], ["widget", 3.0]]
            } == ["a", "b", "f", "e", "a", "b"])
    }

    @Test func `the row shows the numbers as they were emitted`() throws {
        let rows = try view.query(.keys([["widget", 3]])).mapped().run()
        #expect(rows.map(\.key) == [["widget", 3.0], ["widget", 3]])
        #expect(rows.map(\.key) != [["widget", 3], ["widget", 3]])
    }

    @Test func `a range has every key between, in the order of what differs`() throws {
        func range(_ edit: @escaping (inout ViewQuery) -> Void = { _ in }) throws -> [DocumentID] {
            try ids {
                $0.startKey = [1, "a"]
                $0.endKey = [1.0, "z"]
                edit(&$0)
            }
        }
        #expect(try range() == ["f", "e", "d"])
        #expect(try range { $0.inclusiveStart = false } == ["e", "d"])
        #expect(try range { $0.inclusiveEnd = false } == ["f", "e"])
        #expect(
            try ids {
                $0.startKey = [1.0, "z"]
                $0.endKey = [1, "a"]
                $0.descending = true
            } == ["d", "e", "f"])
    }

    @Test func `a prefix finds arrays that begin with equal numbers`() throws {
        for key: JSONValue in [[1], [1.0]] {
            #expect(
                try ids {
                    $0.startKey = key
                    $0.endKey = key
                    $0.prefixMatchLevel = 1
                } == ["g", "f", "e", "d"])
            #expect(
                try ids {
                    $0.startKey = key
                    $0.endKey = key
                    $0.prefixMatchLevel = 1
                    $0.descending = true
                } == ["d", "e", "f", "g"])
        }
    }

    @Test func `groups join equal beginnings and are shown as their first row`() throws {
        let level = try groups { $0.groupLevel = 1 }
        #expect(level.map(\.0) == [[1.0], [2], ["widget"], ["part": 1.0, "size": 2]])
        #expect(level.map(\.1) == [4, 2, 3, 2])
        let exact = try groups {
            $0.grouping = .exact
            $0.startKey = ["widget", 3]
        }
        #expect(exact.map(\.0) == [["widget", 3.0], ["widget", 3.5], ["part": 1.0, "size": 2]])
        #expect(exact.map(\.1) == [2, 1, 2])
        let descending = try groups {
            $0.groupLevel = 1
            $0.descending = true
        }
        #expect(descending.map(\.0) == [["part": 1, "size": 2.0], ["widget"], [2.0], [1]])
        #expect(descending.map(\.1) == [2, 3, 2, 4])
    }

    @Test func `different keys are counted by what they are equal to`() throws {
        let distinct = database.view(named: "distinct")
        distinct.setMap(version: "1", reduce: .approximateDistinctCount) { document, emit in
            emit(document["key"], nil)
        }
        #expect(try distinct.query().run().map(\.value) == [9])
    }

    @Test func `a reduce function gets the keys as they were emitted`() throws {
        let last = database.view(named: "last")
        last.setMap(
            version: "1",
            reduce: .custom { keys, values, _ in keys.last ?? values.last ?? .null }
        ) { document, emit in emit(document["key"], nil) }
        #expect(try last.query(.keys([["widget", 3]])).run().map(\.value) == [["widget", 3]])
        #expect(try last.query(.keys([[1, "m"]])).run().map(\.value) == [[1.0, "m"]])
    }

    @Test func `a document that writes a number in another way changes its row`() throws {
        _ = try view.query().run()
        try database.update("b") { $0["key"] = Fragment(["widget", 3.0]) }
        let rows = try view.query(.keys([["widget", 3]])).mapped().run()
        #expect(rows.map(\.key) == [["widget", 3.0], ["widget", 3.0]])
        #expect(rows.map(\.documentID) == ["a", "b"])
        try database.delete("a")
        #expect(try ids { $0.keys = [["widget", 3]] } == ["b"])
    }

    @Test(arguments: [true, false])
    func `selectors and built queries find and sort equal arrays, with and without an index`(
        isIndexed: Bool
    ) throws {
        if isIndexed {
            try database.createIndex(PropertyIndex(on: "key"))
            try database.createIndex(PropertyIndex(named: "raw", on: ["key"], collation: .raw))
        }
        #expect(
            try database.find(selector: ["key": ["widget", 3]]).run().map(\.id).sorted() == [
                "a", "b",
            ])
        let range: JSONValue = ["key": ["$gte": [1, "a"], "$lte": [1.0, "z"]]]
        var find = try database.find(selector: range)
        find.sort = [SortKey("key")]
        #expect(try find.run().map(\.id) == ["f", "e", "d"])
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(
                QueryExpression.property("key").greaterThanOrEqualTo(.value([1, "a"]))
                    .and(QueryExpression.property("key").lessThan(.value(["widget", 3])))
            )
            .orderBy(Ordering.property("key"), Ordering.expression(Meta.id))
        #expect(
            try query.run().compactMap { $0["id"].string } == ["f", "e", "d", "i", "h"])
        #expect(try database.problems() == [])
    }
}

extension ViewQuery {
    /// The same query of the rows, without the reduce.
    fileprivate func mapped() -> ViewQuery {
        var query = self
        query.mapOnly = true
        return query
    }
}
