// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanQuery

/// Sums and means are exact until they are rounded once, and so do not depend on the order.
@Suite struct ExactSumTests {
    private func sum(_ values: [JSONValue]) -> ExactSum {
        var sum = ExactSum()
        for value in values { _ = sum.add(value) }
        return sum
    }

    private func sum(_ values: [Double]) -> JSONValue { sum(values.map { .double($0) }).value }

    @Test func `doubles are rounded once, to the nearest`() {
        #expect(sum(Array(repeating: 0.1, count: 10)) == 1.0)
        #expect(sum([1e100, 1, -1e100]) == 1.0)
        #expect(sum([0.1, 0.2, 0.3]) == 0.6)
        // A half goes to the even side, unless anything comes behind it.
        #expect(sum([0x1p53, 1]) == .double(0x1p53))
        #expect(sum([0x1p53, 1, .leastNonzeroMagnitude]) == .double(0x1p53 + 2))
        #expect(sum([-0x1p53, -1, -.leastNonzeroMagnitude]) == .double(-0x1p53 - 2))
        #expect(sum([-0.0, -0.0]) == 0.0)
        #expect(sum([1e-300, -1e-300]) == 0.0)
    }

    @Test func `the least and the greatest doubles are added`() {
        let (least, greatest) = (Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude)
        #expect(sum([least, least, least]) == .double(3 * least))
        #expect(sum([.leastNormalMagnitude, -least]) == .double(.leastNormalMagnitude.nextDown))
        // What is between may be beyond all doubles.
        #expect(sum([greatest, greatest, -greatest]) == .double(greatest))
        #expect(sum([greatest, greatest, -greatest, -greatest, least]) == .double(least))
        #expect(sum([greatest, greatest]) == JSONValue.null)
        let two = sum([.double(greatest), .double(greatest)] as [JSONValue])
        #expect(two.mean(of: 2) == .double(greatest))
        #expect(sum([.infinity, 1]) == JSONValue.null)
        #expect(sum([.infinity, -.infinity]) == JSONValue.null)
    }

    @Test func `integers stay integers while they fit, and lose no digit beside doubles`() {
        #expect(sum([.integer(.max), 1, -1]).value == .integer(.max))
        #expect(sum([.integer(.max), 1]).value == .unsigned(1 << 63))
        #expect(sum([.unsigned(.max), -1]).value == .unsigned(.max - 1))
        #expect(sum([.unsigned(.max), 1]).value == .double(0x1p64))
        #expect(sum([.integer(.min), -1]).value == .double(-0x1p63))
        #expect(sum([.integer(.max), 0.5, .integer(-.max)]).value == 0.5)
        #expect(sum([.integer(.min), 0.25, .unsigned(1 << 63)]).value == 0.25)
        #expect(sum([1, 2, 2.0]).value == 5.0)
        #expect(
            sum([.integer(.max), .integer(.max)] as [JSONValue]).mean(of: 2) == .double(0x1p63))
        #expect(sum([JSONValue]()).value == 0)
    }

    @Test func `a random sum is the nearest double of the exact one, in any order`() {
        for round in Soak.rounds(test: 2_000, soak: 500_000) {
            var random = Soak.random(round: round, salt: 0x5A11)
            // Whole numbers of 2^-60 whose sum 128 bits hold.
            var (total, values): (Int128, [JSONValue]) = (0, [])
            for _ in 0..<random.below(40) + 1 {
                let shift = [0, 30, 60][random.below(3)]
                var whole = Int64(truncatingIfNeeded: random.next()) >> Int64(random.below(53) + 11)
                if random.oneIn(4) { whole = -whole }
                total += Int128(whole) << Int128(shift)
                let unit = Double(sign: .plus, exponent: shift - 60, significand: 1)
                values.append(.double(Double(whole) * unit))
            }
            let expected = JSONValue.double(Double(total) * 0x1p-60)
            #expect(sum(values).value == expected, "round \(round)")
            values.shuffle(using: &random)
            #expect(sum(values).value == expected, "round \(round)")
        }
    }
}
