// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
public import DivanStorage

/// The storage engine on SQLite: one file in write-ahead-log mode, a table for each store.
///
/// ```swift
/// let engine = try SQLiteEngine(directory: "/data/app.divan/data-1")
/// ```
///
///      writer   ConnectionQueue ── connection ─┐
///      readers  ReaderPool ─┬─ connection ─────┼── main.sqlite3, main.sqlite3-wal, -shm
///                           └─ connection ─────┘
///
/// One connection writes, others read. In write-ahead-log mode a reader keeps the state of the
/// moment it began, and neither waits for the writer nor makes it wait.
public final class SQLiteEngine: StorageEngine {
    /// The engine's name in manifests and messages.
    public static let identifier = "sqlite"

    let place: DatabasePlace
    let options: StorageOptions
    let registry = StoreRegistry()
    let writer: ConnectionQueue<SQLiteWriter>
    let readers: ReaderPool<SQLiteTransaction>
    private let isClosed = Atomic(false)
    /// Whether reads are refused until the engine resumes.
    private let isSuspended = Atomic(false)

    /// Opens the database in a directory, creating both when that is asked for.
    ///
    /// - Throws: `StorageError` with code `.corrupted` when the file is not one of SQLite's, or is
    ///   missing, cut off or empty without `createsIfMissing`; `.notFound` when a read-only engine finds none;
    ///   `.readOnly`, `.io`, `.full` or `.busy`.
    public convenience init(
        directory: String, options: StorageOptions = StorageOptions()
    ) throws {
        let place = try SQLiteEngine.place(in: directory, options: options)
        try self.init(place: place, options: options)
    }

    /// Opens an empty database in memory, which lives as long as the engine is open.
    public static func inMemory(
        options: StorageOptions = StorageOptions()
    ) throws -> SQLiteEngine {
        try SQLiteEngine(place: .memory(), options: options)
    }

    init(place: DatabasePlace, options: StorageOptions) throws {
        self.place = place
        self.options = options
        let first = try SQLiteEngine.openWriter(at: place, options: options)
        writer = ConnectionQueue(
            label: "divan.sqlite.writer",
            SQLiteWriter(SQLiteTransaction(connection: first, registry: registry)))
        readers = ReaderPool(limit: options.readerLimit)
    }

    deinit {
        close()
    }

    /// Returns the handle of a store. See `StorageEngine`.
    public func store(_ name: StoreName) -> Store {
        registry.store(name)
    }

    /// Returns the name of a handle that this engine gave. See `StorageEngine`.
    public func name(of store: Store) -> StoreName {
        registry.name(of: store)
    }

    // MARK: - Reading

    /// Runs `body` in a snapshot. See `StorageEngine`.
    public func read(_ body: (any StorageReader) throws -> Void) throws {
        if writer.isOwnedByCurrentThread, try readInsideWrite(body) {
            return
        }
        try withSnapshot { try body($0) }
    }

    /// Runs `body` with this thread's read transaction, taking a snapshot if it is the outermost use.
    func withSnapshot(_ body: (SQLiteTransaction) throws -> Void) throws {
        var isOutermost = false
        // A read that closes the engine ends after `close`, which has put away the other readers.
        defer {
            if isOutermost { readers.giveBack(keeping: !isClosed.load(ordering: .relaxed)) }
        }
        try read(&isOutermost, body)
    }

    /// Holds the reader, and has let go of it when it returns. A connection closes with its last reference, so no thread may
    /// hold one that it has given back: `suspend` would leave files open.
    @inline(never)
    private func read(
        _ isOutermost: inout Bool, _ body: (SQLiteTransaction) throws -> Void
    ) throws {
        let transaction: SQLiteTransaction
        (transaction, isOutermost) = try readers.borrow(
            for: ObjectIdentifier(self), admitting: checkOpen
        ) { others in
            SQLiteTransaction(
                connection: try SQLiteEngine.openReader(
                    at: place, options: options, others: others),
                registry: registry)
        }
        guard isOutermost else { return try body(transaction) }
        try transaction.beginReading()
        defer { transaction.endReading() }
        try body(transaction)
    }

    private func checkOpen() throws {
        if isClosed.load(ordering: .sequentiallyConsistent) {
            throw StorageError.closed()
        }
        if isSuspended.load(ordering: .sequentiallyConsistent) {
            throw StorageError.suspended()
        }
    }

    /// Whether the calling thread is inside `read`.
    public var isReadByCurrentThread: Bool { readers.isUsedByCurrentThread }

    /// Runs a read that was asked for inside this thread's write, which it is a part of.
    private func readInsideWrite(_ body: (any StorageReader) throws -> Void) throws -> Bool {
        try writer.sync { writer in
            guard let transaction = writer.transaction, transaction.kind == .write else {
                return false
            }
            try body(transaction)
            return true
        }
    }

    /// Stops the reads that are running, which then throw `.interrupted`.
    package func interrupt() {
        readers.forEachLent(to: ObjectIdentifier(self)) { $0.connection.interrupt() }
    }

    // MARK: - Writing

    /// Runs `body` as the writer, and commits when it returns. See `StorageEngine`.
    public func write(durably: Bool, _ body: (any StorageWriter) throws -> Void) throws {
        try writer.sync { writer in
            try self.write(with: writer, durably: durably, body)
        }
    }

    private func write(
        with writer: SQLiteWriter, durably: Bool, _ body: (any StorageWriter) throws -> Void
    ) throws {
        let transaction = try openTransaction(of: writer)
        if transaction.kind == .write {
            return try transaction.savepoint { try body(transaction) }
        }
        if transaction.isUndone {
            // Still inside the outer write: a new transaction would commit without the rest of it.
            throw StorageError.undone()
        }
        if options.isReadOnly {
            throw StorageError.openedReadOnly()
        }
        if transaction.connection.hasMoved {
            throw StorageError(.io, "The database file was moved or deleted while it was open.")
        }
        try transaction.beginWriting()
        do {
            try body(transaction)
        } catch {
            transaction.rollBack()
            throw error
        }
        try transaction.commit()
        if durably, options.durability != .full {
            try transaction.connection.syncLog()
        }
        writer.checkpointIfDue(busyTimeout: options.busyTimeout)
    }

    /// Whether a commit waits for the disk: with durability `.full`. See `StorageEngine`.
    public var commitsWaitForDisk: Bool { options.durability == .full && place.directory != nil }

    /// Makes every commit acknowledged so far survive a power loss. See `StorageEngine`.
    public func sync() throws {
        try writer.sync { writer in
            let transaction = try openTransaction(of: writer)
            if transaction.kind == .write {
                throw StorageError.misuse("sync() was called inside a write transaction.")
            }
            if !options.isReadOnly {
                try transaction.connection.syncLog()
            }
        }
    }

    func openTransaction(of writer: SQLiteWriter) throws -> SQLiteTransaction {
        guard let transaction = writer.transaction else {
            throw writer.isSuspended ? StorageError.suspended() : StorageError.closed()
        }
        return transaction
    }

    // MARK: - Suspending and closing

    /// Gives up every lock and connection. See `StorageEngine`.
    public func suspend() throws {
        guard place.directory != nil, !isClosed.load(ordering: .acquiring) else { return }
        guard !writer.isOwnedByCurrentThread, !readers.isUsedByCurrentThread else {
            throw StorageError.misuse("suspend() was called inside a transaction.")
        }
        isSuspended.store(true, ordering: .sequentiallyConsistent)
        interrupt()
        closeReaders()
        writer.sync { writer in
            writer.isSuspended = true
            writer.transaction = nil
        }
    }

    /// Resumes after `suspend()`. See `StorageEngine`.
    public func resume() throws {
        try writer.sync { writer in
            guard writer.isSuspended, let directory = place.directory else { return }
            var options = options
            options.createsIfMissing = false
            _ = try SQLiteEngine.place(in: directory, options: options)
            let connection = try SQLiteEngine.openWriter(at: place, options: options)
            writer.transaction = SQLiteTransaction(connection: connection, registry: registry)
            writer.isSuspended = false
        }
        isSuspended.store(false, ordering: .sequentiallyConsistent)
    }

    /// Waits for the reads of other threads, and closes the connections that no thread uses then.
    private func closeReaders() {
        readers.drain(ObjectIdentifier(self))
        readers.removeIdle()
    }

    /// Waits for the transactions that are running and closes. See `StorageEngine`.
    ///
    /// Called inside a read, it waits for all but that one, which goes on to its end.
    public func close() {
        if isClosed.exchange(true, ordering: .sequentiallyConsistent) {
            return
        }
        closeReaders()
        writer.sync { writer in
            writer.transaction = nil
            writer.isSuspended = false
        }
    }
}
