// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Everything that changes documents, in random order, against a naive model of the same rules.
///
/// Soak slices: 8.
@Suite struct WorkloadTests {
    /// Steps of a workload: most are short, so that there are many; some go on to deep trees.
    private static func length(of round: Int) -> Int {
        Soak.isOn || round % 50 == 0 ? 500 : 40
    }

    @Test(arguments: Array(Soak.rounds(test: 200, soak: 400)))
    func `a random workload leaves what a naive model has`(round: Int) throws {
        var workload = try Workload(Sandbox(), Soak.random(round: round, salt: 41))
        for number in 0..<Self.length(of: round) {
            var last: (action: String, id: DocumentID) = ("", "")
            do {
                last = try workload.step()
                try workload.compare(last.id)
                if number % 50 == 49 || last.action == "reopen" { try workload.compareAll() }
            } catch {
                Issue.record(
                    "seed \(Soak.seed), round \(round), step \(number), \(last): \(error)")
                return
            }
        }
        try workload.compareAll()
    }
}
