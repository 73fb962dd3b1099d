// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanModel
internal import Synchronization

/// The live documents of one `Database`: one object for each ID as long as the app holds it.
///
/// The registry holds the objects weakly and their caches strongly, so that a commit can say "out
/// of date" without touching an object that is just being released.
///
/// An entry is removed with its object. Between the object's last release and its `deinit` another
/// thread may ask for the same ID and get a new object in a new entry; the tickets tell the two
/// apart, so that the old object does not take the new one's entry away.
///
/// The database is followed while there are objects, and for a few commits more, so that making
/// and dropping one object after the other does not start and stop that each time.
///
/// ## State
///
/// - `state`: one mutex, held for a few instructions and never while anything is read, called or
///   released.
/// - `following`: held while following starts and stops; taken before `state`, never under it.
final class LiveDocumentRegistry: Sendable {
    private struct Entry {
        var ticket: UInt64
        weak var document: LiveDocument?
        var cache: DocumentCache
    }

    private struct State {
        var entries: [DocumentID: Entry] = [:]
        var lastTicket: UInt64 = 0
        var isFollowing = false
        /// How many commits in a row found no objects.
        var idleCommits = 0
    }

    private static let patience = 64

    private let state = Mutex(State())
    private let following = Mutex<Following?>(nil)

    deinit { stop() }

    /// How many live documents there are.
    var count: Int { state.withLock { $0.entries.count } }

    /// Whether the database is being followed.
    var isFollowing: Bool { state.withLock { $0.isFollowing } }

    // MARK: - Objects

    /// The object of an ID: the one there is, or a new one.
    func document(_ id: DocumentID, in database: Database) -> LiveDocument {
        while true {
            if let document = followedDocument(id, in: database) { return document }
            start(database.core)
        }
    }

    /// The object of an ID; nil when the database is not being followed.
    private func followedDocument(_ id: DocumentID, in database: Database) -> LiveDocument? {
        state.withLock { state in
            guard state.isFollowing else { return nil }
            if let document = state.entries[id]?.document { return document }
            state.lastTicket += 1
            let cache = DocumentCache()
            let document = LiveDocument(
                database: database, documentID: id, cache: cache, ticket: state.lastTicket)
            state.entries[id] = Entry(
                ticket: state.lastTicket, document: document, cache: cache)
            return document
        }
    }

    /// Drops the entry of an object that is being released.
    func remove(_ id: DocumentID, ticket: UInt64) {
        let entry = state.withLock { state -> Entry? in
            guard state.entries[id]?.ticket == ticket else { return nil }
            return state.entries.removeValue(forKey: id)
        }
        // Released here, outside the mutex.
        withExtendedLifetime(entry) {}
    }

    /// Says that a commit changed documents, or any when `ids` is nil. Called on the committing
    /// thread.
    func require(_ mark: DatabaseMark, of ids: [DocumentID]?) {
        state.withLock { state in
            if state.entries.isEmpty { return }
            guard let ids else {
                for entry in state.entries.values { entry.cache.require(mark) }
                return
            }
            for id in ids { state.entries[id]?.cache.require(mark) }
        }
    }

    // MARK: - Following

    private func start(_ core: DatabaseCore) {
        following.withLock { following in
            guard following == nil else { return }
            following = Following(self, core)
            state.withLock { state in
                state.isFollowing = true
                state.idleCommits = 0
            }
        }
    }

    /// Ends following when the database closes; the objects go on showing what they know.
    func stop() { stop { _ in true } }

    private func stop(if isWanted: (State) -> Bool) {
        let ended = following.withLock { following -> Following? in
            let isOver = state.withLock { state in
                guard isWanted(state) else { return false }
                state.isFollowing = false
                return true
            }
            guard isOver else { return nil }
            defer { following = nil }
            return following
        }
        ended?.end()
    }

    /// Tells observers of a commit. Called on the hub's queue, one after the other.
    func announce(_ change: HubChange, on queue: DispatchQueue) {
        let mark = DatabaseMark(sequence: change.lastSequence, purge: change.lastPurge)
        let documents = state.withLock { state -> [LiveDocument] in
            state.idleCommits = state.entries.isEmpty ? state.idleCommits + 1 : 0
            if state.entries.isEmpty { return [] }
            let ids = change.isOfAnyDocument ? Set(state.entries.keys) : Set(change.documentIDs)
            return ids.compactMap { id in
                state.entries[id]?.cache.require(mark)
                return state.entries[id]?.document
            }
        }
        for document in documents { document.announceChanges(on: queue) }
        if state.withLock({ $0.idleCommits > Self.patience }) {
            stop { $0.entries.isEmpty }
        }
    }
}
