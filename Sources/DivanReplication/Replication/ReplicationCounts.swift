// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// What a replication has counted, over all of its runs since it was started.
///
///     start ── run ── failure ── run ── idle ── work …
///       └───────────────── all ───────────────────►    `Replication.summary`
///                                         └ recent ►   `Replication.status`
struct ReplicationCounts: Sendable {
    /// Changes and documents.
    struct Figures: Sendable, Equatable {
        var examined = 0
        var transferred = 0
        var refused = 0
    }

    /// Of the runs before this one.
    private var earlier = Figures()
    /// Of the present run; refusals are counted in `refused`.
    private var current = Figures()
    private var refused = 0
    /// The documents that were counted as refused since it was last idle: the next run offers them again.
    private var refusedIDs = RecentIDs()
    /// What was counted up to when it was last idle.
    private var idle = Figures()
    private var isIdle = false

    /// Everything since the start.
    var all: Figures {
        Figures(
            examined: earlier.examined + current.examined,
            transferred: earlier.transferred + current.transferred, refused: refused)
    }

    /// What came since it was last idle, or since the start.
    var recent: Figures {
        let all = all
        return Figures(
            examined: all.examined - idle.examined, transferred: all.transferred - idle.transferred,
            refused: all.refused - idle.refused)
    }

    /// Notes that another run begins, which counts from zero.
    mutating func beginRun() {
        earlier.examined += current.examined
        earlier.transferred += current.transferred
        current = Figures()
    }

    /// Takes the progress of the present run.
    mutating func take(_ progress: ReplicationRun.Progress) {
        // The counts of the last work are told until the next work begins.
        if isIdle, !progress.isIdle {
            idle = all
            refusedIDs = RecentIDs()
        }
        isIdle = progress.isIdle
        current.examined = progress.examined
        current.transferred = progress.transferred
    }

    /// Counts a document that was refused, once until it is idle again.
    mutating func refuse(_ id: DocumentID) {
        guard !refusedIDs.contains(id) else { return }
        refusedIDs.insert(id)
        refused += 1
    }
}
