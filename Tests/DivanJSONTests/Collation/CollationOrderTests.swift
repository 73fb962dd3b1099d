// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanPlatform
import DivanTestSupport
import Testing

@Suite struct CollationOrderTests {
    private let order = CollationSamples.order(.unicode)

    /// Every value stands before all that follow it.
    private func expectAscending(_ values: [JSONValue], _ order: ValueOrder) {
        for (index, left) in values.enumerated() {
            #expect(order.compare(left, left) == 0)
            for right in values[(index + 1)...] {
                #expect(order.compare(left, right) < 0, "\(left) before \(right)")
                #expect(order.compare(right, left) > 0, "\(right) after \(left)")
            }
        }
    }

    @Test func `every pair of types has its order`() {
        expectAscending([nil, false, true, -1, "", [], [:]], order)
        expectAscending([nil, false, true, -1, "", [], [:]], CollationSamples.order(.ascii))
        expectAscending([-1, false, nil, true, [:], [], ""], CollationSamples.order(.raw))
    }

    @Test func `the worked example of the documentation holds`() {
        expectAscending(
            [
                nil, false, -1, 1, 1.0, 9_007_199_254_740_993, "", "~", "a", "A", "\u{E1}", "ab",
                ["a"], ["a", nil], ["b"], [:], ["a": 2], ["b": 1],
            ], order)
    }

    @Test func `an empty object ends the range of the arrays`() {
        expectAscending(
            [["2026"], ["2026", "~"], ["2026", ["z"]], ["2026", [:]], ["2027"]], order)
    }

    @Test func `letters decide before accents and accents before case`() {
        expectAscending(
            ["resume", "Resume", "r\u{E9}sum\u{E9}", "R\u{E9}sum\u{E9}", "resumes"], order)
    }

    @Test func `symbols sort before digits and digits before letters`() {
        expectAscending(["~", "0", "a", "A", "b", "B", "\u{3B1}", "\u{3042}", "\u{4E2D}"], order)
    }

    @Test func `canonically equal texts tie and their bytes decide`() {
        expectAscending(["e\u{301}", "\u{E9}"], order)
        #expect(!order.collatesAsEqual("e\u{301}", "\u{E9}"))
        expectAscending(["", "\u{1}", "\u{1}\u{1}"], order)
    }

    @Test func `numbers compare exactly around two to the 53rd`() {
        expectAscending(
            [
                -9_007_199_254_740_993, -9_007_199_254_740_992, .double(-9_007_199_254_740_992),
                9_007_199_254_740_991, 9_007_199_254_740_992, .double(9_007_199_254_740_992),
                9_007_199_254_740_993, 9_007_199_254_740_994, .double(9_007_199_254_740_994),
            ], order)
    }

    @Test func `numbers compare exactly at the limits of their representations`() throws {
        expectAscending(
            [
                try big("-1e401"), try big("-1e400"), .double(-.greatestFiniteMagnitude),
                try big("-9223372036854775809"), .integer(.min), .double(-0x1p63),
                .double(-.leastNonzeroMagnitude), 0, -0.0, 0.0, .double(.leastNonzeroMagnitude),
                0.1,
                .integer(.max), .unsigned(1 << 63), .double(0x1p63), .unsigned(.max),
                .double(0x1p64), try big("18446744073709551616"), try big("18446744073709551617"),
                .double(.greatestFiniteMagnitude), try big("1.8e308"), try big("10e399"),
                try big("1E400"), try big("1e400"), try big("1.0000000000000000000001e400"),
            ], order)
    }

    @Test func `infinities and not-a-number have a place though JSON lacks them`() throws {
        let values: [JSONValue] = [
            .double(-.nan), .double(-.infinity), try big("-1e401"), 0, try big("1e401"),
            .double(.infinity), .double(.nan),
        ]
        expectAscending(values, order)
        for value in values {
            let (key, forms) = CollationSamples.encoding(value)
            let plain = try CollationSamples.coder(.unicode).decode(key.span)
            #expect(try CollationSamples.coder(.unicode).restoring(plain, forms.span) == value)
        }
    }

    @Test func `integers and doubles of one value collate as equal`() {
        #expect(order.collatesAsEqual(1, 1.0))
        #expect(order.collatesAsEqual(0, -0.0))
        #expect(order.collatesAsEqual([1, ["a": 2]], [1.0, ["a": 2.0]]))
        #expect(!order.collatesAsEqual(9_007_199_254_740_993, .double(9_007_199_254_740_992)))
        #expect(!order.collatesAsEqual("a", "A"))
    }

    @Test func `ties of numbers are broken when all else is equal`() {
        expectAscending(
            [[1, "a"], [1.0, "a"], [1, "b"], [1.0, "b"], [2, 1.0], [2.0, 1]], order)
        expectAscending([["k": [1.0, 1]], ["k": [1, 2]], ["k": [1.0, 2]]], order)
        #expect(order.collate([1.0, "a"], [1, "b"]) < 0)
        #expect(order.collate([1.0, "a"], [1, "a"]) == 0)
    }

    @Test func `objects compare by sorted keys and then values`() {
        expectAscending([[:], ["a": 1], ["a": 1, "b": 1], ["a": 2], ["b": 1]], order)
        #expect(order.compare(["a": 1, "b": 2], ["b": 2, "a": 1]) == 0)
    }

    @Test(arguments: Collation.allCases)
    func `integers compare with doubles as 128 bits do`(_ collation: Collation) {
        let order = CollationSamples.order(collation)
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 53)
            let integer = Int64.random(in: .min ... .max, using: &generator)
            let nearest = Double(integer)
            let nearby: [Double] = [nearest, nearest.nextUp, nearest.nextDown]
            let double = nearby[Int.random(in: 0..<3, using: &generator)]
            // An integer that is not above the double's floor is below it, or ties and comes first.
            let isAbove = Int128(integer) > Int128(double.rounded(.down))
            let sign = order.compare(.integer(integer), .double(double)).signum()
            #expect(sign == (isAbove ? 1 : -1))
        }
    }

    private func big(_ text: String) throws -> JSONValue {
        .number(try #require(BigNumber(text)))
    }
}
