// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

@Suite struct ReduceTests {
    private let database: Database
    private let tracks: DatabaseView

    init() throws {
        database = try Database.inMemory()
        tracks = database.view(named: "tracks")
        setReduce(.sum)
    }

    private func setReduce(_ reduce: Reduce, version: String = "1") {
        tracks.setMap(version: version, reduce: reduce) { document, emit in
            emit(document["key"], document["seconds"])
        }
    }

    private func store(_ rows: [(JSONValue, JSONValue)]) throws {
        for (index, row) in rows.enumerated() {
            try database.create("t\(index)", ["key": row.0, "seconds": row.1])
        }
    }

    private func music() throws {
        try store([
            (["Mope-Rock", "Radiohead", "OK Computer", "Airbag"], 284),
            (["Mope-Rock", "Radiohead", "OK Computer", "Lucky"], 259),
            (["Mope-Rock", "Radiohead", "Kid A", "Idioteque"], 309),
            (["Mope-Rock", "The Smiths", "Meat Is Murder", "Well I Wonder"], 240),
            (["Jazz", "Monk", "Solo", "Ruby"], 300),
        ])
    }

    @Test func `a reduce gives one row for the range`() throws {
        try music()
        let rows = try tracks.query().run()
        #expect(rows.map(\.key) == [.null])
        #expect(rows.map(\.value) == [1_392])
        #expect(rows[0].documentID == nil)
        let jazz = try tracks.query(.range(from: ["Jazz"], through: ["Jazz", [:]])).run()
        #expect(jazz.map(\.value) == [300])
        #expect(try tracks.query(.range(from: ["Pop"], through: ["Pop", [:]])).run().isEmpty)
    }

    @Test func `map only gives the rows themselves`() throws {
        try music()
        var query = tracks.query()
        query.mapOnly = true
        #expect(try query.run().count == 5)
    }

    @Test func `group levels collapse keys to their beginnings`() throws {
        try music()
        var query = tracks.query(
            .range(from: ["Mope-Rock", "Radiohead"], through: ["Mope-Rock", "Radiohead", [:]]))
        query.groupLevel = 3
        let albums = try query.run()
        #expect(albums.map { $0.key(at: 2) } == ["Kid A", "OK Computer"])
        #expect(albums.map(\.value) == [309, 543])
        var genres = tracks.query()
        genres.groupLevel = 1
        #expect(try genres.run().map(\.key) == [["Jazz"], ["Mope-Rock"]])
        genres.descending = true
        #expect(try genres.run().map(\.value) == [1_092, 300])
        genres.groupLevel = 4
        #expect(try genres.run().count == 5)
        genres.groupLevel = 2
        genres.skip = 1
        genres.limit = 1
        #expect(try genres.run().map(\.key) == [["Mope-Rock", "Radiohead"]])
    }

    @Test func `a group level below zero is refused, and zero is no grouping`() throws {
        try music()
        var query = tracks.query()
        query.groupLevel = -1
        let error = #expect(throws: DatabaseError.self) { _ = try query.run() }
        #expect(error?.code == .invalidQuery)
        query.groupLevel = 0
        #expect(query.grouping == .none)
        #expect(try query.run().count == 1)
    }

    @Test(arguments: [1, 2, 3])
    func `keys that are no arrays are grouped by equality`(level: Int) throws {
        // Each value has a digit of its own, so a sum tells which rows it is of.
        try store([
            (nil, 1), (nil, 2), (false, 10), (true, 20), (7, 100), (7.0, 200), (8, 400),
            ("a", 1_000), ("a", 2_000), ("b", 4_000), (["x", 1, 1], 10_000), (["x", 1, 2], 20_000),
            (["x", 2, 1], 40_000), (["y": 1], 100_000), (["y": 1], 200_000), (["y": 2], 400_000),
        ])
        var query = tracks.query()
        query.groupLevel = level
        let rows = try query.run()
        let arrays = rows.filter { $0.key.array != nil }
        #expect(
            rows.filter { $0.key.array == nil }.map(\.key)
                == [nil, false, true, 7, 8, "a", "b", ["y": 1], ["y": 2]])
        #expect(
            rows.filter { $0.key.array == nil }.map(\.value)
                == [3, 10, 20, 300, 400, 3_000, 4_000, 300_000, 400_000])
        switch level {
        case 1: #expect(arrays.map(\.value) == [70_000])
        case 2: #expect(arrays.map(\.value) == [30_000, 40_000])
        default: #expect(arrays.map(\.value) == [10_000, 20_000, 40_000])
        }
        var exact = tracks.query()
        exact.grouping = .exact
        #expect(
            try exact.run().map(\.value)
                == [3, 10, 20, 300, 400, 3_000, 4_000, 10_000, 20_000, 40_000, 300_000, 400_000])
    }

    @Test func `groups of a view without a reduce have no value`() throws {
        tracks.setMap(version: "map only") { document, emit in emit(document["key"]) }
        try music()
        var query = tracks.query()
        query.groupLevel = 1
        let rows = try query.run()
        #expect(rows.map(\.key) == [["Jazz"], ["Mope-Rock"]])
        #expect(rows.map(\.value) == [nil, nil])
        #expect(try rows.first?.document() == nil)
    }

    @Test func `the built-ins agree with arithmetic`() throws {
        try store([(1, 2), (2, 4), (3, 4.5), (4, -1)])
        func value(_ reduce: Reduce, _ version: String) throws -> JSONValue? {
            setReduce(reduce, version: version)
            return try tracks.query().run().first?.value
        }
        #expect(try value(.count, "count") == 4)
        #expect(try value(.sum, "sum") == 9.5)
        #expect(try value(.minimum, "min") == -1)
        #expect(try value(.maximum, "max") == 4.5)
        #expect(try value(.average, "avg") == 2.375)
        let statistics = try #require(try value(.statistics, "stats"))
        #expect(statistics["sum"] == 9.5)
        #expect(statistics["count"] == 4)
        #expect(statistics["min"] == -1)
        #expect(statistics["max"] == 4.5)
        #expect(statistics["sumsqr"] == 41.25)
        let deviation = try #require(try value(.standardDeviation, "dev")?.double)
        #expect(abs(deviation - 2.161_452_5) < 1e-5)
    }

    @Test func `sums of integers are exact whatever the order and the steps`() throws {
        let most = JSONValue.integer(.max)
        try store([(1, most), (2, most), (3, most), (4, .integer(-.max)), (5, .integer(-.max))])
        #expect(try tracks.query().run().map(\.value) == [most])
        let beyond = try tracks.query(.range(from: 1, through: 3)).run()
        #expect(beyond.map(\.value) == [.double(3 * 0x1p63)])
        #expect(try tracks.query(.keys(1, 2)).run().map(\.value) == [.unsigned(.max - 1)])
        try database.update("t0") { $0["seconds"] = Fragment(-7) }
        #expect(try tracks.query().run().map(\.value) == [-7])
        try database.update("t0") { $0["seconds"] = Fragment(0.5) }
        try database.update("t1") { $0["seconds"] = Fragment(.unsigned(.max)) }
        #expect(try tracks.query(.keys(2)).run().map(\.value) == [.unsigned(.max)])
        #expect(try tracks.query(.range(from: 3)).run().map(\.value) == [.integer(-.max)])
        #expect(try database.problems() == [])
    }

    @Test func `stored sums and counts follow edits of every kind of value`() throws {
        var random = Soak.random(round: 0, salt: 0x5D3)
        for (version, reduce) in [("sum", Reduce.sum), ("count", .count)] {
            setReduce(reduce, version: version)
            _ = try tracks.query().run()
            for _ in 0..<12 {
                try database.inBatch {
                    for _ in 0..<60 {
                        let id: DocumentID = "d\(random.below(400))"
                        if random.oneIn(6), try database.contains(id) {
                            try database.delete(id)
                            continue
                        }
                        let value: JSONValue =
                            switch random.below(20) {
                            case 0: 1.5
                            case 1: .integer(.max - 3)
                            case 2: .unsigned(.max)
                            case 3: .integer(.min)
                            default: .integer(Int64(random.below(1_000)))
                            }
                        let document = try database.document(withID: id)?.toMutable()
                        let saved = document ?? MutableDocument(id: id)
                        saved.set(JSONValue.integer(Int64(random.below(50))), forKey: "key")
                        saved.set(value, forKey: "seconds")
                        try database.save(saved)
                    }
                }
                _ = try tracks.query().run()
                // Computes all reductions anew and compares them.
                #expect(try database.problems() == [])
            }
        }
    }

    @Test func `sums add arrays and objects of numbers and stay exact`() throws {
        try store([(1, [1, 2]), (2, [10, 20, 30]), (3, 5)])
        #expect(try tracks.query().run().first?.value == [16, 22, 30])
        for id in ["t0", "t1", "t2"] { try database.delete(DocumentID(id)) }
        try database.create("a", ["key": 1, "seconds": ["x": 1, "y": ["z": 2]]])
        try database.create("b", ["key": 2, "seconds": ["x": 9_007_199_254_740_992]])
        let sum = try #require(try tracks.query().run().first?.value)
        #expect(sum["x"] == 9_007_199_254_740_993)
        #expect(sum["y"]?["z"] == 2)
    }

    @Test func `an app's own reduce adds with the utility for that, exactly and with its errors`()
        throws
    {
        #expect(try Reduce.total(of: []) == 0)
        #expect(try Reduce.total(of: [1, 2.5, -1]) == 2.5)
        #expect(try Reduce.total(of: [9_007_199_254_740_992, 1]) == 9_007_199_254_740_993)
        #expect(try Reduce.total(of: [[1, 2], [10]]) == [11, 2])
        #expect(try Reduce.total(of: [["x": 1], ["x": 2, "y": 3]]) == ["x": 3, "y": 3])
        // Beyond 64 bits it keeps its digits, so that totals of totals are exact, too.
        let large: JSONValue = .integer(.max)
        let twice = try Reduce.total(of: [large, large, large])
        #expect(try Reduce.total(of: [twice, .integer(-.max), .integer(-.max)]) == large)
        // 128 bits do not hold it.
        let largest = JSONValue.number(try #require(BigNumber("\(Int128.max)")))
        #expect(try Reduce.total(of: [largest, largest]) == .double(0x1p128))
        let least = JSONValue.number(try #require(BigNumber("\(Int128.min)")))
        #expect(try Reduce.total(of: [least, -1]) == .double(-0x1p127))
        for bad: JSONValue in ["1", nil, true, .double(.infinity)] {
            #expect(code { try Reduce.total(of: [1, bad]) } == .invalidQuery)
        }
        // In a reduce that counts: rows are counted, counts are added.
        setReduce(
            .custom { _, values, isRereduce in
                isRereduce ? try Reduce.total(of: values) : .integer(Int64(values.count))
            }, version: "count")
        try store((0..<2_000).map { (.integer(Int64($0)), "no number") })
        #expect(try tracks.query().run().first?.value == 2_000)
        #expect(try tracks.query(.range(from: 10, through: 1_009)).run().first?.value == 1_000)
    }

    @Test func `a value that is no number is an error of the ranges that have it`() throws {
        try store([(1, 2), (2, "secret"), (3, 4)])
        let error = #expect(throws: DatabaseError.self) { try tracks.query().run() }
        #expect(error?.code == .invalidQuery)
        #expect(error?.message.contains("'tracks'") == true)
        #expect(error?.debugDescription.contains("secret") == false)
        #expect(try tracks.query(.keys(1)).run().first?.value == 2)
        try database.update("t1") { $0["seconds"] = 3 }
        #expect(try tracks.query().run().first?.value == 9)
    }

    @Test func `a custom reduce gets keys with values, and its own results again`() throws {
        let sawRereduce = Flag()
        let largest = Mutex(0)
        setReduce(
            .custom { keys, values, isRereduce in
                largest.withLock { $0 = max($0, values.count) }
                if isRereduce {
                    sawRereduce.set()
                    #expect(keys.isEmpty)
                    return .integer(values.reduce(0) { $0 + ($1.int64 ?? 0) })
                }
                #expect(keys.count == values.count)
                return .integer(Int64(keys.filter { $0.int64?.isMultiple(of: 2) ?? false }.count))
            }, version: "custom")
        try database.inBatch {
            for number in 0..<3_000 {
                try database.create("t\(number)", ["key": .integer(Int64(number))])
            }
        }
        #expect(try tracks.query().run().first?.value == 1_500)
        #expect(try tracks.query(.range(from: 10, through: 19)).run().first?.value == 5)
        #expect(sawRereduce.isSet)
        #expect(largest.withLock { $0 } <= 256)
    }

    @Test func `a reduction that grows with its rows is an error`() throws {
        setReduce(
            .custom { _, values, isRereduce in
                isRereduce ? .array(values.flatMap { $0.array ?? [] }) : .array(values)
            }, version: "grows")
        try database.inBatch {
            for number in 0..<1_000 {
                try database.create(
                    "t\(number)",
                    [
                        "key": .integer(Int64(number)),
                        "seconds": .string(String(repeating: "x", count: 300)),
                    ])
            }
        }
        let error = #expect(throws: DatabaseError.self) { try tracks.query().run() }
        #expect(error?.message.contains("must not grow") == true)
    }

    @Test func `a reduce function that changes the database gets an error`() throws {
        let database = database
        setReduce(
            .custom { _, _, _ in
                try database.create("made")
                return 1
            }, version: "writes")
        try store([(1, 1)])
        #expect(throws: DatabaseError.self) { try tracks.query().run() }
        #expect(try database.document(withID: "made") == nil)
    }

    @Test func `groups that make no sense are refused`() throws {
        var query = tracks.query()
        query.grouping = .level(0)
        #expect(throws: DatabaseError.self) { try query.run() }
        query = tracks.query(.keys(1, 2))
        query.groupLevel = 1
        #expect(throws: DatabaseError.self) { try query.run() }
    }
}

extension JSONValue {
    fileprivate var array: [JSONValue]? { if case .array(let array) = self { array } else { nil } }
}
