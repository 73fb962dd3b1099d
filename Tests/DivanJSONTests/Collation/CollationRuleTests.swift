// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

/// The rules of `Collation`, by their numbers there, each with random values.
@Suite struct CollationRuleTests {
    private func sign(_ collation: Collation, _ left: JSONValue, _ right: JSONValue) -> Int {
        CollationSamples.order(collation).compare(left, right).signum()
    }

    private func collated(_ collation: Collation, _ left: JSONValue, _ right: JSONValue) -> Int {
        CollationSamples.order(collation).collate(left, right).signum()
    }

    /// A letter with an accent and a case, composed or not.
    private struct Letter {
        let base: Int
        let isAccented: Bool
        let isUpper: Bool
        let isComposed: Bool

        init(_ random: inout SeededRandom) {
            base = random.below(3)
            isAccented = random.oneIn(3)
            isUpper = random.oneIn(3)
            isComposed = random.oneIn(2)
        }

        var text: String {
            let plain = ["a", "e", "o"][base]
            let composed = ["\u{E1}", "\u{E9}", "\u{F3}"][base]
            let text = isAccented ? (isComposed ? composed : plain + "\u{301}") : plain
            return isUpper ? text.uppercased() : text
        }
    }

    @Test func `3: strings differ by letters, then by accents, then by case, then by bytes`() {
        for round in Soak.rounds(test: 3_000, soak: 200_000) {
            var random = Soak.random(round: round, salt: 0xC03)
            let words = (0..<2).map { _ in (0..<random.below(4)).map { _ in Letter(&random) } }
            let texts = words.map { $0.map(\.text).joined() }
            let levels = words.map { word in
                [
                    word.map(\.base), word.map { $0.isAccented ? 1 : 0 },
                    word.map { $0.isUpper ? 1 : 0 },
                ]
            }
            var expected = zip(levels[0], levels[1]).lazy.map(Self.order).first { $0 != 0 } ?? 0
            if expected == 0 { expected = Self.order(Array(texts[0].utf8), Array(texts[1].utf8)) }
            #expect(
                sign(.unicode, .string(texts[0]), .string(texts[1])) == expected,
                "\(texts), round \(round)")
        }
    }

    private static func order<T: Comparable>(_ left: [T], _ right: [T]) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1
    }

    @Test(arguments: Collation.allCases)
    func `4: arrays compare by the first items that differ, and a shorter one first`(
        _ collation: Collation
    ) {
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0xC04)
            let arrays = (0..<2).map { _ in
                (0..<random.below(4)).map { _ in RandomJSON.number(using: &random) }
            }
            let items = zip(arrays[0], arrays[1]).map { collated(collation, $0, $1) }
            let lengths = (arrays[0].count - arrays[1].count).signum()
            #expect(
                collated(collation, .array(arrays[0]), .array(arrays[1]))
                    == items.first { $0 != 0 } ?? lengths, "round \(round)")
        }
    }

    @Test(arguments: Collation.allCases)
    func `5: objects compare as the arrays of their pairs`(_ collation: Collation) {
        func pairs(_ object: JSONObject) -> JSONValue {
            let keys = object.keys.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
            return .array(keys.flatMap { [.string($0), object[$0] ?? nil] })
        }
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0xC05)
            let left = RandomJSON.object(depth: 2, using: &random)
            let varied = RandomJSON.variation(of: .object(left), using: &random)
            guard case .object(let right) = varied else { continue }
            #expect(
                sign(collation, .object(left), .object(right))
                    == sign(collation, pairs(left), pairs(right)), "round \(round)")
        }
    }

    @Test(arguments: Collation.allCases)
    func `6: ties of numbers are broken by the first of them, when all else is equal`(
        _ collation: Collation
    ) throws {
        let big = try ["10e400", "1e401", "1E401"].map { try #require(BigNumber($0)) }
        // Each is one number, its forms in their order.
        let forms: [[JSONValue]] = [
            [1, 1.0], [0, -0.0, 0.0], big.sorted { $0.text < $1.text }.map { .number($0) },
        ]
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0xC06)
            let numbers = (0..<4).map { _ in random.element(of: forms) }
            let chosen = (0..<2).map { _ in numbers.map { random.below($0.count) } }
            func value(_ side: Int, _ last: JSONValue) -> JSONValue {
                var items = zip(numbers, chosen[side]).map { $0[$1] }
                items[3] = ["k": items[3]]
                return .array(items + [last])
            }
            let expected = Self.order(chosen[0], chosen[1])
            #expect(sign(collation, value(0, "x"), value(1, "x")) == expected, "round \(round)")
            #expect(collated(collation, value(0, "x"), value(1, "x")) == 0)
            #expect(sign(collation, value(0, "b"), value(1, "a")) == 1, "round \(round)")
        }
    }

    @Test(arguments: Collation.allCases)
    func `7: ties of strings are differences, before what follows them`(_ collation: Collation) {
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0xC07)
            let texts = ["\u{E9}", "e\u{301}"]
            let sides = (0..<2).map { _ in random.below(2) }
            let values = sides.map { side in
                JSONValue.array([.string(texts[side]), RandomJSON.value(using: &random)])
            }
            guard sides[0] != sides[1] else { continue }
            let expected = Self.order(Array(texts[sides[0]].utf8), Array(texts[sides[1]].utf8))
            #expect(sign(collation, values[0], values[1]) == expected)
            #expect(collated(collation, values[0], values[1]) == expected, "round \(round)")
        }
    }
}
