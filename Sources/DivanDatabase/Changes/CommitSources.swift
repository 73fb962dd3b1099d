// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// Which sequences and purges this process allotted, so that all others are another's.
///
/// A transaction allots the numbers between where the counters stood at its beginning and where they
/// stand at its end, and no other transaction can allot any meanwhile. So the transactions of this
/// process are stretches of numbers, and what lies in the gaps was committed by other processes:
///
///     sequences   1   2   3   4   5   6   7   8   9   10
///     runs        └─ local ─┘       └ local ┘   in flight
///     others                  4   5           8       10
///
/// ## Invariants
///
/// `checkInvariants()` tests the first and the third; what the second says of other readers `CommitSourcesTests` show.
///
/// 1. Runs are in order and do not overlap; neighbours of one source that touch are one run.
/// 2. A transaction is *in flight* from before its commit can be seen until it is a run or is
///    withdrawn; several are when they share a commit. So a reader that reads first and asks here afterwards never takes a commit of this
///    process for another's. It is in flight as far as it goes and no further: between its commit and
///    its becoming a run another process may have committed behind it.
/// 3. At most `limit` runs are kept: those further back than that are forgotten, and then count as
///    another process's. Only a follower that lags by thousands of alternations could notice.
struct CommitSources: Sendable {
    private struct Run {
        var begin: DatabaseMark
        var end: DatabaseMark
        var source: ChangeSource

        init(_ commit: Commit) { (begin, end, source) = (commit.begin, commit.end, commit.source) }

        func holds(_ number: UInt64, of counter: KeyPath<DatabaseMark, UInt64>) -> Bool {
            begin[keyPath: counter] < number && number <= end[keyPath: counter]
        }
    }

    private let limit: Int
    private var runs: [Run] = []
    private var inFlight: [Run] = []

    init(limit: Int = 4_096) { self.limit = limit }

    /// Whether a transaction of this process may be committed and not be known as a run yet.
    var hasCommitInFlight: Bool { !inFlight.isEmpty }

    /// Notes a transaction that is about to commit, with those that are in flight already.
    mutating func begin(_ commit: Commit) { inFlight.append(Run(commit)) }

    /// Notes that the last transaction in flight was rolled back.
    mutating func withdraw() { _ = inFlight.popLast() }

    /// Notes that the first transaction in flight is committed.
    mutating func add(_ commit: Commit) {
        if !inFlight.isEmpty { inFlight.removeFirst() }
        if let last = runs.last, last.end == commit.begin, last.source == commit.source {
            runs[runs.count - 1].end = commit.end
            return
        }
        if runs.count >= limit { runs.removeFirst(limit / 2) }
        runs.append(Run(commit))
    }

    /// Which process or replication made the change with a sequence.
    func source(ofSequence sequence: SequenceNumber) -> ChangeSource {
        source(of: sequence, \.sequence)
    }

    /// Which process or replication made the purge with a number.
    func source(ofPurge purge: UInt64) -> ChangeSource { source(of: purge, \.purge) }

    private func source(of number: UInt64, _ counter: KeyPath<DatabaseMark, UInt64>)
        -> ChangeSource
    {
        if let run = inFlight.first(where: { $0.holds(number, of: counter) }) { return run.source }
        // The first run that does not end before the number.
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            let isBefore = runs[middle].end[keyPath: counter] < number
            if isBefore { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count, runs[low].holds(number, of: counter) else { return .otherProcess }
        return runs[low].source
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        for run in runs { precondition(run.begin.isReached(by: run.end), "invariant 1") }
        for (run, next) in zip(runs, runs.dropFirst()) {
            precondition(run.end.isReached(by: next.begin), "invariant 1")
            precondition(run.end != next.begin || run.source != next.source, "invariant 1")
        }
        let last = runs.suffix(1) + inFlight
        for (run, next) in zip(last, last.dropFirst()) {
            precondition(run.end.isReached(by: next.begin), "invariant 2")
        }
        precondition(runs.count <= limit, "invariant 3")
    }
}
