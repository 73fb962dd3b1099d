// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage
internal import DivanSystem

/// One connection to a database file: the fence around `sqlite3`.
///
/// SQLite runs without its own mutexes here, so a connection is used by one thread at a time: the
/// writer inside its `ConnectionQueue`, a reader while it is borrowed from the `ReaderPool`. The one
/// exception is `interrupt()`, which any thread may call.
@safe
final class Connection {
    /// The bytes that the path of a file may have: SQLite keeps 512, with room for what it appends.
    private static let longestPath = 504

    // SAFETY: the handle is valid from the end of `init` to `deinit`. Statements keep the connection,
    // so all of them are finalised before it closes.
    private let handle: OpaquePointer
    /// Where SQLite's hook puts the length of the log after each commit.
    private let logFrames: UnsafeMutablePointer<Int32>
    /// How much work SQLite may still do, where that is bounded.
    private let workLeft: UnsafeMutablePointer<Int>
    /// What the connection's files are sealed by, which must outlive them.
    private let codec: PageCodec?

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - location: A path; with the flag for it, a URI.
    ///   - flags: `SQLITE_OPEN_` flags; NOMUTEX and extended result codes are added.
    ///   - codec: What seals the files; nil for files that are not sealed.
    /// - Throws: the error of SQLite's, as the table in `StorageError+SQLite.swift` has it.
    init(location: String, flags: Int32, codec: PageCodec? = nil) throws(StorageError) {
        self.codec = codec
        // SAFETY: SQLite gives a handle even when opening fails, which is closed then; the pointer to
        // the local variable is used inside the call only.
        var opened: OpaquePointer?
        let all = flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let files = unsafe divan_sqlite3_files_vfs().map { unsafe String(cString: $0) }
        let code = unsafe sqlite3_open_v2(location, &opened, all, codec?.name ?? files)
        guard let database = unsafe opened, code == SQLITE_OK else {
            let message = unsafe String(cString: sqlite3_errmsg(opened))
            let number = unsafe sqlite3_system_errno(opened)
            unsafe sqlite3_close(opened)
            if code & 0xFF == SQLITE_CANTOPEN, location.utf8.count > Self.longestPath {
                throw StorageError.pathTooLong(location)
            }
            throw StorageError(
                SQLiteError(extendedCode: code, message: message, systemNumber: number))
        }
        unsafe handle = database
        unsafe logFrames = .allocate(capacity: 1)
        unsafe logFrames.initialize(to: 0)
        unsafe workLeft = .allocate(capacity: 1)
        unsafe workLeft.initialize(to: .max)
        unsafe RowWalk.register(with: database)
        // SAFETY: the hook runs inside `step` of this connection, and the pointer lives as long as it.
        unsafe _ = sqlite3_wal_hook(
            database,
            { context, _, _, frames in
                unsafe context?.assumingMemoryBound(to: Int32.self).pointee = frames
                return SQLITE_OK
            }, logFrames)
    }

    deinit {
        // SAFETY: nothing can use the handle any more. `close_v2` waits for statements, of which
        // there are none; the hooks' pointers go after the connection that uses them.
        unsafe sqlite3_close_v2(handle)
        unsafe logFrames.deallocate()
        unsafe workLeft.deallocate()
    }

    // MARK: - Statements

    /// Prepares a statement that is kept.
    func prepare(_ sql: String) throws(StorageError) -> Statement {
        guard let statement = try prepareIfPossible(sql) else {
            throw StorageError(lastError())
        }
        return statement
    }

    /// Prepares a statement, or returns `nil` when a table it names does not exist as it says.
    ///
    /// The statements of this engine are well formed, so that is the only plain `SQLITE_ERROR`.
    func prepareIfPossible(_ sql: String) throws(StorageError) -> Statement? {
        // SAFETY: the handle is valid; the text and the local variable live longer than the call.
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        if code & 0xFF == SQLITE_ERROR {
            return nil
        }
        guard let statement = unsafe prepared, code == SQLITE_OK else {
            throw StorageError(lastError())
        }
        return unsafe Statement(owning: statement, of: self)
    }

    /// Runs a statement once.
    func execute(_ sql: String) throws(StorageError) {
        try prepare(sql).run()
    }

    /// Runs a statement once and returns the first column of its first row as a number.
    func integer(_ sql: String) throws(StorageError) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(at: 0) : 0
    }

    /// Runs a statement once and returns the first column of its first row as a text.
    func text(_ sql: String) throws(StorageError) -> String {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.text(at: 0) : ""
    }

    // MARK: - State

    /// Whether no transaction is open.
    var isOutsideTransaction: Bool {
        // SAFETY: the handle is valid.
        unsafe sqlite3_get_autocommit(handle) != 0
    }

    /// The rows that the last statement changed.
    var changes: Int64 {
        // SAFETY: the handle is valid.
        unsafe sqlite3_changes64(handle)
    }

    /// The pages in the log after this connection's last commit.
    var lastLogFrames: Int {
        // SAFETY: written only by the hook, on the thread that uses the connection.
        unsafe Int(logFrames.pointee)
    }

    /// The error of the call that just failed.
    func lastError() -> SQLiteError {
        // SAFETY: the handle is valid; the message is copied before anything else is called.
        unsafe SQLiteError(
            extendedCode: sqlite3_extended_errcode(handle),
            message: String(cString: sqlite3_errmsg(handle)),
            systemNumber: sqlite3_system_errno(handle))
    }

    /// Has SQLite end a statement, as interrupted, that does more work than `allowWork(_:)` has allowed last.
    func boundWork() {
        // SAFETY: the handler runs inside `step` of this connection, and the pointer lives as long as it.
        unsafe sqlite3_progress_handler(
            handle, Int32(pieceOfWork),
            { context in
                guard let left = unsafe context?.assumingMemoryBound(to: Int.self) else { return 0 }
                unsafe left.pointee -= pieceOfWork
                return unsafe left.pointee < 0 ? 1 : 0
            }, workLeft)
    }

    /// Allows so many more instructions of SQLite's machine, whatever was left.
    func allowWork(_ instructions: Int) {
        // SAFETY: read only by the handler, on the thread that uses the connection.
        unsafe workLeft.pointee = instructions
    }

    /// How long to wait for another process's lock: 24 days at most, which SQLite can count.
    func setBusyTimeout(_ timeout: Duration) {
        let milliseconds = Int32(clamping: timeout.boundedMilliseconds)
        // SAFETY: the handle is valid.
        unsafe _ = sqlite3_busy_timeout(handle, milliseconds)
    }

    /// Stops the statements that run now. Any thread may call this while the connection lives.
    func interrupt() {
        // SAFETY: SQLite allows this from any thread as long as the connection is open.
        unsafe sqlite3_interrupt(handle)
    }

    // MARK: - Files

    /// Forces what is in the log to the disk.
    func syncLog() throws(StorageError) {
        // SAFETY: SQLite fills in a pointer to its own file object, which is valid until the next
        // call on this connection; the object's methods are there when it is open.
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = unsafe sqlite3_file_control(
            handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard code == SQLITE_OK, let log = unsafe file, let methods = unsafe log.pointee.pMethods,
            let sync = unsafe methods.pointee.xSync
        else {
            return
        }
        let result = unsafe sync(log, SQLITE_SYNC_NORMAL)
        if result != SQLITE_OK {
            throw StorageError(
                SQLiteError(extendedCode: result, message: "the log could not be synced"))
        }
    }

    /// Whether the file is no longer where it was opened.
    var hasMoved: Bool {
        var moved: Int32 = 0
        // SAFETY: the handle is valid; a file system without the question leaves the 0.
        unsafe _ = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return moved != 0
    }

    /// Changes when the connection's next snapshot has other content, whichever connection of whichever process has
    /// written it; nil where SQLite does not say.
    var contentVersion: UInt32? {
        var version: UInt32 = 0
        // SAFETY: the handle is valid, and the local variable lives longer than the call.
        let code = unsafe sqlite3_file_control(
            handle, nil, SQLITE_FCNTL_DATA_VERSION, &version)
        return code == SQLITE_OK ? version : nil
    }

    /// Has SQLite leave some bytes at the end of each page; for a database that is about to be made.
    func reserve(_ count: Int32) throws(StorageError) {
        var wanted = count
        // SAFETY: the handle is valid, and the local variable lives longer than the call.
        let code = unsafe sqlite3_file_control(
            handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &wanted)
        if code != SQLITE_OK {
            throw StorageError(SQLiteError(extendedCode: code, message: "no bytes were reserved"))
        }
    }

    /// How far a checkpoint goes.
    enum Checkpoint {
        /// Moves pages into the file as far as readers allow, and does not wait.
        case passive
        /// Also waits for the readers that use the log, so that the next commit begins it anew.
        case restart
        /// Also cuts the log's file off.
        case truncate

        fileprivate var mode: Int32 {
            switch self {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        }
    }

    /// Moves the log's pages into the file.
    ///
    /// - Returns: Whether all of the log was moved, which readers may prevent.
    func checkpoint(_ kind: Checkpoint) throws(StorageError) -> Bool {
        // SAFETY: the handle is valid; the local variables live longer than the call.
        var frames: Int32 = 0
        var moved: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(handle, "main", kind.mode, &frames, &moved)
        if code != SQLITE_OK, code & 0xFF != SQLITE_BUSY {
            throw StorageError(lastError())
        }
        return code == SQLITE_OK && frames == moved
    }

    /// Lends the handle to the backup's own fence.
    func withHandle<R>(_ body: (OpaquePointer) throws -> R) rethrows -> R {
        // SAFETY: valid for the length of the call.
        try unsafe body(handle)
    }
}

/// After so many instructions SQLite's machine asks whether it may go on.
private let pieceOfWork = 100_000
