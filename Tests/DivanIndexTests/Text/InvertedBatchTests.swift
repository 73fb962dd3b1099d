// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@testable import DivanIndex

struct InvertedBatchTests {
    @Test(arguments: [UInt64(1) << 20, 1 << 36, 1 << 60])
    func `terms come in the order of their numbers, however large these are`(largest: UInt64) {
        for round in Soak.rounds(test: 20, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x1B41)
            var batch = EmissionBatch()
            let terms = Set((0..<200).map { _ in UInt32(random.below(500)) })
            batch.begin(DocumentID("d"))
            batch.appendValue { bytes in
                let occurrences = terms.map { DocumentTerms.occurrence(of: $0, at: 3) }
                DocumentTerms.append(occurrences.sorted(), to: &bytes)
            }
            batch.end()
            var inverted = InvertedBatch(batch, [(place: 0, ordinal: 7)])
            var numbers: Set<UInt64> = [largest]
            while numbers.count < 500 { numbers.insert(1 + random.next() % largest) }
            inverted.numbers = numbers.shuffled(using: &random)
            let expected = terms.map { Int($0) }.sorted {
                inverted.numbers[$0] < inverted.numbers[$1]
            }
            #expect(inverted.termsByNumber == expected, "round \(round)")
        }
    }
}
