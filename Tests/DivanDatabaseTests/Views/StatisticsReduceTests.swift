// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// The built-in statistics of what is no plain number: arrays, and statistics that were made elsewhere.
@Suite struct StatisticsReduceTests {
    private let database: Database

    init() throws { database = try Database.inMemory(named: "db") }

    private func value(_ reduce: Reduce, of values: [JSONValue]) throws -> JSONValue? {
        for (index, value) in values.enumerated() {
            try database.save(MutableDocument(["v": value], id: DocumentID("d\(index)")))
        }
        let view = database.view(named: "v")
        view.setMap(version: "1", reduce: reduce) { document, emit in
            emit(JSONValue.null, document["v"])
        }
        return try view.query().run().first?.value
    }

    /// The same in a database of its own, for tests of several reduces.
    private func fresh(_ reduce: Reduce, of values: [JSONValue]) throws -> JSONValue? {
        try StatisticsReduceTests().value(reduce, of: values)
    }

    private static func one(
        _ sum: Int64, _ count: Int64, _ least: Int64, _ most: Int64, _ squares: Int64
    )
        -> JSONValue
    {
        [
            "sum": .integer(sum), "count": .integer(count), "min": .integer(least),
            "max": .integer(most), "sumsqr": .integer(squares),
        ]
    }

    @Test func `arrays of numbers are counted place by place`() throws {
        let total = try value(.statistics, of: [[1, [10]], [2, [20]], [4, [-3]]])
        #expect(total == [Self.one(7, 3, 1, 4, 21), [Self.one(27, 3, -3, 20, 509)]])
    }

    @Test func `thousands of arrays have the statistics of all, however they are cut`() throws {
        let values = (1...3_000).map { JSONValue([.integer($0), 1]) }
        let total = try value(.statistics, of: values)
        #expect(
            total == [
                Self.one(4_501_500, 3_000, 1, 3_000, 9_004_500_500),
                Self.one(3_000, 3_000, 1, 1, 3_000),
            ])
    }

    @Test func `statistics that were made elsewhere count as the numbers that they are of`() throws
    {
        var made = Self.one(9, 2, 4, 5, 41)
        made["more"] = "x"
        #expect(try value(.statistics, of: [7, made, 1]) == Self.one(17, 4, 1, 7, 91))
    }

    @Test func `one value alone is the statistics of itself`() throws {
        #expect(try value(.statistics, of: [Self.one(9, 2, 4, 5, 41)]) == Self.one(9, 2, 4, 5, 41))
    }

    @Test func `an average of arrays is one of averages`() throws {
        #expect(try value(.average, of: [[1, 10], [3, 20]]) == [2.0, 15.0])
    }

    @Test func `extremes of integers are exact beyond what doubles hold`() throws {
        let values: [JSONValue] = [9_007_199_254_740_993, 9_007_199_254_740_992]
        #expect(try fresh(.minimum, of: values) == values[1])
        #expect(try fresh(.maximum, of: values) == values[0])
        #expect(try fresh(.maximum, of: values.reversed()) == values[0])
        #expect(try fresh(.maximum, of: [.double(0x1p53), values[0]]) == values[0])
    }

    @Test func `the deviation of large integers is exact, however they are cut`() throws {
        let start: Int64 = 1_700_000_000_001
        let few = (0..<3).map { JSONValue.integer(start + $0) }
        #expect(try fresh(.standardDeviation, of: few) == .double((2.0 / 3).squareRoot()))
        let many = (0..<3_000).map { JSONValue.integer(start + $0 % 2 * 4) }
        #expect(try fresh(.standardDeviation, of: many) == 2.0)
        let extremes = (0..<1_000).map { JSONValue.integer($0 % 2 == 0 ? .max : -.max) }
        #expect(try fresh(.standardDeviation, of: extremes) == .double(0x1p63))
    }

    @Test func `sums of large integers are shown as the nearest doubles`() throws {
        let most = JSONValue.integer(.max)
        let total = try #require(try fresh(.statistics, of: [most, most, .integer(-.max)]))
        #expect(total["sum"] == most)
        #expect(total["sumsqr"] == .double(3 * 0x1p126))
    }

    @Test func `sums beyond all doubles are null, and not taken for 0`() throws {
        var values = (0..<2_000).map { JSONValue.integer($0) }
        values[7] = .double(1e200)
        let total = try #require(try fresh(.statistics, of: values))
        #expect(total["sumsqr"] == .null)
        #expect(total["count"] == 2_000 && total["max"] == .double(1e200))
        #expect(try fresh(.standardDeviation, of: values) == .null)
        #expect(try fresh(.average, of: values)?.double == 1e200 / 2_000)
        values[7] = .double(1e308)
        values[8] = .double(1e308)
        #expect(try fresh(.statistics, of: values)?["sum"] == .null)
        #expect(try fresh(.average, of: values) == .null)
    }

    @Test(
        arguments: [
            [[1, 2], [1]], [[1], 1], [1, [1]], [["sum": 1]], ["a"], [["a"]], [true], [.null],
            [["sum": 1, "count": 1, "min": 1, "max": 1, "sumsqr": "x"]],
        ] as [[JSONValue]])
    func `values that do not go together have no statistics`(values: [JSONValue]) throws {
        #expect(throws: DatabaseError.self) { try value(.statistics, of: values) }
    }
}
