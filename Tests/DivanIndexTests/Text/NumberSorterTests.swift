// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanIndex

/// Numbers of documents of all lengths, sorted by one sorter.
@Suite struct NumberSorterTests {
    @Test func `numbers are sorted as by comparing, whatever their count and size`() {
        var random = SeededRandom(seed: 5)
        var sorter = NumberSorter()
        for _ in 0..<400 {
            let width = UInt64(random.below(65))
            let numbers = (0..<random.below(random.oneIn(9) ? 5_000 : 200)).map { _ in
                width == 0 ? 7 : random.next() >> (64 - width)
            }
            var sorted = numbers
            sorter.sort(&sorted)
            #expect(sorted == numbers.sorted())
        }
    }

    @Test func `what agrees above the given bits keeps its order`() {
        var random = SeededRandom(seed: 6)
        var sorter = NumberSorter()
        for count in [0, 1, 63, 64, 65, 3_000] {
            let terms = (0..<count).map { _ in UInt32(random.below(1 << 20)) }
            var occurrences = terms.enumerated().map {
                DocumentTerms.occurrence(of: $0.element, at: UInt64($0.offset))
            }
            let expected = occurrences.sorted()
            sorter.sort(&occurrences, below: DocumentTerms.placeBits)
            #expect(occurrences == expected)
        }
    }
}
