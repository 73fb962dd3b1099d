// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// Revisions that could not be fetched for now, over all runs of a replication.
///
/// A server may fail at one document each time: its attachment is damaged there, or it is too much for some program in
/// between. Such a document would hold the checkpoint for as long as it is there. So after some tries it is refused, as one
/// that the target does not accept, and is tried again when it changes. Where many fail it is the server that is ill, and all
/// of them are tried again until it is well.
///
/// State: how often each has failed, and in which run last, guarded by the mutex.
final class FailedFetches: Sendable {
    /// A revision fails so often before it is refused.
    static let attempts = 5
    /// So many documents at a time fail by themselves; more are the server's failure.
    private static let most = 20

    private struct Key: Hashable {
        var id: DocumentID
        var revision: RevisionID
    }

    private struct State {
        var run = 0
        var failures: [Key: (count: Int, run: Int)] = [:]
    }

    private let state = Mutex(State())

    /// Notes that another run begins. What has not failed in the last ones is forgotten.
    func beginRun() {
        state.withLock { state in
            state.run += 1
            let oldest = state.run - Self.attempts
            state.failures = state.failures.filter { $0.value.run >= oldest }
        }
    }

    /// Takes what a fetch has brought, and refuses what has failed too often.
    func settled(_ fetched: [FetchedRevision]) -> [FetchedRevision] {
        state.withLock { state in fetched.map { Self.settled($0, &state) } }
    }

    private static func settled(_ one: FetchedRevision, _ state: inout State) -> FetchedRevision {
        let key = Key(id: one.id, revision: one.revision)
        guard case .failed(var error) = one.outcome, error.isTransient else {
            state.failures[key] = nil
            return one
        }
        let count = (state.failures[key]?.count ?? 0) + 1
        guard count >= attempts, state.failures.count <= most else {
            // More than so many need not be told apart.
            if state.failures.count <= 10 * most { state.failures[key] = (count, state.run) }
            return one
        }
        state.failures[key] = nil
        error.isTransient = false
        error.message += "; it has failed \(attempts) times, and is tried again when it changes."
        return FetchedRevision(id: one.id, revision: one.revision, .failed(error))
    }
}
