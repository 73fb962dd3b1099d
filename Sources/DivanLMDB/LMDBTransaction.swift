// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import Dispatch
internal import DivanStorage
internal import Synchronization

/// A transaction of LMDB's, which serves one reader or writer after the other.
///
/// One object serves all transactions of its place in the pool, so that beginning one allocates nothing:
/// a read transaction is renewed, which takes the newest snapshot. It is lent as a `StorageReader` or a
/// `StorageWriter`.
///
/// A savepoint is a nested transaction, and the parent rests meanwhile: `current` is the innermost one,
/// and what belongs to the outer ones is in `outer`.
///
/// ## What is lent
///
/// In a read transaction bytes are lent where they lie in the mapped file. No writer changes them there
/// while the snapshot lives. In a write transaction they may lie in a page that the next change moves,
/// so they are copied before they are lent.
@safe
final class LMDBTransaction {
    /// What runs.
    enum Kind {
        case none, read, write
    }

    /// What a savepoint goes back to.
    @safe
    struct Outer {
        var transaction: OpaquePointer?
        var catalogue: Catalogue
        var made: [String: MDB_dbi]
        var isCatalogueChanged: Bool
    }

    let environment: LMDBEnvironment
    private(set) var kind = Kind.none
    /// Tells a cursor of this transaction from one of an earlier one.
    private(set) var number = 0
    /// Whether the write transaction was undone before its end, so that nothing more may run in it.
    private(set) var isUndone = false
    // SAFETY: LMDB's transaction, between a beginning and its end; reset ones are kept to be renewed.
    var current: OpaquePointer?
    var outer: [Outer] = []
    private var id = 0

    /// The stores of the snapshot, and what this transaction has changed about them.
    var catalogue = Catalogue()
    var isCatalogueChanged = false
    /// The handles that this write transaction has opened.
    var made: [String: MDB_dbi] = [:]
    var holdsHandleGate = false
    /// Where each store lies, by its index; forgotten when the catalogue is another one.
    var rows: [StoreRows?] = []
    private let isInterrupted = Atomic(false)

    /// The cursors that stand on a row, for the moments when they must release it.
    var openCursors: [OpenCursor] = []
    /// By the number of a database, its greatest key or one above it; `nil` where it is not known.
    var ends: [[UInt8]?] = []
    private var lastCommit = -1
    /// What callers keep of the content of the snapshot of this number.
    private var keptNotes: AnyObject?
    private var notedSnapshot = -1

    init(_ environment: LMDBEnvironment) {
        self.environment = environment
    }

    deinit { discard() }

    /// Has LMDB free it while the file is open; for a transaction that is not in use.
    ///
    /// Before the file is closed this must not wait for the last reference: a thread that has given the
    /// transaction back a moment ago may still have one.
    func discard() {
        takeOver()
        // SAFETY: the transaction is no longer used, and its address is forgotten here.
        if let current = unsafe current {
            unsafe mdb_txn_abort(current)
        }
        unsafe current = nil
        handOver()
    }

    // MARK: - Reading

    /// Takes a snapshot.
    ///
    /// - Returns: Whether it could be taken: not when another process has made the file larger than this
    ///   one's map. Then the map must be adopted while this transaction is not in use.
    func beginReading() throws -> Bool {
        takeOver()
        while true {
            let epoch = environment.handleEpoch
            guard try renew() else { return false }
            do {
                if let fresh = try unsafe environment.catalogue(
                    in: current, id: Int(mdb_txn_id(current))), epoch == environment.handleEpoch
                {
                    adopt(fresh)
                    break
                }
            } catch {
                endReading()
                throw error
            }
            endReading()
        }
        if snapshotID != notedSnapshot { keptNotes = nil }
        notedSnapshot = snapshotID
        kind = .read
        number &+= 1
        isInterrupted.store(false, ordering: .relaxed)
        return true
    }

    var notes: AnyObject? {
        get { kind == .read ? keptNotes : nil }
        set { if kind == .read { keptNotes = newValue } }
    }

    /// Begins, or begins again.
    private func renew() throws -> Bool {
        var hasCleared = false
        while true {
            let code: Int32
            if let known = unsafe current {
                // SAFETY: the transaction was reset.
                code = unsafe mdb_txn_renew(known)
            } else {
                guard let env = unsafe environment.handle else {
                    throw StorageError.closed()
                }
                // SAFETY: the environment is open; `current` is filled in during the call.
                code = unsafe mdb_txn_begin(env, nil, UInt32(MDB_RDONLY), &current)
            }
            switch code {
            case MDB_SUCCESS:
                return true
            case MDB_MAP_RESIZED:
                return false
            case MDB_READERS_FULL where !hasCleared:
                hasCleared = true
                environment.clearStaleReaders()
            default:
                throw StorageError(lmdb: code)
            }
        }
    }

    /// Gives the snapshot up and keeps what can be renewed.
    func endReading() {
        closeCursors()
        kind = .none
        // SAFETY: the transaction runs, or has just failed to; resetting is allowed for both.
        if let current = unsafe current {
            unsafe mdb_txn_reset(current)
        }
        handOver()
    }

    // The pool's mutex orders one thread's use before the next one's. The thread sanitizer does not see
    // Swift's `Mutex`, so the same is said by an atomic.
    private func handOver() { isInterrupted.store(false, ordering: .releasing) }
    private func takeOver() { _ = isInterrupted.load(ordering: .acquiring) }

    /// Whether there is something to renew.
    var isKept: Bool { unsafe current != nil }

    /// Lets the next step of the read that runs fail.
    func interrupt() {
        isInterrupted.store(true, ordering: .relaxed)
    }

    @inline(__always)
    func checkInterruption() throws {
        if kind == .read, isInterrupted.load(ordering: .relaxed) {
            throw StorageError(.interrupted, "The work was interrupted.")
        }
    }

    /// The number of the commit whose state is read.
    var snapshotID: Int { unsafe Int(mdb_txn_id(current)) }

    // MARK: - Writing

    /// Begins to write. Other processes' writers have been waited for.
    func beginWriting() throws {
        while true {
            guard let env = unsafe environment.handle else {
                throw StorageError.closed()
            }
            let epoch = environment.handleEpoch
            // SAFETY: the environment is open; `current` is filled in during the call.
            let code = unsafe mdb_txn_begin(env, nil, 0, &current)
            if code == MDB_MAP_RESIZED {
                try environment.adoptMap()
                continue
            }
            try check(code)
            id = unsafe Int(mdb_txn_id(current))
            do {
                // It writes the state after the last commit's.
                if let fresh = try unsafe environment.catalogue(in: current, id: id - 1),
                    epoch == environment.handleEpoch
                {
                    adopt(fresh)
                    break
                }
            } catch {
                abortCurrent()
                throw error
            }
            abortCurrent()
        }
        if id - 1 != lastCommit {
            ends.removeAll(keepingCapacity: true)
        }
        kind = .write
        number &+= 1
        isUndone = false
        isCatalogueChanged = false
    }

    /// Commits. When that fails, everything is undone.
    func commit() throws {
        closeCursors()
        guard kind == .write, outer.isEmpty else {
            rollBack()
            throw StorageError.undone()
        }
        kind = .none
        // SAFETY: the transaction runs; LMDB frees it, whether the commit succeeds or not.
        let code = unsafe mdb_txn_commit(current)
        unsafe current = nil
        defer { endWriting() }
        guard code == MDB_SUCCESS else {
            ends.removeAll()
            throw failure(of: code)
        }
        // To LMDB a transaction that changed nothing is no commit: the next one gets its number, and may
        // be another process's. No other process commits before this one gives the writers' lock back.
        lastCommit = environment.newestCommit
        environment.add(made)
        environment.noteCommit(catalogue, id: lastCommit, isChanged: isCatalogueChanged)
    }

    /// Undoes everything.
    func rollBack() {
        closeCursors()
        kind = .none
        isUndone = false
        while let last = outer.popLast() {
            abortCurrent()
            unsafe current = last.transaction
        }
        abortCurrent()
        rows.removeAll(keepingCapacity: true)
        catalogue = Catalogue()
        ends.removeAll()
        endWriting()
    }

    private func endWriting() {
        made = [:]
        if holdsHandleGate {
            holdsHandleGate = false
            environment.handleGate.signal()
        }
    }

    func abortCurrent() {
        // SAFETY: the transaction runs; LMDB frees it.
        if let transaction = unsafe current {
            unsafe mdb_txn_abort(transaction)
        }
        unsafe current = nil
    }

    /// Throws unless LMDB has succeeded.
    @inline(__always)
    func check(_ code: Int32) throws(StorageError) {
        if code != MDB_SUCCESS { throw failure(of: code) }
    }

    /// The error for a code of LMDB's; has the map grow when the transaction did not fit.
    ///
    /// LMDB reports a short write, as on a full disk, by the code for a failing disk.
    func failure(of code: Int32) -> StorageError {
        if code == MDB_MAP_FULL { environment.isMapTooSmall.store(true, ordering: .relaxed) }
        let error = StorageError(lmdb: code)
        guard error.code == .io, FileSystem.isFull(environment.place.path) else { return error }
        return StorageError(.full, "The disk is full.", underlying: error.underlying)
    }

    // MARK: - Cursors

    /// Makes every open cursor keep a copy of its row and let go of LMDB's.
    func detachCursors() {
        for open in openCursors {
            open.cursor.detach()
        }
        openCursors.removeAll(keepingCapacity: true)
    }

    /// The same, for the cursors of one store.
    @inline(__always)
    func detachCursors(of store: Store) {
        guard !openCursors.isEmpty else { return }
        for open in openCursors where open.cursor.store == store {
            open.cursor.detach()
        }
        openCursors.removeAll { $0.cursor.store == store }
    }

    private func closeCursors() {
        for open in openCursors {
            open.cursor.abandon()
        }
        openCursors.removeAll(keepingCapacity: true)
    }
}
