// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// One bit is flipped in any file of a database: every answer equals the original or is `corrupted`,
/// or `verify` finds the damage. Nothing crashes, hangs, or gives altered content.
///
/// Soak slices: 10.
@Suite(
    .enabled(
        if: TestEngine.isSQLite,
        "LMDB trusts its pages: DivanLMDBTests flips bits by a map of the file."))
struct BitFlipTests {
    @Test func `a flipped bit alters no answer unnoticed`() async throws {
        let directory = try TestDirectory("flip")
        let maker = try TestChild("fixture", directory.path)
        #expect(maker.finish() == 0)
        let rounds = Soak.rounds(test: 200, soak: 10_000)
        let middle = rounds.lowerBound + rounds.count / 2
        // Two processes at a time, one for each core.
        async let first = offPool {
            try Self.run(rounds.lowerBound..<middle, in: directory, scratch: "a")
        }
        async let second = offPool {
            try Self.run(middle..<rounds.upperBound, in: directory, scratch: "b")
        }
        let outcomes = try await first + second
        #expect(outcomes.count == rounds.count)
        // The flips must have told something: some answers were errors, some were found by verify.
        #expect(outcomes.contains { $0.contains("errors") })
    }

    /// Runs rounds in children, a batch each, and returns the lines that end the rounds.
    private static func run(
        _ rounds: Range<Int>, in directory: TestDirectory, scratch: String
    ) throws -> [String] {
        var ends: [String] = []
        var start = rounds.lowerBound
        while start < rounds.upperBound {
            let end = min(start + 100, rounds.upperBound)
            let child = try TestChild(
                "flip", directory.path, directory.path(scratch), "\(Soak.seed)", "\(start)",
                "\(end)")
            var last = "nothing"
            while let line = child.readLine() {
                if line.hasPrefix("end ") {
                    ends.append(line)
                    if line.contains("WRONG") { Issue.record("\(last): \(line)") }
                } else {
                    last = line
                }
            }
            child.kill()
            let code = child.wait()
            if code != 0 { Issue.record("The child ended with \(code) in: \(last)") }
            start = end
        }
        return ends
    }
}
