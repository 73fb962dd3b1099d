// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

/// What comes and goes leaves nothing behind, in a process that may have 256 descriptors.
@Suite(.timeLimit(.minutes(60))) struct RemainsTests {
    /// What each round may leave, besides the noise: the allocator and threads keep some of what they have
    /// used. A database that is kept is 17 kB, and a replication more.
    private static let mostBytes = 4_000

    @Test func `databases that are deleted, closed, converted or replaced leave nothing behind`()
        async throws
    {
        try await check("databases", Soak.count(test: 500, soak: 5_000), kinds: 10, noise: 40_000)
    }

    @Test func `replications, feeds, live queries and listeners that end leave nothing behind`()
        async throws
    {
        try await check(
            "conversations", Soak.count(test: 300, soak: 5_000), kinds: 8, noise: 150_000)
    }

    private func check(_ mode: String, _ count: Int, kinds: Int, noise: Int) async throws {
        let directory = try TestDirectory("remains", inMemory: true)
        let (lines, status) = try await offPool {
            let child = try TestChild(mode, directory.path, "\(count)")
            return (child.readLines(), child.wait())
        }
        #expect(status == 0)
        #expect(lines.count == kinds, "\(lines)")
        for line in lines {
            let figures = try #require(
                line.firstMatch(of: /(\d+) rounds: (-?\d+) descriptors, (-?\d+) bytes/))
            let rounds = try #require(Int(figures.1))
            #expect(try #require(Int(figures.2)) <= 0, "\(line)")
            #expect(try #require(Int(figures.3)) < noise + Self.mostBytes * rounds, "\(line)")
        }
    }
}
