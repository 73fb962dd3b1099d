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
/// State: how often each has failed, guarded by the mutex.
final class FailedFetches: Sendable {
    /// A revision fails so often before it is refused.
    static let attempts = 5
    /// So many documents at a time fail by themselves; more are the server's failure.
    private static let most = 20

    private struct Key: Hashable {
        var id: DocumentID
        var revision: RevisionID
    }

    private let counts = Mutex<[Key: Int]>([:])

    /// Takes what a fetch has brought, and refuses what has failed too often.
    func settled(_ fetched: [FetchedRevision]) -> [FetchedRevision] {
        counts.withLock { counts in
            fetched.map { one in
                let key = Key(id: one.id, revision: one.revision)
                guard case .failed(var error) = one.outcome, error.isTransient else {
                    counts[key] = nil
                    return one
                }
                counts[key, default: 0] += 1
                guard counts[key, default: 0] >= Self.attempts, counts.count <= Self.most else {
                    return one
                }
                counts[key] = nil
                error.isTransient = false
                error.message +=
                    "; it has failed \(Self.attempts) times, and is tried again when it changes."
                return FetchedRevision(id: one.id, revision: one.revision, .failed(error))
            }
        }
    }
}
