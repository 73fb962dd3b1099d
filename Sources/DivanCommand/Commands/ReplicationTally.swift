// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import Synchronization

/// Adds up what one or two replications tell, for the bar and the summary.
///
/// State: the figures, guarded by the mutex.
final class ReplicationTally: Sendable {
    private struct State {
        var statuses: [Int: ReplicationStatus] = [:]
        var transferred = 0
        var refused = 0
        /// The documents whose refusal was told last.
        var refusedIDs = RecentIDs()
    }

    /// How many refusals are printed one by one.
    private static let printed = 20
    private let state = Mutex(State())
    private let bar: ProgressBar

    init(_ bar: ProgressBar) { self.bar = bar }

    func take(_ status: ReplicationStatus, of index: Int) {
        let (completed, total, offline) = state.withLock { state in
            state.statuses[index] = status
            let all = state.statuses.values
            return (
                all.reduce(0) { $0 + $1.completed }, all.reduce(0) { $0 + $1.total + $1.pending },
                all.contains { $0.activity == .offline }
            )
        }
        bar.update(
            title: offline ? "Waiting to try again" : "Replicating", completed: completed,
            total: total, count: completed)
    }

    func take(_ document: ReplicatedDocument) {
        let refused = state.withLock { state in
            if document.error == nil {
                state.transferred += 1
            } else {
                state.refused += 1
                state.refusedIDs.insert(document.error?.documentID ?? document.id)
            }
            return state.refused
        }
        if let error = document.error, refused <= Self.printed {
            bar.printAbove("\(PrintableText.escaping(document.id)): \(error.message)")
        }
    }

    /// Whether an error is of one document that was told of. One that names a document may have ended
    /// the whole.
    func isRefusal(_ error: ReplicationError) async -> Bool {
        guard let id = error.documentID, !error.isTransient else { return false }
        // Its listener's queue may not have told it yet.
        for _ in 0..<50 {
            if state.withLock({ $0.refusedIDs.contains(id) }) { return true }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// The figures, once the listeners' queues have told everything.
    func counts() async -> (transferred: Int, refused: Int) {
        var before = -1
        while true {
            let (transferred, refused) = state.withLock { ($0.transferred, $0.refused) }
            if transferred + refused == before { return (transferred, refused) }
            before = transferred + refused
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}
