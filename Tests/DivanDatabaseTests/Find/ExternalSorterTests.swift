// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
@testable import DivanQuery
import DivanIndex
import DivanTestSupport
import Testing

/// Sorting gives the same order whether or not it has to write to a file.
@Suite struct ExternalSorterTests {
    private static func items(_ count: Int, _ random: inout SeededRandom)
        -> [ExternalSorter.Item]
    {
        (0..<count).map { number in
            let key = (0..<random.below(12)).map { _ in UInt8(random.below(256)) }
            return ExternalSorter.Item(
                key: key, payload: Array(repeating: UInt8(number % 251), count: random.below(300)))
        }
    }

    private static func sorted(_ sorter: inout ExternalSorter) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try sorter.forEach {
            keys.append($0.key)
            return true
        }
        return keys
    }

    @Test func `runs that went to a file are merged in order`() throws {
        for round in Soak.rounds(test: 20, soak: 500) {
            var random = Soak.random(round: round, salt: 0x50F7)
            let items = Self.items(random.below(3_000), &random)
            var sorter = ExternalSorter(memory: 20_000)
            for item in items { try sorter.add(item) }
            let expected = items.map { $0.key }.sorted { $0.precedes($1) }
            let isLarge = items.count > 500
            #expect(sorter.spilledRuns > 0 || !isLarge, "round \(round)")
            #expect(try Self.sorted(&sorter) == expected, "round \(round)")
        }
    }

    @Test func `a payload longer than a piece of the file comes back whole`() throws {
        var sorter = ExternalSorter(memory: 1_000)
        for number in [3, 1, 2] as [UInt8] {
            try sorter.add(
                ExternalSorter.Item(
                    key: [number], payload: Array(repeating: number, count: 700_000)))
        }
        var lengths: [Int] = []
        try sorter.forEach { item in
            #expect(item.payload.allSatisfy { $0 == item.key[0] })
            lengths.append(item.payload.count)
            return true
        }
        #expect(lengths == [700_000, 700_000, 700_000])
    }

    @Test func `with a limit the first items are kept and nothing is written`() throws {
        var random = Soak.random(round: 0, salt: 0x50F8)
        let items = Self.items(20_000, &random)
        var sorter = ExternalSorter(limit: 5, memory: 1 << 20)
        for item in items { try sorter.add(item) }
        #expect(sorter.spilledRuns == 0)
        let expected = items.map { $0.key }.sorted { $0.precedes($1) }
        #expect(try Array(Self.sorted(&sorter).prefix(5)) == Array(expected.prefix(5)))
    }
}
