// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanIndex
@testable import DivanQuery

/// Conditions of thousands of values and alternatives: they find what they should, and planning them takes no product of
/// their numbers.
@Suite struct LargeConditionTests {
    private static func key(_ number: Int) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 0xFF)]
    }

    private static func ranges(_ random: inout SeededRandom) -> KeyRanges {
        KeyRanges(
            (0..<random.below(8)).map { _ in
                let lower = random.below(40)
                return RowRange(
                    lower: random.oneIn(8) ? nil : key(lower),
                    upper: random.oneIn(8) ? nil : key(lower + random.below(12)))
            })
    }

    @Test func `the intersection of ranges has the keys that are in both`() {
        for round in 0..<2_000 {
            var random = SeededRandom(seed: UInt64(round))
            let (one, other) = (Self.ranges(&random), Self.ranges(&random))
            let both = one.intersection(other)
            for number in 0..<60 {
                let key = Self.key(number)
                func has(_ ranges: KeyRanges) -> Bool {
                    ranges.ranges.contains { $0.contains(key) }
                }
                #expect(has(both) == (has(one) && has(other)), "round \(round), key \(number)")
            }
        }
    }

    @Test func `many ranges are intersected in one pass`() {
        func points(_ step: Int) -> KeyRanges {
            KeyRanges((0..<60_000).map { RowRange(prefix: Self.wide(step * $0)) })
        }
        // Of every pair there would be 3,600 million.
        let both = points(2).intersection(points(3))
        #expect(both.ranges.count == 20_000)
    }

    private static func wide(_ number: Int) -> [UInt8] {
        [UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    private func filled() throws -> Database {
        let database = try Database.inMemory()
        try database.inBatch {
            for number in 0..<600 {
                try database.create(
                    "d\(number)",
                    ["a": .integer(Int64(number % 40)), "b": .integer(Int64(number % 70)), "c": 1])
            }
        }
        return database
    }

    private func numbers(_ range: some Sequence<Int>) -> JSONValue {
        .array(range.map { .integer(Int64($0)) })
    }

    @Test func `products of values are read as one range for each beginning`() throws {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "a", "b"))
        let query = try database.find(selector: [
            "a": ["$in": numbers(0..<300)],
            "b": ["$in": numbers(stride(from: 0, to: 4_000, by: 2))],
        ])
        let found = try query.run()
        #expect(found.count == (0..<600).count { $0 % 70 % 2 == 0 })
    }

    @Test func `thousands of conditions beside thousands of alternatives are planned`() throws {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "a"))
        let others: [JSONValue] = (0..<3_000).map { ["c\($0)": ["$exists": false]] }
        let alternatives: [JSONValue] = (0..<3_000).map { ["a": .integer(Int64($0 * 2))] }
        let query = try database.find(selector: [
            "$and": .array(others), "$or": .array(alternatives),
        ])
        #expect(try query.run().count == 300)
    }

    @Test func `a long list of values beside alternatives is not looked at for each of them`()
        throws
    {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "a"))
        try database.createIndex(PropertyIndex(on: "b", "a"))
        let alternatives: [JSONValue] = (0..<5_000).map { ["b": .integer(Int64($0)), "c": 1] }
        let absent = try database.find(selector: [
            "a": ["$in": numbers(1_000..<11_000)], "$or": .array(alternatives),
        ])
        #expect(try absent.run().isEmpty)
        let present = try database.find(selector: [
            "a": ["$in": numbers(0..<10_000)], "$or": .array(alternatives),
        ])
        #expect(try present.run().count == 600)
    }

    @Test func `thousands of conditions on one property are joined by halves`() throws {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "a"))
        let unequal: [JSONValue] = (20..<8_000).map { ["a": ["$ne": .integer(Int64($0))]] }
        #expect(try database.find(selector: ["$and": .array(unequal)]).run().count == 300)
    }

    @Test func `many elements of an array are looked at with other conditions up to a bound`()
        throws
    {
        let database = try filled()
        try database.createIndex(PropertyIndex(on: "t[]", "a"))
        let conditions: [JSONValue] = (0..<4_000).map { ["c\($0)": ["$exists": false]] }
        let elements = JSONValue.array((0..<4_000).map { .integer(Int64($0)) })
        try database.create("all", ["t": elements, "a": 1])
        let query = try database.find(selector: [
            "$and": .array(conditions), "t": ["$all": elements],
        ])
        #expect(try query.run().map(\.id) == ["all"])
    }

    @Test func `a long list of values finds what comparing with each finds`() throws {
        let values: [JSONValue] = [
            0, 1, .double(1), -1, 2.5, true, false, .null, "a", "A", "\u{e9}", "e\u{301}", "",
            [], [1], ["a"], [:], ["k": 1], 9_007_199_254_740_993, 9_007_199_254_740_992,
        ]
        for round in 0..<400 {
            var random = SeededRandom(seed: UInt64(round))
            let operands = (0..<9 + random.below(12)).map { _ in
                SelectorOperand(random.element(of: values))
            }
            let few = operands.map { SelectorOperands([$0]) }
            let many = SelectorOperands(operands)
            let list = JSONValue.array(
                (0..<random.below(25)).map { _ in random.element(of: values) })
            for value in values + [list] {
                let packed = PackedValue(value)
                #expect(
                    many.hasOne(of: packed) == few.contains { $0.hasOne(of: packed) },
                    "round \(round)")
            }
            let packed = PackedValue(list)
            let each = operands.allSatisfy { operand in packed.containsElement(operand.isEqual(to:))
            }
            #expect(many.areAll(in: packed) == each, "round \(round)")
        }
    }
}
