// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanSystem
internal import Synchronization

/// What a live document keeps in memory, and how that is read.
///
/// ```
///  a reader                           a commit of this process        the hub's queue
///  ────────                           ────────────────────────        ───────────────
///  current ─► fresh? give it
///     │ no                            require(mark)
///     ▼                               (no I/O, no callback)           refresh, compare, announce
///  readLock  ─► fresh now? give it
///     │ no
///     ▼
///  read ─► install, if the mark is higher
/// ```
///
/// A commit that touches the document raises `needed` before it returns to its caller. From then on
/// no reader is shown the older revision, and the next reader reads the newer one. Nothing is read
/// on the writer's thread, and nothing before a reader asks.
///
/// ## State
///
/// - `state`: one mutex, held for a few instructions or one look-up in memory, never while anything
///   is read or called.
/// - `readLock`: a mutex that lets one thread read at a time, so that many threads that ask at
///   once cost one read. The thread that holds it has a reader connection already and waits for no
///   other thread. Threads that `state` can serve never take it.
///
/// ## Invariants
///
/// Both speak of several moments: `LiveDocumentRandomTests` show them, and call `checkInvariants()` for what one shows.
///
/// 1. `snapshot` only ever moves to a higher mark.
/// 2. A snapshot is given away as current only if its mark covers `needed`, except to a thread that
///    asks from inside a `read` closure which is older than that.
final class DocumentCache: Sendable {
    private struct State {
        var snapshot: LiveSnapshot?
        /// What a snapshot must have seen to be current.
        var needed = DatabaseMark(sequence: 0, purge: 0)
        /// The snapshot that observers have been told of last.
        var announced: LiveSnapshot?
        var failure: DatabaseError?
        /// When a reader was given a snapshot last.
        var lastLook = CoarseTime()

        var isCurrent: Bool {
            if let mark = snapshot?.mark { needed.isReached(by: mark) } else { false }
        }

        var current: LiveSnapshot? { isCurrent ? snapshot : nil }
    }

    private let state = Mutex(State())
    private let readLock = Mutex(())

    /// The snapshot, if it is current.
    var current: LiveSnapshot? {
        state.withLock { state in
            state.lastLook = .now
            return state.current
        }
    }

    /// A property of the current revision; nil when that has to be read first.
    ///
    /// The one look-up under the mutex, so that nothing has to be retained for it.
    func property(_ key: String) -> Fragment? {
        state.withLock { state in
            state.lastLook = .now
            guard state.isCurrent else { return nil }
            return state.snapshot?.contents?[key] ?? Fragment(JSONValue?.none)
        }
    }

    /// The newest snapshot, current or not.
    var newest: LiveSnapshot? { state.withLock { $0.snapshot } }

    /// Why reading failed the last time; nil when it did not.
    var failure: DatabaseError? { state.withLock { $0.failure } }

    /// Says that what was read before a mark is out of date.
    func require(_ mark: DatabaseMark) {
        // Commits are ordered, so of two marks one reaches the other.
        state.withLock { if $0.needed.isReached(by: mark) { $0.needed = mark } }
    }

    /// Gives the current snapshot, and reads it where there is none.
    func load(_ id: DocumentID, from database: Database) throws -> LiveSnapshot {
        if let current { return current }
        do {
            try database.checkOpen()
            return try database.core.read { reader in
                try readLock.withLock { _ in
                    if let current { return current }
                    return install(
                        try LiveSnapshot(of: id, from: reader, replacing: newest))
                }
            }
        } catch let error as DatabaseError {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    private func install(_ snapshot: LiveSnapshot) -> LiveSnapshot {
        state.withLock { state in
            state.failure = nil
            if let newest = state.snapshot, !newest.mark.isReached(by: snapshot.mark) {
                return newest
            }
            // A document that has never been shown has nothing to announce.
            if state.announced == nil { state.announced = snapshot }
            state.snapshot = snapshot
            return snapshot
        }
    }

    /// Notes that observers are being told of a snapshot.
    ///
    /// - Returns: The one they knew before, and whether a reader has looked so recently that it may
    ///   not be registered as an observer yet.
    func announce(_ snapshot: LiveSnapshot) -> (known: LiveSnapshot?, mayMissIt: Bool) {
        state.withLock { state in
            defer { state.announced = snapshot }
            return (state.announced, state.lastLook.isWithin(milliseconds: 200))
        }
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        state.withLock { state in
            precondition((state.announced == nil) == (state.snapshot == nil), "invariant 1")
            guard let snapshot = state.snapshot, let announced = state.announced else { return }
            precondition(announced.mark.isReached(by: snapshot.mark), "invariant 1")
            // Commits are ordered, so of two marks one reaches the other.
            precondition(
                state.needed.isReached(by: snapshot.mark)
                    || snapshot.mark.isReached(by: state.needed), "invariant 2")
        }
    }
}
