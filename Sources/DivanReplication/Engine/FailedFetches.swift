// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// Revisions that could not be fetched for now, over all runs of a replication.
///
/// A server may fail at one document each time: its attachment is damaged there, or it is too much for some program in
/// between. Such a document would hold the checkpoint for as long as it is there. So after some tries it is postponed, and the
/// checkpoint passes it; see `PostponedRevisions`. Where many fail it is the server that is ill, and all
/// of them are tried again until it is well.
/// A server may also tell of a revision that it does not have yet, as a cluster does whose nodes are not of one mind: what is
/// absent fails for now, too, and after some tries is gone.
///
/// State: how often each has failed, and in which run last, guarded by the mutex.
final class FailedFetches: Sendable {
    /// A revision fails so often before it is postponed.
    static let attempts = 5
    /// A revision is absent so often before it is gone.
    static let absences = 3
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
    private let absences: Int

    /// - Parameter tries: How many runs there are at most, where that is bounded.
    init(tries: Int = .max) { absences = min(Self.absences, tries) }

    /// Notes that another run begins. What has not failed in the last ones is forgotten.
    func beginRun() {
        state.withLock { state in
            state.run += 1
            let oldest = state.run - Self.attempts
            state.failures = state.failures.filter { $0.value.run >= oldest }
        }
    }

    /// Takes what a fetch has brought, and postpones what has failed too often.
    func settled(_ fetched: [FetchedRevision]) -> [FetchedRevision] {
        state.withLock { state in
            fetched.map { one in
                if case .absent = one.outcome { return absent(one, &state) }
                return Self.settled(one, &state)
            }
        }
    }

    private func absent(_ one: FetchedRevision, _ state: inout State) -> FetchedRevision {
        let key = Key(id: one.id, revision: one.revision)
        let count = (state.failures[key]?.count ?? 0) + 1
        guard count < absences, state.failures.count < 10 * Self.most else {
            state.failures[key] = nil
            return FetchedRevision(id: one.id, revision: one.revision, .gone)
        }
        state.failures[key] = (count, state.run)
        return FetchedRevision(
            id: one.id, revision: one.revision,
            .failed(
                ReplicationError(
                    .notFound,
                    "The source tells of the revision \(one.revision) of '\(one.id.text.bounded)', and does not have it yet.",
                    documentID: one.id, isTransient: true)))
    }

    private static func settled(_ one: FetchedRevision, _ state: inout State) -> FetchedRevision {
        let key = Key(id: one.id, revision: one.revision)
        guard case .failed(let error) = one.outcome, error.isTransient else {
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
        return FetchedRevision(
            id: one.id, revision: one.revision, .failed(error.postponed(after: attempts)))
    }
}
