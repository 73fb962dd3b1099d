// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanModel
internal import Synchronization

/// The revisions that a push need not keep at the source: what the target has, or had already.
///
///     compared: the target has it ─┐
///     stored there ────────────────┴─► noted ──► the target is made durable ──► purged here ──► checkpoint
///
/// Purged is the very revision that the target has, as a leaf. One that was edited meanwhile is no leaf any
/// more and stays, until the edit has been pushed. A crash before the purge costs nothing: the
/// next run offers the revisions again, the target has them, and they are purged then.
///
/// State: what is noted, guarded by the mutex.
final class PushedRevisions: Sendable {
    private let database: Database
    private let noted = Mutex<[DocumentID: [RevisionID]]>([:])

    init(of database: Database) { self.database = database }

    /// Takes the target's answer to what it lacks of what was offered.
    func note(_ offers: [PeerChange], lacking missing: [MissingRevisions]) {
        let lacking = Dictionary(missing.map { ($0.id, $0.revisions) }) { $0 + $1 }
        noted.withLock { noted in
            for offer in offers {
                let lacked = lacking[offer.id] ?? []
                let known = offer.revisions.filter { !lacked.contains($0) }
                if !known.isEmpty { noted[offer.id, default: []] += known }
            }
        }
    }

    /// Takes what became of revisions that were sent.
    func note(_ documents: [WireDocument], _ outcomes: [PutOutcome]) {
        noted.withLock { noted in
            for (document, outcome) in zip(documents, outcomes) {
                guard case .stored = outcome, let id = document.id,
                    let revision = document.revision
                else { continue }
                noted[id, default: []].append(revision)
            }
        }
    }

    /// Purges what was noted, once it is durable at the target.
    ///
    /// - Throws: What the target or the database throws; what was noted is kept for another time.
    func purge(after target: any ReplicationPeer) async throws {
        let revisions = noted.withLock { noted in
            defer { noted = [:] }
            return noted
        }
        guard !revisions.isEmpty else { return }
        do {
            try await target.ensureDurable()
            try await database.performWrite { transaction in
                for (id, revisions) in revisions {
                    guard try transaction.read({ try $0.recentTree(of: id) }) != nil else {
                        continue
                    }
                    try transaction.purge(id, revisions: revisions)
                }
            }
        } catch {
            noted.withLock { noted in
                for (id, more) in revisions { noted[id, default: []] += more }
            }
            throw error
        }
    }
}
