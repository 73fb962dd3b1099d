// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// Revisions over which a server fails again and again, though it takes others.
///
/// A failure (500 …) over one document may be gone the next time. So the run goes on with the rest, moves no checkpoint
/// past the document, and is followed by another run, which would go on without end where a document always makes the
/// server fail. At the last of some tries it is therefore postponed, and the checkpoint passes it; see
/// `PostponedRevisions`. That the server can write at all must be known first: it has taken other documents
/// with the last try, or it takes the checkpoint (`needProof`), and then fails over the document once more. A server that
/// could write nothing for a while gets everything later; one that takes no checkpoints cannot show that it can.
///
/// State: how often each revision has failed, guarded by the mutex.
package final class RepeatedFailures: Sendable {
    private struct Key: Hashable {
        var id: DocumentID?
        var revision: RevisionID?
    }

    /// So many are counted; beyond that counting begins anew.
    private static let limit = 1_000

    private let tries: Int
    private let counts = Mutex<[Key: Int]>([:])

    /// - Parameter tries: How often a revision may fail in all.
    package init(tries: Int) { self.tries = max(1, tries) }

    /// Whether the failure of a revision would be its last one, and nothing shows that the target can write.
    package func needProof(_ documents: [WireDocument], _ outcomes: [PutOutcome]) -> Bool {
        counts.withLock { counts in
            var isLast = false
            for (document, outcome) in zip(documents, outcomes) {
                switch outcome {
                case .stored, .storedWithout: return false
                case .failed(let error) where error.isTransient:
                    let key = Key(id: document.id, revision: document.revision)
                    if (counts[key] ?? 0) + 1 >= tries { isLast = true }
                case .failed, .needsAttachments: continue
                }
            }
            return isLast
        }
    }

    /// Takes what became of revisions, and postpones one with its last failure.
    package func judge(_ documents: [WireDocument], _ outcomes: [PutOutcome]) -> [PutOutcome] {
        counts.withLock { counts in
            zip(documents, outcomes).map { document, outcome in
                let key = Key(id: document.id, revision: document.revision)
                guard case .failed(let error) = outcome, error.isTransient else {
                    if !counts.isEmpty { counts[key] = nil }
                    return outcome
                }
                let count = (counts[key] ?? 0) + 1
                if counts.count >= Self.limit { counts = [:] }
                counts[key] = count < tries ? count : nil
                return .failed(count == tries ? error.postponed(after: tries) : error)
            }
        }
    }
}
