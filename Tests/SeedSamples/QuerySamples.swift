// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// The samples of the reference of version 1.4: views and queries.
@Suite struct QuerySamples {
    private let sample: Sample
    private var database: Database { sample.database }

    init() throws { sample = try Sample() }

    private func save(_ bodies: [JSONObject]) throws {
        try database.inBatch { for body in bodies { try database.save(MutableDocument(body)) } }
    }

    private func makePhones(_ version: String = "2", reduce: Reduce? = nil) throws -> DatabaseView {
        let view = database.view(named: "phones")
        view.setMap(version: version, reduce: reduce) { document, emit in
            for phone in document["phones"].array ?? [] {
                emit(Fragment(phone), document["name"])
            }
        }
        return view
    }

    private let people: [JSONObject] = [
        ["name": "Ann", "phones": ["555-1", "555-2"]], ["name": "Bob", "phones": ["555-3"]],
        ["name": "Cleo"],
    ]

    @Test func `a view emits a row for each phone number`() throws {
        try save(people)
        let rows = try makePhones().query().run()
        #expect(rows.map(\.key) == ["555-1", "555-2", "555-3"])
        #expect(rows.map(\.value) == ["Ann", "Ann", "Bob"])
        // A new document is in the index when the next query runs.
        try save([["name": "Dan", "phones": ["555-0"]]])
        #expect(try makePhones().query().run().first?.value == "Dan")
    }

    @Test func `another version of the map rebuilds the index`() throws {
        try save(people)
        let view = try makePhones()
        #expect(try view.query().run().count == 3)
        view.setMap(version: "3") { document, emit in emit(document["name"]) }
        #expect(try view.query().run().map(\.key) == ["Ann", "Bob", "Cleo"])
    }

    @Test func `a reduce counts the rows, of all or of a range`() throws {
        try save(people)
        let view = try makePhones(reduce: .count)
        #expect(try view.query().run().first?.value == 3)
        var query = view.query()
        query.startKey = "555-2"
        #expect(try query.run().first?.value == 2)
    }

    @Test func `a reduce of one's own is told when it combines reduced values`() throws {
        try save((0..<600).map { ["name": "n", "phones": [.string("555-\($0)")]] })
        let counting = Reduce.custom { _, values, isRereduce in
            if isRereduce { return try Reduce.total(of: values) }
            return .integer(Int64(values.count))
        }
        #expect(try makePhones(reduce: counting).query().run().first?.value == 600)
    }

    @Test func `a reduce that totals up numbers is the same for rows and for reduced values`()
        throws
    {
        try save((1...600).map { ["price": .double(Double($0) / 4)] })
        let view = database.view(named: "prices")
        let totalling = Reduce.custom { _, values, _ in
            var total = 0.0
            for value in values { total += value.double ?? 0 }
            return .double(total)
        }
        view.setMap(version: "1", reduce: totalling) { document, emit in
            emit(document["price"], document["price"])
        }
        #expect(try view.query().run().first?.value?.double == 45_075)
        let utility = Reduce.custom { _, values, _ in try Reduce.total(of: values) }
        view.setMap(version: "2", reduce: utility) { document, emit in
            emit(document["price"], document["price"])
        }
        #expect(try view.query().run().first?.value?.double == 45_075)
    }

    @Test func `the latest twenty are a descending query with a limit`() throws {
        try save((10..<40).map { ["date": .string("2026-01-\($0)")] })
        let view = database.view(named: "postsByDate")
        view.setMap(version: "1") { document, emit in emit(document["date"]) }
        var query = view.query()
        query.descending = true
        query.limit = 20
        let rows = try query.run()
        #expect(rows.count == 20)
        #expect(rows.first?.key == "2026-01-39" && rows.last?.key == "2026-01-20")
    }

    @Test func `a query starts at a key and stops after a limit`() throws {
        try save(["k", "m", "n", "z"].map { ["widget": .string($0), "price": 2.5] })
        let view = database.view(named: "widgetsByName")
        view.setMap(version: "1") { document, emit in emit(document["widget"], document["price"]) }
        var query = view.query()
        query.startKey = "m"
        query.limit = 2
        let rows = try query.run()
        #expect(rows.map(\.key) == ["m", "n"])
        #expect(rows.allSatisfy { $0.value?.double == 2.5 })
    }

    @Test func `a result says whether it is stale, and equals one with the same rows`() throws {
        try save(people)
        let view = try makePhones()
        let first = try view.query().run()
        #expect(try !first.isStale)
        try save([["name": "without"]])
        #expect(try first.isStale)
        let second = try view.query().run()
        #expect(first == second)
        try save([["name": "Eve", "phones": ["555-9"]]])
        #expect(try view.query().run() != second)
    }

    @Test func `a descending range goes from its higher key to its lower one`() throws {
        try save([80, 90, 95, 100, 110].map { ["score": .integer($0)] })
        let view = database.view(named: "byScore")
        view.setMap(version: "1") { document, emit in emit(document["score"]) }
        var query = view.query()
        query.descending = true
        query.startKey = 100
        query.endKey = 90
        #expect(try query.run().map(\.key) == [100, 95, 90])
    }

    @Test func `all keys with the same first item are a range up to an object`() throws {
        try save(
            [["red", "a"], ["red", "b"], ["green", "c"], ["rose", "d"]].map {
                ["color": .string($0[0]), "model": .string($0[1])]
            })
        let view = database.view(named: "carsByColorAndModel")
        view.setMap(version: "1") { document, emit in
            let key = [document["color"], document["model"]].map { $0.value ?? .null }
            emit(JSONValue.array(key))
        }
        var query = view.query()
        query.startKey = ["red"]
        query.endKey = ["red", [:]]
        #expect(try query.run().map { $0.key(at: 1) } == ["a", "b"])
    }

    @Test func `one view gives the orders of a month and their average`() throws {
        let orders: [(String, JSONValue)] = [
            ("2013-12-31", 5), ("2014-01-01", 10), ("2014-01-20", 30), ("2014-02-01", 99),
        ]
        try save(orders.map { ["date": .string($0.0), "price": $0.1] })
        let view = database.view(named: "ordersByDate")
        view.setMap(version: "1", reduce: .average) { document, emit in
            emit(document["date"], document["price"])
        }
        var query = view.query()
        query.startKey = "2014-01-01"
        query.endKey = "2014-02-01"
        query.inclusiveEnd = false
        query.mapOnly = true
        #expect(try query.run().map(\.value) == [10, 30])
        query.mapOnly = false
        #expect(try query.run().first?.value?.double == 20)
    }

    @Test func `grouping by level gives each album and its time`() throws {
        let tracks: [[String]] = [
            ["Mope-Rock", "Radiohead", "OK Computer", "Airbag"],
            ["Mope-Rock", "Radiohead", "OK Computer", "Lucky"],
            ["Mope-Rock", "Radiohead", "Kid A", "Idioteque"],
            ["Mope-Rock", "Other", "Album", "Track"],
        ]
        try save(tracks.map { ["path": .array($0.map { .string($0) }), "time": 100] })
        let view = database.view(named: "hierarchy")
        view.setMap(version: "1", reduce: .sum) { document, emit in
            emit(document["path"], document["time"])
        }
        var query = view.query()
        query.groupLevel = 3
        query.startKey = ["Mope-Rock", "Radiohead"]
        query.endKey = ["Mope-Rock", "Radiohead", [:]]
        let rows = try query.run()
        #expect(rows.map { $0.key(at: 2) } == ["Kid A", "OK Computer"])
        #expect(rows.map { $0.value?.double } == [100, 200])
    }
}
