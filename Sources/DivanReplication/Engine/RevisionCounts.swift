// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What became of revisions in a replication, as its reports and checkpoints tell it.
///
///     compared ──► lacked ──► read ──► written, or failed for good
///
/// Each count only grows, from run to run and beyond a restart: the next run goes on with those of the checkpoint that
/// it goes on from.
package struct RevisionCounts: Sendable, Equatable {
    /// Revisions that the target was asked about.
    package var checked = 0
    /// Those that it lacked.
    package var found = 0
    /// Those that the source has sent.
    package var read = 0
    /// Those that the target has taken.
    package var written = 0
    /// Those that were not transferred, and are not tried again before their document changes.
    package var failed = 0

    /// Makes counts of nothing.
    package init() {}

    /// Adds what a run has counted to what was counted before.
    package static func + (before: RevisionCounts, now: RevisionCounts) -> RevisionCounts {
        before.combined(with: now) { $0.addingSaturated($1) }
    }

    /// Of each count the larger one.
    func orMore(_ other: RevisionCounts) -> RevisionCounts { combined(with: other, max) }

    private func combined(with other: RevisionCounts, _ combine: (Int, Int) -> Int)
        -> RevisionCounts
    {
        var counts = RevisionCounts()
        for count in [\RevisionCounts.checked, \.found, \.read, \.written, \.failed] {
            counts[keyPath: count] = combine(self[keyPath: count], other[keyPath: count])
        }
        return counts
    }
}

/// Counts that another program names: any number may stand there.
enum ForeignCount {
    /// More than is ever true, and so far from the largest number that sums of such counts are numbers, too.
    static let most = 1 << 53

    /// The count, within reason.
    static func bounded(_ count: Int) -> Int { min(max(0, count), most) }
}
