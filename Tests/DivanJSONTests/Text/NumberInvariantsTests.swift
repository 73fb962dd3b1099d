// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanJSON

@Suite struct NumberInvariantsTests {
    @Test func `compact decimals are the doubles that they stand for, in one form`() {
        for round in Soak.rounds(test: 5_000, soak: 1_000_000) {
            var random = Soak.random(round: round, salt: 0xDEC)
            let mantissa = random.next() >> UInt64(16 + random.below(48))
            let exponent = random.below(60) - 30
            let made = CompactDecimal(
                mantissa: mantissa, exponent: exponent, isNegative: random.oneIn(2))
            made?.checkInvariants()
            CompactDecimal(Double(bitPattern: random.next()))?.checkInvariants()
            CompactDecimal(Double(random.below(2_000_000) - 1_000_000) / 1_000)?.checkInvariants()
        }
        for zero in [0.0, -0.0] { CompactDecimal(zero)?.checkInvariants() }
    }

    @Test func `numbers taken apart order as their doubles and digits do`() {
        for round in Soak.rounds(test: 5_000, soak: 1_000_000) {
            var random = Soak.random(round: round, salt: 0xE8AC)
            let (left, right) = (Self.number(&random), Self.number(&random))
            ExactNumber(left).checkInvariants(with: ExactNumber(right))
        }
        let odd: [JSONValue] = [
            .double(.nan), .double(-.nan), .double(.infinity), .double(-.infinity), 0,
            .double(-0.0), .double(.leastNonzeroMagnitude), .double(.greatestFiniteMagnitude),
        ]
        for left in odd {
            for right in odd { ExactNumber(left).checkInvariants(with: ExactNumber(right)) }
        }
    }

    private static func number(_ random: inout SeededRandom) -> JSONValue {
        switch random.below(6) {
        case 0: return .integer(Int64(bitPattern: random.next() >> UInt64(random.below(64))))
        case 1: return .unsigned(random.next() | 1 << 63)
        case 2: return .double(Double(bitPattern: random.next()))
        case 3: return .integer(1 << 53 + Int64(random.below(4)))
        default:
            let digits = (0...random.below(30)).map { _ in String(random.below(10)) }.joined()
            let sign = random.oneIn(2) ? "-" : ""
            let exponent = random.element(of: [0, 1, -1, 20, -340, -324, 290, 309, 400])
            let text = "\(sign)1\(digits)e\(exponent)"
            return BigNumber(text).map { .number($0) } ?? .double(Double(text) ?? 0)
        }
    }
}
