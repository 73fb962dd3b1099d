// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanDatabase

@Suite struct CommitSourcesTests {
    private static let all: [ChangeSource] = [
        .local, .otherProcess, .replication("a"), .replication("b"),
    ]

    private static func commit(
        _ begin: (UInt64, UInt64), _ end: (UInt64, UInt64), _ source: ChangeSource = .local
    ) -> Commit {
        Commit(
            begin: DatabaseMark(sequence: begin.0, purge: begin.1),
            end: DatabaseMark(sequence: end.0, purge: end.1), documentIDs: nil, source: source)
    }

    @Test func `numbers between own transactions are another process's`() {
        var sources = CommitSources()
        sources.add(Self.commit((0, 0), (3, 1)))
        sources.add(Self.commit((5, 1), (6, 3), .replication("r")))
        let found = (1...7).map { sources.source(ofSequence: $0) }
        #expect(
            found == [
                .local, .local, .local, .otherProcess, .otherProcess, .replication("r"),
                .otherProcess,
            ])
        let purges = (1...4).map { sources.source(ofPurge: $0) }
        #expect(purges == [.local, .replication("r"), .replication("r"), .otherProcess])
    }

    @Test func `a transaction in flight owns its own numbers and none behind them`() {
        var sources = CommitSources()
        sources.begin(Self.commit((4, 0), (6, 1)))
        let found = (4...7).map { sources.source(ofSequence: $0) }
        #expect(found == [.otherProcess, .local, .local, .otherProcess])
        #expect((1...2).map { sources.source(ofPurge: $0) } == [.local, .otherProcess])
        sources.withdraw()
        #expect(sources.source(ofSequence: 5) == .otherProcess)
    }

    @Test func `transactions that share a commit are in flight together`() {
        var sources = CommitSources()
        sources.begin(Self.commit((0, 0), (2, 0)))
        sources.begin(Self.commit((2, 0), (3, 0), .replication("r")))
        sources.begin(Self.commit((3, 0), (4, 0)))
        // The last one is refused.
        sources.withdraw()
        sources.checkInvariants()
        let expected: [ChangeSource] = [.local, .local, .replication("r"), .otherProcess]
        #expect((1...4).map { sources.source(ofSequence: $0) } == expected)
        sources.add(Self.commit((0, 0), (2, 0)))
        #expect((1...4).map { sources.source(ofSequence: $0) } == expected)
        sources.add(Self.commit((2, 0), (3, 0), .replication("r")))
        sources.checkInvariants()
        #expect((1...4).map { sources.source(ofSequence: $0) } == expected)
    }

    @Test func `random histories give every number its maker`() {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round)
            var sources = CommitSources()
            // One that forgets often tells less, and keeps its runs in order all the same.
            var forgetful = CommitSources(limit: 2 + random.below(4))
            var mark = DatabaseMark(sequence: 0, purge: 0)
            var makers: (sequences: [ChangeSource], purges: [ChangeSource]) = ([], [])
            for _ in 0..<random.below(40) {
                let source = random.element(of: Self.all)
                var end = mark
                end.sequence += UInt64(random.below(4))
                end.purge += UInt64(random.below(3))
                for _ in mark.sequence..<end.sequence { makers.sequences.append(source) }
                for _ in mark.purge..<end.purge { makers.purges.append(source) }
                if source != .otherProcess {
                    let commit = Commit(begin: mark, end: end, documentIDs: nil, source: source)
                    sources.begin(commit)
                    sources.checkInvariants()
                    if random.oneIn(4) { sources.withdraw() }
                    sources.add(commit)
                    sources.checkInvariants()
                    forgetful.add(commit)
                    forgetful.checkInvariants()
                }
                mark = end
            }
            for (index, maker) in makers.sequences.enumerated() {
                #expect(sources.source(ofSequence: UInt64(index + 1)) == maker, "round \(round)")
            }
            for (index, maker) in makers.purges.enumerated() {
                #expect(sources.source(ofPurge: UInt64(index + 1)) == maker, "round \(round)")
            }
        }
    }

    @Test func `old runs are forgotten when there are too many`() {
        var sources = CommitSources(limit: 4)
        for number in 0..<UInt64(10) {
            sources.add(Self.commit((2 * number, 0), (2 * number + 1, 0)))
        }
        #expect(sources.source(ofSequence: 1) == .otherProcess)
        #expect(sources.source(ofSequence: 19) == .local)
        #expect(sources.source(ofSequence: 18) == .otherProcess)
    }
}
