// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// A connection with its statements, and the transaction that runs on it now, if one does.
///
/// One object serves all transactions of its connection, one after the other, so that beginning one
/// allocates nothing. It is lent as a `StorageReader` or a `StorageWriter`.
///
/// A read transaction is a statement that stands on a row: SQLite keeps a snapshot as long as any
/// statement does. That runs one small program instead of two for `BEGIN` and `COMMIT`. It also
/// takes the snapshot at once, which `BEGIN` leaves to the first look-up. A write transaction is a
/// `BEGIN IMMEDIATE`.
final class SQLiteTransaction {
    /// What runs on the connection.
    enum Kind {
        case none, read, write
    }

    let connection: Connection
    private let registry: StoreRegistry
    private(set) var kind = Kind.none
    /// Tells a cursor of this transaction from one of an earlier one.
    private(set) var number = 0
    /// The version of the schema that a snapshot has; nil while writing.
    private(set) var schema: Int64?
    /// What callers keep of the content of `notedVersion`.
    private var keptNotes: AnyObject?
    private var notedVersion: UInt32?
    /// Whether the write transaction was undone before its end, so that nothing more may run in it.
    private(set) var isUndone = false
    /// How many savepoints are open.
    var depth = 0
    /// Whether stores were created or dropped, so that undoing must forget statements.
    var didChangeStores = false
    /// The cursors that stand on a row, for the moments when SQLite allows none.
    var openCursors: [OpenCursor] = []
    let sealing = SealingBuffer()

    private var stores: [StoreStatements?] = []
    private var snapshot: Statement?
    private var begin: Statement?
    private var commitStatement: Statement?

    init(connection: Connection, registry: StoreRegistry) {
        self.connection = connection
        self.registry = registry
    }

    // MARK: - Statements

    /// Returns the statements of a store.
    @inline(__always)
    func statements(of store: Store) throws(StorageError) -> StoreStatements {
        guard kind != .none else {
            throw isUndone
                ? .undone() : .misuse("A reader, writer or cursor was used after its transaction.")
        }
        if store.index < stores.count, let known = stores[store.index] {
            return known
        }
        return meet(store)
    }

    @inline(never)
    private func meet(_ store: Store) -> StoreStatements {
        let met = StoreStatements(
            store: store, name: registry.name(of: store), connection: connection)
        var known = stores
        while known.count <= store.index {
            known.append(nil)
        }
        known[store.index] = met
        stores = known
        return met
    }

    /// Returns the name of a store, for messages.
    func name(of store: Store) -> StoreName {
        registry.name(of: store)
    }

    /// Lets go of every kept statement of every store.
    func forgetStatements() {
        for store in stores {
            store?.forget()
        }
    }

    // MARK: - Beginning and ending

    /// Takes a snapshot.
    func beginReading() throws(StorageError) {
        let statement: Statement
        if let snapshot {
            statement = snapshot
        } else {
            // The cheapest program that reads the file, so it takes the snapshot, and always gives a
            // row, so it holds it.
            statement = try connection.prepare("PRAGMA schema_version")
            snapshot = statement
        }
        _ = try statement.step()
        schema = statement.integer(at: 0)
        let version = connection.contentVersion
        if version == nil || version != notedVersion { keptNotes = nil }
        notedVersion = version
        kind = .read
        number &+= 1
    }

    var notes: AnyObject? {
        get { kind == .read ? keptNotes : nil }
        set { if kind == .read { keptNotes = newValue } }
    }

    /// Gives the snapshot up.
    func endReading() {
        closeCursors()
        kind = .none
        snapshot?.reset()
    }

    /// Waits for other processes' writers and begins to write.
    func beginWriting() throws(StorageError) {
        let statement: Statement
        if let begin {
            statement = begin
        } else {
            statement = try connection.prepare("BEGIN IMMEDIATE")
            begin = statement
        }
        try statement.run()
        schema = nil
        kind = .write
        number &+= 1
        depth = 0
        didChangeStores = false
        isUndone = false
    }

    /// Commits. When that fails, everything is undone.
    func commit() throws(StorageError) {
        closeCursors()
        // SQLite may have undone everything in a failure that was not noted; what follows it must
        // not pass for committed.
        noteFailure()
        guard kind == .write else {
            rollBack()
            throw StorageError.undone()
        }
        let statement: Statement
        if let commitStatement {
            statement = commitStatement
        } else {
            statement = try connection.prepare("COMMIT")
            commitStatement = statement
        }
        do {
            try statement.run()
            kind = .none
        } catch {
            rollBack()
            throw error
        }
    }

    /// Undoes everything. Never fails: what SQLite cannot undo now it undoes at the next opening.
    func rollBack() {
        closeCursors()
        kind = .none
        isUndone = false
        if didChangeStores {
            forgetStatements()
        }
        if !connection.isOutsideTransaction {
            // SQLite rolls back by itself after some errors; then there is nothing left to do.
            try? connection.execute("ROLLBACK")
        }
    }

    /// Notes that a statement has failed.
    ///
    /// After some errors, such as a full disk, SQLite undoes the whole transaction by itself, even
    /// when a look-up failed. What the closure did after catching such an error would then commit on
    /// its own, so nothing more may run.
    func noteFailure() {
        if kind == .write, connection.isOutsideTransaction {
            condemn()
        }
    }

    /// Lets nothing more run in the write transaction, which is undone at its end if it is still open.
    func condemn() {
        kind = .none
        isUndone = true
    }

    /// Runs something of SQLite's that may fail, and notes it when it does.
    @inline(__always)
    func noting<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
        do {
            return try body()
        } catch {
            noteFailure()
            throw error
        }
    }

    private func closeCursors() {
        for open in openCursors {
            open.cursor.abandon()
        }
        openCursors.removeAll(keepingCapacity: true)
    }

    /// Makes every open cursor keep a copy of its row and let go of its statement.
    ///
    /// - Throws: `.misuse` when a row is lent, since its statement cannot come to rest.
    func detachCursors() throws(StorageError) {
        for open in openCursors {
            try open.cursor.detach()
        }
        openCursors.removeAll(keepingCapacity: true)
    }

    /// As `detachCursors()`, but leaves the statement of a lent row to its borrower.
    func detachCursorsUnlessLent() {
        for open in openCursors {
            open.cursor.detachUnlessLent()
        }
        openCursors.removeAll(keepingCapacity: true)
    }
}
