// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

/// The memory of a pull from a server that sends what takes the most of it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GreedyServerTests {
    /// Answers, and the megabytes that a process may grow by: what a replication may have for one long document, where it is
    /// read at all, and a tenth of it for what is under way elsewhere.
    private static let answers: [(answer: String, megabytes: Int)] = [
        ("row", 80), ("rows", 250), ("liveRow", 80), ("contents", 250), ("packedPart", 400),
        ("parts", 80), ("error", 80), ("checkpoint", 100), ("packedInformation", 100),
    ]

    /// Answers of so many values that a build without optimisation reads them for ten seconds each.
    private static let longAnswers: [(answer: String, megabytes: Int)] = [
        ("members", 80), ("values", 250), ("documents", 850),
    ]

    @Test(
        .enabled(if: Machine.has("/proc/self/clear_refs"), "It needs /proc."),
        .disabled(if: Sanitizer.isOn, "A sanitizer keeps what was freed."),
        arguments: Soak.isOn ? answers + longAnswers : answers)
    func `whatever a server sends, a replication takes no more memory than is stated`(
        answer: String, megabytes: Int
    ) async throws {
        let (lines, status) = try await offPool {
            let child = try TestChild("hoard", answer)
            return (child.readLines(), child.wait())
        }
        #expect(status == 0)
        let grown = try #require(
            lines.last?.firstMatch(of: /grown (-?\d+) kB/).flatMap { Int($0.1) }, "\(lines)")
        #expect(grown <= megabytes << 10, "\(grown) kB")
    }
}
