// SPDX-License-Identifier: Apache-2.0

import DivanLMDB
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Testing

/// Soak slices: 4.
@Suite struct LMDBEngineConformanceTests {
    private let randomness = EngineUnderTest.Randomness(
        seed: Soak.seed, rounds: Soak.rounds(test: 200, soak: 5_000))

    @Test(arguments: StorageConformance.facts)
    func `an engine on LMDB conforms`(_ fact: StorageConformance.Fact) throws {
        let scratch = try ScratchDirectory()
        try fact.check(
            on: EngineUnderTest(
                isPersistent: true, randomness: randomness,
                makeDirectory: { try scratch.makeDirectory() },
                open: { try LMDBEngine(directory: $0) }))
    }
}
