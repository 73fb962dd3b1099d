// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Finding documents by selector: order, pages, fields and explanations.
@Suite struct FindTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        let people: [(String, JSONObject)] = [
            ("ann", ["name": "Ann", "age": 30, "city": "Oslo", "address": ["zip": "1"]]),
            ("bob", ["name": "bob", "age": 25, "city": "Rome", "address": ["zip": "2"]]),
            ("cat", ["name": "Cat", "age": 30, "city": "Rome"]),
            ("dan", ["name": "Dan", "city": "Oslo"]),
            ("eve", ["name": "eve", "age": .null, "city": "Oslo"]),
        ]
        try database.inBatch {
            for (id, person) in people { try database.create(DocumentID(id), person) }
            for number in 0..<40 { try database.create("z\(number)", ["kind": "filler"]) }
        }
        try database.create("_design/app", ["name": "Design", "city": "Oslo"])
    }

    private func ids(_ selector: JSONValue, _ sort: SortKey..., limit: Int? = nil) throws
        -> [String]
    {
        try database.find(selector: selector) { ($0.sort, $0.limit) = (sort, limit) }.run()
            .map(\.id.text)
    }

    @Test func `IDs are sorted by their bytes, with an index and without`() throws {
        let database = try Database.inMemory()
        let ids = ["A", "B", "C", "a", "b", "c"].shuffled()
        for id in ids { try database.create(DocumentID(id), ["n": 1, "t": .string(id)]) }
        for number in 0..<60 { try database.create(DocumentID("z\(number)"), ["n": 2]) }
        for isIndexed in [false, true] {
            if isIndexed {
                try database.createIndex(PropertyIndex(on: "n"))
                try database.createIndex(PropertyIndex(on: "n", "_id"))
            }
            for keys in [["_id"], ["n", "_id"]] {
                for isDescending in [false, true] {
                    var query = try database.find(selector: ["n": 1])
                    query.sort = keys.map { SortKey($0, isDescending: isDescending) }
                    let found = try query.run().map(\.id.text)
                    let sorted = ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                    #expect(
                        found == (isDescending ? sorted.reversed() : sorted), "\(keys) \(isIndexed)"
                    )
                }
            }
        }
    }

    @Test func `documents are found without an index, design documents are not`() throws {
        #expect(try ids(["city": "Oslo"]) == ["ann", "dan", "eve"])
        #expect(try ids(["_id": ["$gt": "z38"]]) == ["z39", "z4", "z5", "z6", "z7", "z8", "z9"])
        #expect(try ids([:]).count == 45)
    }

    @Test func `any order works, missing before null before values, equal ones by ID`() throws {
        let everybody: JSONValue = ["name": ["$exists": true]]
        #expect(try ids(everybody, .ascending("age")) == ["dan", "eve", "bob", "ann", "cat"])
        #expect(try ids(everybody, .descending("age")) == ["cat", "ann", "bob", "eve", "dan"])
        #expect(
            try ids(everybody, .ascending("city"), .descending("age"))
                == ["ann", "eve", "dan", "cat", "bob"])
        #expect(try ids(everybody, .ascending("name")) == ["ann", "bob", "cat", "dan", "eve"])
        #expect(try ids(everybody, .descending("_id"), limit: 2) == ["eve", "dan"])
    }

    @Test func `an order is the same with an index as without`() throws {
        let everybody: JSONValue = ["name": ["$exists": true]]
        let before = try ids(everybody, .descending("age"))
        try database.createIndex(PropertyIndex(on: "age"))
        #expect(try ids(everybody, .descending("age")) == before)
        try database.createIndex(PropertyIndex(on: "city", "age"))
        var query = try database.find(selector: ["city": "Oslo"])
        query.sort = [.ascending("age")]
        #expect(try query.run().map(\.id) == ["dan", "eve", "ann"])
        let explanation = try query.explain()
        #expect(explanation.index?.name == "city, age")
        #expect(!explanation.isSorted)
        #expect(explanation.actualRows == 3)
    }

    @Test func `fields are given at their places`() throws {
        let found = try database.find(selector: ["_id": "ann"]) {
            $0.fields = ["_id", "address.zip", "age", "nothing"]
        }.run()
        #expect(
            found.map(\.properties) == [["_id": "ann", "address": ["zip": "1"], "age": 30]])
        let whole = try #require(try database.find(selector: ["_id": "bob"]).run().first)
        #expect(
            whole.properties["_rev"]?.string.map { RevisionID($0) } == whole.document.revisionID)
        #expect(whole.properties["name"] == "bob")
    }

    @Test(arguments: [[], ["age"], ["city, age"]], ["none", "age", "city-age"])
    func `pages follow each other without gaps`(_ sort: [String], _ indexing: String) throws {
        if indexing == "age" { try database.createIndex(PropertyIndex(on: "age")) }
        if indexing == "city-age" { try database.createIndex(PropertyIndex(on: "city", "age")) }
        var query = try database.find(selector: ["city": ["$exists": true]])
        query.sort = sort.flatMap { $0.split(separator: ", ").map { SortKey(String($0)) } }
        let all = try query.run().map(\.id)
        #expect(all.count == 5)
        query.limit = 2
        var pages: [DocumentID] = []
        for _ in 0..<4 {
            let page = try query.run()
            pages += page.map(\.id)
            guard let bookmark = page.bookmark else { break }
            query.bookmark = bookmark
        }
        #expect(pages == all)
    }

    @Test func `a page goes on behind its bookmark though documents came before it`() throws {
        var query = try database.find(selector: ["city": ["$exists": true]])
        (query.sort, query.limit) = ([.ascending("name")], 2)
        let first = try query.run()
        try database.create("aaa", ["name": "Aaa", "city": "Oslo"])
        query.bookmark = first.bookmark
        #expect(try query.run().map(\.id) == ["cat", "dan"])
    }

    @Test func `a bookmark of another query is refused`() throws {
        let page = try database.find(selector: ["city": "Oslo"]) { $0.limit = 1 }.run()
        var query = try database.find(selector: ["city": "Rome"])
        query.bookmark = page.bookmark
        #expect(code { try query.run() } == .invalidQuery)
        query = try database.find(selector: ["city": "Oslo"])
        query.bookmark = "nonsense"
        #expect(code { try query.run() } == .invalidQuery)
        query.bookmark = "nil"
        #expect(try query.run().count == 3)
    }

    @Test func `skip and limit count what matches`() throws {
        func found(_ configure: (inout FindQuery) -> Void) throws -> FindResult {
            try database.find(selector: ["city": "Oslo"], configure: configure).run()
        }
        let one = try found { ($0.sort, $0.limit, $0.skip) = ([.ascending("_id")], 1, 1) }
        #expect(one.map(\.id) == ["dan"])
        #expect(try found { $0.limit = 0 }.isEmpty)
        #expect(try found { $0.skip = 9 }.bookmark == nil)
        #expect(code { try found { $0.limit = -1 } } == .invalidQuery)
        #expect(code { try found { $0.fields = ["a..b"] } } == .invalidQuery)
        #expect(code { try found { $0.sort = [.ascending("")] } } == .invalidQuery)
    }

    @Test func `an index can be named, and one that does not exist is refused`() throws {
        try database.createIndex(PropertyIndex(on: "age"))
        try database.createIndex(PropertyIndex(on: "city"))
        var query = try database.find(selector: ["city": "Rome", "age": 30])
        query.useIndex = "age"
        #expect(try query.explain().index?.name == "age")
        #expect(try query.run().map(\.id) == ["cat"])
        query.useIndex = "nowhere"
        #expect(code { try query.run() } == .invalidQuery)
    }

    @Test func `a query without an index says so, one with an index counts its rows`() throws {
        let scan = try database.find(selector: ["age": 30]).run()
        #expect(scan.warning != nil)
        #expect(scan.statistics.documentsExamined == 45)
        try database.createIndex(PropertyIndex(on: "age"))
        let indexed = try database.find(selector: ["age": 30]).run()
        #expect(indexed.warning == nil)
        #expect(indexed.statistics.rowsExamined == 2)
        #expect(indexed.statistics.resultsReturned == 2)
        #expect(try database.find(selector: [:]).run().warning == nil)
    }

    @Test func `an explanation tells in words what is read and what was considered`() throws {
        try database.createIndex(PropertyIndex(on: "age"))
        try database.createIndex(PropertyIndex(on: "city"))
        let query = try database.find(selector: ["$or": [["age": 25], ["city": "Rome"]]])
        let explanation = try query.explain()
        #expect(explanation.estimatedRows == 3)
        #expect(explanation.actualRows == 3)
        #expect(explanation.results == 2)
        #expect(explanation.text.contains("index 'age'"))
        #expect(explanation.text.contains("index 'city'"))
        #expect(explanation.candidates.contains { $0.rows >= 45 })
    }

    @Test func `nothing is read for a selector that nothing matches`() throws {
        let found = try database.find(selector: ["_id": ["$in": []]]).run()
        #expect(found.isEmpty)
        #expect(found.statistics.rowsExamined == 0)
    }

    @Test func `sort keys are read from the form that CouchDB has`() throws {
        #expect(try SortKey(json: "a") == .ascending("a"))
        #expect(try SortKey(json: ["a": "asc"]) == .ascending("a"))
        #expect(try SortKey(json: ["a": "desc"]) == .descending("a"))
        #expect(code { try SortKey(json: ["a": "down"]) } == .invalidQuery)
        #expect(code { try SortKey(json: 1) } == .invalidQuery)
    }
}
