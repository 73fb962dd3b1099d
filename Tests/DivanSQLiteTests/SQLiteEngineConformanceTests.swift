// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Testing

/// Soak slices: 4.
@Suite struct SQLiteEngineConformanceTests {
    private let randomness = EngineUnderTest.Randomness(
        seed: Soak.seed, rounds: Soak.rounds(test: 200, soak: 5_000))

    @Test(arguments: StorageConformance.facts)
    func `an engine on files conforms`(_ fact: StorageConformance.Fact) throws {
        let scratch = try ScratchDirectory()
        try fact.check(
            on: EngineUnderTest(
                isPersistent: true, randomness: randomness,
                makeDirectory: { try scratch.makeDirectory() },
                open: { try SQLiteEngine(directory: $0) }))
    }

    @Test(arguments: StorageConformance.facts)
    func `an engine in memory conforms`(_ fact: StorageConformance.Fact) throws {
        let scratch = try ScratchDirectory()
        try fact.check(
            on: EngineUnderTest(
                isPersistent: false, randomness: randomness,
                makeDirectory: { try scratch.makeDirectory() },
                open: { directory in
                    // A copy lies on disk, so it is opened there.
                    try SQLiteEngineConformanceTests.holdsCopy(directory)
                        ? SQLiteEngine(directory: directory) : SQLiteEngine.inMemory()
                }))
    }

    private static func holdsCopy(_ directory: String) -> Bool {
        var options = StorageOptions()
        options.isReadOnly = true
        return (try? SQLiteEngine(directory: directory, options: options)) != nil
    }
}
