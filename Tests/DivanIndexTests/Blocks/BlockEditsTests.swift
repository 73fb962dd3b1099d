// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanIndex

struct BlockEditsTests {
    @Test func `edits are sorted by their keys, however many and however alike`() {
        for round in Soak.rounds(test: 100, soak: 20_000) {
            var random = Soak.random(round: round, salt: 0x50B7)
            let count = [2, 8, 9, 63, 64, 65, 500, 3_000].randomElement(using: &random) ?? 2
            let maker = random.below(5)
            var keys: Set<[UInt8]> = []
            for _ in 0..<count { keys.insert(Self.key(maker, &random)) }
            // A set is in no order, and in another one in each process.
            let shuffled = keys.sorted { $0.precedes($1) }.shuffled(using: &random)
            var (edits, bytes) = (BlockEdits(), [UInt8]())
            for key in shuffled { edits.append(.put, key: key, value: [1, 2], to: &bytes) }
            edits.sort(in: bytes)
            let sorted = edits.edits.map { Array(bytes[$0.key]) }
            #expect(sorted == shuffled.sorted { $0.precedes($1) }, "round \(round)")
            #expect(edits.edits.allSatisfy { Array(bytes[$0.value]) == [1, 2] }, "round \(round)")
        }
    }

    @Test func `edits that come in order stay as they are`() {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        for number in 0..<2_000 {
            let key = Array("a long beginning \(10_000 + number)".utf8)
            edits.append(.put, key: key, value: [], to: &bytes)
        }
        let starts = edits.edits.map(\.start)
        edits.sort(in: bytes)
        #expect(edits.edits.map(\.start) == starts)
    }

    @Test(arguments: [3, 20, 500]) func `edits of one key stay in the order in which they came`(
        count: Int
    ) {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        for number in 0..<count {
            for key in [[2], [1], Array(repeating: 7, count: 100)] as [[UInt8]] {
                edits.append(
                    .put, key: key, value: [UInt8(number >> 8), UInt8(number & 0xFF)], to: &bytes)
            }
        }
        edits.sort(in: bytes)
        let sorted = edits.edits.map { Array(bytes[$0.key]) }
        #expect(sorted.elementsEqual(sorted.sorted { $0.precedes($1) }))
        for (edit, next) in zip(edits.edits, edits.edits.dropFirst())
        where bytes[edit.key] == bytes[next.key] {
            #expect(Array(bytes[edit.value]).precedes(Array(bytes[next.value])))
        }
    }

    /// Keys of one kind: short and random, behind one of a few beginnings, behind a beginning that is longer
    /// than what is counted, such that begin each other, and such that differ only in zeros at the end.
    private static func key(_ maker: Int, _ random: inout SeededRandom) -> [UInt8] {
        func some(_ most: Int) -> [UInt8] {
            (0..<random.below(most + 1)).map { _ in UInt8(random.below(256)) }
        }
        return switch maker {
        case 0: some(4)
        case 1: [UInt8](repeating: 7, count: 6 + random.below(4)) + some(12)
        case 2: [UInt8](repeating: 9, count: 70) + some(8)
        case 3: [UInt8](repeating: 1, count: random.below(500)) + some(2)
        default: [UInt8(random.below(3))] + [UInt8](repeating: 0, count: random.below(1_000))
        }
    }
}
