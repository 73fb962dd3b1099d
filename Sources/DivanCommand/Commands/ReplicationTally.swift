// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem
internal import Synchronization

/// Draws what one or two replications tell: documents in the bar, refusals and waits for another try above it.
///
/// State: the statuses and how many refusals were told, guarded by the mutex.
final class ReplicationTally: Sendable {
    private struct State {
        var statuses: [Int: ReplicationStatus] = [:]
        var refusals = 0
    }

    /// How many refusals are printed one by one.
    private static let printed = 20
    private let state = Mutex(State())
    private let bar: ProgressBar

    init(_ bar: ProgressBar) { self.bar = bar }

    /// Takes the status of one of the replications. Changes that are not examined yet may be documents to transfer,
    /// so they are part of the whole until it is known that they are not.
    func take(_ status: ReplicationStatus, of index: Int) {
        let (all, isWait) = state.withLock { state in
            let isWait = status.nextTry != nil && status.nextTry != state.statuses[index]?.nextTry
            state.statuses[index] = status
            return (Array(state.statuses.values), isWait)
        }
        if isWait, let delay = status.nextTry, let error = status.error {
            bar.remarkAbove("Trying again in \(delay.words): \(error.message)")
        }
        let transferred = all.reduce(0) { $0.addingSaturated($1.transferred) }
        bar.update(
            title: all.contains { $0.activity == .offline }
                ? "Waiting to try again" : "Replicating",
            completed: transferred,
            total: all.reduce(0) { $0.addingSaturated($1.total).addingSaturated($1.pending) },
            count: transferred)
    }

    /// Takes what became of a revision, and prints the first errors.
    func take(_ document: ReplicatedDocument) {
        guard let error = document.error else { return }
        let count = state.withLock { state in
            state.refusals += 1
            return state.refusals
        }
        if count <= Self.printed {
            bar.printAbove("\(PrintableText.escaping(document.id.text)): \(error.message)")
        }
    }
}
