// SPDX-License-Identifier: Apache-2.0

import DivanFuzzTargets
import DivanTestSupport
import Testing

/// The targets of `scripts/fuzz`, fed with their seeds and with simple changes of them.
struct FuzzSeedTests {
    @Test(arguments: FuzzTarget.all.map(\.name))
    func `a target takes its seeds, and changes of them`(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        for (number, seed) in target.seeds.enumerated() {
            target.run(seed)
            for round in Soak.rounds(test: 40, soak: 20_000) {
                var random = Soak.random(round: round * 100 + number)
                var bytes = seed
                for _ in 0...random.below(4) where !bytes.isEmpty {
                    let place = random.below(bytes.count)
                    switch random.below(4) {
                    case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                    case 1: bytes.remove(at: place)
                    case 2: bytes.insert(contentsOf: bytes[place...].prefix(8), at: place)
                    default: bytes.removeSubrange(place...)
                    }
                }
                target.run(bytes)
            }
        }
        target.run([])
    }
}
