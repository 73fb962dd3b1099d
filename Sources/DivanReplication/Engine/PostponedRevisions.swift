// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
internal import Synchronization

/// Revisions that the checkpoint has passed although they may still come.
///
/// One document over which an end fails again and again must not hold the checkpoint for all others: `FailedFetches` and
/// `RepeatedFailures` say when it does. But the failure may end without a change of the document: a disk is repaired, a
/// script mended, a key unlocked. So such a revision is noted, beside the checkpoint that passes it, and offered again by each
/// run, and by one that goes on now and then:
///
///     fails, the last of the tries ──► noted ──► the local database's checkpoint, which passes it
///          ▲                             │ the next run, or `RetryPolicy.longestDelay` later
///          └── fails: to the end of the list ◄─┤
///                                               └─► it has come, is gone, or is refused for good: forgotten
///
/// A failure of what is noted fails no run. No more are noted than `limit`: what comes then holds the checkpoint.
///
/// State: the revisions, guarded by the mutex.
package final class PostponedRevisions: Sendable {
    /// So many are noted.
    package static let limit = 1_000
    /// So many are offered at a time: fewer than those that fail before a server counts as ill.
    private static let offered = 8

    /// A revision.
    package struct Key: Hashable, Sendable {
        /// The document.
        package var id: DocumentID
        /// The revision.
        package var revision: RevisionID

        /// Makes one.
        package init(_ id: DocumentID, _ revision: RevisionID) {
            (self.id, self.revision) = (id, revision)
        }
    }

    private struct State {
        /// Those that were offered last come last.
        var order: [Key] = []
        var known: Set<Key> = []
        /// What this run has forgotten, which another run's list may still have.
        var settled: Set<Key> = []
        /// What the local database has.
        var saved: [Key] = []

        mutating func forget(_ key: Key) {
            guard known.remove(key) != nil else { return }
            order.removeAll { $0 == key }
            settled.insert(key)
        }
    }

    private let state = Mutex(State())

    /// Begins with those that a checkpoint has noted.
    func begin(with keys: [Key]) {
        state.withLock { state in
            state = State()
            state.saved = keys
            for key in keys.prefix(Self.limit) where state.known.insert(key).inserted {
                state.order.append(key)
            }
        }
    }

    /// Whether there are none.
    var isEmpty: Bool { state.withLock { $0.order.isEmpty } }

    /// Those that are to be offered now.
    func offers() -> [PeerChange] {
        let keys = state.withLock { state -> [Key] in
            let keys = Array(state.order.prefix(Self.offered))
            state.order.removeFirst(keys.count)
            state.order += keys
            return keys
        }
        var places: [DocumentID: Int] = [:]
        var offers: [PeerChange] = []
        for key in keys {
            if let place = places[key.id] {
                offers[place].revisions.append(key.revision)
            } else {
                places[key.id] = offers.count
                offers.append(PeerChange(id: key.id, revisions: [key.revision]))
            }
        }
        return offers
    }

    /// What is to be saved beside a checkpoint, together with what another run has saved meanwhile.
    ///
    /// - Parameter stored: What the local database has.
    /// - Returns: The list.
    func list(with stored: [Key]) -> [Key] {
        state.withLock { state in
            let others = stored.filter {
                !state.known.contains($0) && !state.settled.contains($0)
            }
            return Array((state.order + others).prefix(Self.limit))
        }
    }

    /// Notes what the local database has now.
    func noteSaved(_ keys: [Key]) { state.withLock { $0.saved = keys } }

    /// Whether the local database has another list.
    var isUnsaved: Bool { state.withLock { Set($0.saved) != $0.known } }

    // MARK: - What became of revisions

    /// Takes what the source's feed tells: it names all leaves of a document that has changed, so what is not among them
    /// has a newer one in its place.
    func take(_ changes: [PeerChange]) {
        guard !isEmpty else { return }
        let leaves = Dictionary(changes.map { ($0.id, Set($0.revisions)) }) { $0.union($1) }
        state.withLock { state in
            for key in state.order where !(leaves[key.id]?.contains(key.revision) ?? true) {
                state.forget(key)
            }
        }
    }

    /// Takes what the target says that it lacks of what was offered: what it does not lack has come.
    func take(_ offers: [PeerChange], lacking missing: [MissingRevisions]) {
        guard !isEmpty else { return }
        let lacking = Set(missing.flatMap { one in one.revisions.map { Key(one.id, $0) } })
        state.withLock { state in
            for offer in offers {
                for revision in offer.revisions where !lacking.contains(Key(offer.id, revision)) {
                    state.forget(Key(offer.id, revision))
                }
            }
        }
    }

    /// Takes an error of a revision: the failure of one that was postponed before is that of a single document.
    func again(_ error: ReplicationError, _ key: Key) -> ReplicationError {
        guard error.isTransient, state.withLock({ $0.known.contains(key) }) else { return error }
        return error.postponed
    }

    /// Takes the last word on a revision: nil that it has come or is gone, or why it did not.
    ///
    /// - Returns: The error; one that fails the run where no more can be noted.
    func settle(_ key: Key, _ error: ReplicationError?) -> ReplicationError? {
        state.withLock { state in
            guard var error, error.isPostponed || error.isTransient else {
                state.forget(key)
                return error
            }
            guard error.isPostponed else { return error }
            if state.known.contains(key) { return error }
            guard state.order.count < Self.limit else {
                error.isPostponed = false
                error.isTransient = true
                return error
            }
            state.known.insert(key)
            state.order.append(key)
            state.settled.remove(key)
            return error
        }
    }
}

extension ReplicationError {
    /// The same failure of a revision that is passed for now.
    var postponed: ReplicationError {
        var error = self
        error.isTransient = false
        error.isPostponed = true
        return error
    }

    /// The failure of a revision that has failed so often that it is passed for now.
    func postponed(after tries: Int) -> ReplicationError {
        var error = postponed
        let words = " It has failed \(tries) times, and is tried again later."
        error.message += words
        // What is quoted is at the end, and is left out of logs by that.
        if let quoted { error.quoted = quoted + words }
        return error
    }
}
