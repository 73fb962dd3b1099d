// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

/// Replications with a server whose every number, text, length and structure may be wrong.
///
/// Soak slices: 20
@Suite(.timeLimit(.minutes(60))) struct PeerFuzzTests {
    /// Kilobytes that the process may have had, whatever it was told: it takes some 60,000 with an honest server.
    private static let mostMemory = 400_000

    @Test
    func `no answer of a server ends the process, holds it up, or disturbs another replication`()
        async throws
    {
        let rounds = Soak.rounds(test: 200, soak: 100_000)
        let arguments = ["\(rounds.lowerBound)", "\(rounds.upperBound)", "\(Soak.seed)"]
        let (last, status) = try await offPool {
            let child = try TestChild("peers", arguments: arguments)
            return (child.readLines().last ?? "", child.wait())
        }
        let repeated = "repeat it with: DivanTestChild peers N N+1 \(Soak.seed)"
        #expect(status == 0, "It ended in \(last); \(repeated)")
        let memory = try #require(
            last.firstMatch(of: /done (\d+) kB/).flatMap { Int($0.1) }, "\(last)")
        #expect(memory < Self.mostMemory)
    }
}
