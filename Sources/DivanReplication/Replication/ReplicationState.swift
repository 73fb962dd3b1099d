// SPDX-License-Identifier: Apache-2.0

/// What changes in a replication: how it stands, and what is known of its last start.
struct ReplicationState: Sendable {
    var status = ReplicationStatus()
    var stop: StopSignal?
    var task: Task<Void, Never>?
    /// Cancels the task if it takes too long to stop; it ends with it, and so keeps nothing of it.
    var patience: Task<Void, Never>?
    var isSuspended = false
    /// Whether all work is done, and only the telling of it is left.
    var isOver = false
    /// Whether it was started while it was about to end.
    var startsAgain = false
    /// Whether it was started and has ended since.
    var hasEnded = false
    /// The error that ended it; nil when it ended well, or was stopped.
    var failure: ReplicationError?
    /// Whether it ended because it was told to.
    var wasStopped = false
    /// Whether it was started as it was made, and `run()` was not called since.
    var wasStartedAtOnce = false
    /// What the running engine tells; empty while none has begun.
    var report = ReplicationReport()
    var counts = ReplicationCounts()
    /// How many conversations with the other end have begun since it was made.
    var runs = 0
    var documentErrors = DocumentErrors()

    /// Prepares for a start.
    mutating func begin(_ stop: StopSignal, keepsCounts: Bool) {
        status = ReplicationStatus(activity: .connecting)
        if !keepsCounts { counts = ReplicationCounts() }
        report = ReplicationReport()
        documentErrors = DocumentErrors()
        isSuspended = false
        isOver = false
        startsAgain = false
        hasEnded = false
        failure = nil
        wasStopped = false
        wasStartedAtOnce = false
        self.stop = stop
    }

    /// Whether it does no more than to end.
    var isEnding: Bool { isOver || patience != nil }

    /// What was done since the start.
    var summary: ReplicationSummary {
        let all = counts.all
        return ReplicationSummary(
            examined: all.examined, transferred: all.transferred, refused: all.refused,
            documentErrors: documentErrors.newest(ReplicationSummary.errorLimit))
    }
}
