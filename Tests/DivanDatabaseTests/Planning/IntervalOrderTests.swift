// SPDX-License-Identifier: Apache-2.0

import DivanIndex
import DivanJSON
import DivanPlatform
import DivanTestSupport
import Testing

@testable import DivanQuery

/// Intervals of one collation in the order of another one: they have the same values, or more.
@Suite struct IntervalOrderTests {
    private static func edge(_ random: inout SeededRandom) -> ValueInterval.Edge {
        switch random.below(6) {
        case 0: .open
        case 1: .type(of: RandomSelector.value(1, &random))
        default: .value(RandomSelector.value(1, &random), isIncluded: random.oneIn(2))
        }
    }

    private static func interval(_ random: inout SeededRandom) -> ValueInterval {
        switch random.below(10) {
        case 0: .exactly(RandomSelector.value(1, &random))
        case 1: .type(of: RandomSelector.value(1, &random))
        case 2: .missing
        default: .values(from: edge(&random), to: edge(&random))
        }
    }

    private static func contains(
        _ value: JSONValue, _ intervals: [ValueInterval], _ collation: Collation
    ) -> Bool {
        let coder = RowKeyCoder(collation, strings: ICUCollator.root)
        var key: [UInt8] = []
        coder.append(value, to: &key)
        return coder.ranges(of: intervals).ranges.contains { $0.contains(key) }
    }

    @Test func `intervals have the same values in every order, or more`() {
        var exact = 0
        for round in Soak.rounds(test: 4_000, soak: 400_000) {
            var random = Soak.random(round: round, salt: 0x0DE5)
            let (order, other) = (
                random.element(of: Collation.allCases), random.element(of: Collation.allCases)
            )
            let intervals = (0..<random.below(2) + 1).map { _ in Self.interval(&random) }
            let translated = intervals.translated(from: order, to: other)
            if translated.isExact { exact += 1 }
            for _ in 0..<12 {
                let value = RandomSelector.value(1, &random)
                let isInside = Self.contains(value, intervals, order)
                let isFound = Self.contains(value, translated.intervals, other)
                #expect(isFound || !isInside, "round \(round): \(value)")
                if translated.isExact { #expect(isFound == isInside, "round \(round): \(value)") }
            }
        }
        #expect(exact > 0)
    }
}
