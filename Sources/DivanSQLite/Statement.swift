// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage

/// One prepared statement: the fence around `sqlite3_stmt`.
///
/// Like its connection, a statement is used by one thread at a time. It never outlives its
/// connection, because it keeps it. What it lends ends with the closure it is lent to; `isLent` makes
/// sure that the statement is not run meanwhile.
@safe
final class Statement {
    // SAFETY: the handle is valid from `init` to `deinit`, and is never passed on.
    private let handle: OpaquePointer
    private let connection: Connection

    /// Whether bytes of the current row are lent.
    private(set) var isLent = false
    /// Whether the statement stands on a row, and so holds its transaction open.
    private(set) var isActive = false

    /// Takes over a statement that SQLite has just prepared.
    init(owning handle: OpaquePointer, of connection: Connection) {
        unsafe self.handle = handle
        self.connection = connection
    }

    deinit {
        // SAFETY: this is the only place that finalises, and nothing uses the handle after it.
        unsafe sqlite3_finalize(handle)
    }

    // MARK: - Running

    /// Goes to the next row; returns whether there is one.
    @inline(__always)
    func step() throws(StorageError) -> Bool {
        precondition(!isLent, "A statement was stepped while bytes of its row were lent.")
        // SAFETY: the handle is valid.
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW:
            isActive = true
            return true
        case SQLITE_DONE:
            isActive = false
            return false
        default:
            throw failure()
        }
    }

    /// As `step()`, with so many instructions of SQLite's machine at most, where the connection bounds its work.
    func step(within instructions: Int) throws(StorageError) -> Bool {
        connection.allowWork(instructions)
        return try step()
    }

    /// Walks from a key on (``RowWalk``); returns whether a visit ended the walk.
    func walk(from key: Int64, _ visit: RowWalk.Visit) throws(StorageError) -> Bool {
        precondition(!isLent, "A statement was stepped while bytes of its row were lent.")
        isLent = true
        // SAFETY: the handle is valid.
        let code = unsafe RowWalk.step(handle, from: key, visit)
        isLent = false
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw failure()
        }
    }

    /// Binds a byte string to each of up to two parameters and steps.
    ///
    /// The bytes are not copied: SQLite reads them during this first step only, which every statement
    /// of this engine guarantees by using its parameters to find or to write one row.
    @inline(__always)
    func step(key: Span<UInt8>) throws(StorageError) -> Bool {
        bind(key, at: 1)
        return try step()
    }

    /// As `step(key:)`, for a key and a value.
    @inline(__always)
    func step(key: Span<UInt8>, value: Span<UInt8>) throws(StorageError) -> Bool {
        bind(key, at: 1)
        bind(value, at: 2)
        return try step()
    }

    /// As `step(key:)`, for an integer key.
    @inline(__always)
    func step(key: Int64) throws(StorageError) -> Bool {
        bind(key, at: 1)
        return try step()
    }

    /// As `step(key:)`, for an integer key and a value.
    @inline(__always)
    func step(key: Int64, value: Span<UInt8>) throws(StorageError) -> Bool {
        bind(key, at: 1)
        bind(value, at: 2)
        return try step()
    }

    /// Leaves the current row and makes the statement ready to run again.
    @inline(__always)
    func reset() {
        precondition(!isLent, "A statement was reset while bytes of its row were lent.")
        isActive = false
        // SAFETY: the handle is valid. The result repeats the error of the last step, if any.
        unsafe _ = sqlite3_reset(handle)
    }

    /// Runs a statement that returns no rows.
    func run() throws(StorageError) {
        defer { reset() }
        while try step() {}
    }

    // MARK: - Parameters

    /// Binds an integer.
    @inline(__always)
    func bind(_ number: Int64, at position: Int32) {
        // SAFETY: the handle is valid; a wrong position would only give an error.
        unsafe _ = sqlite3_bind_int64(handle, position, number)
    }

    /// Binds bytes without copying them; see `step(key:)`.
    @inline(__always)
    private func bind(_ bytes: Span<UInt8>, at position: Int32) {
        // SAFETY: the bytes are lent to the caller for longer than the step that follows, and SQLite
        // does not read them after it. A null pointer would bind NULL, so empty bytes are bound as a
        // blob of no zeros.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress, !buffer.isEmpty {
                unsafe _ = sqlite3_bind_blob64(
                    handle, position, start, UInt64(buffer.count), nil)
            } else {
                unsafe _ = sqlite3_bind_zeroblob(handle, position, 0)
            }
        }
    }

    /// Binds text, copying it.
    func bind(text: String, at position: Int32) {
        // SAFETY: `unsafeBitCast` of -1 is SQLITE_TRANSIENT, for which SQLite copies at once.
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        unsafe _ = sqlite3_bind_text(handle, position, text, -1, transient)
    }

    // MARK: - The current row

    /// Returns an integer of the current row.
    @inline(__always)
    func integer(at column: Int32) -> Int64 {
        // SAFETY: the handle is valid.
        unsafe sqlite3_column_int64(handle, column)
    }

    /// Returns whether a value of the current row is NULL.
    func isNull(at column: Int32) -> Bool {
        // SAFETY: the handle is valid.
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// Returns a text of the current row.
    func text(at column: Int32) -> String {
        // SAFETY: the handle is valid; the text is copied before anything else is called.
        guard let start = unsafe sqlite3_column_text(handle, column) else {
            return ""
        }
        return unsafe String(cString: start)
    }

    /// Lends a byte string of the current row.
    @inline(__always)
    func withBytes<R>(at column: Int32, _ body: (Span<UInt8>) throws -> R) rethrows -> R {
        let wasLent = isLent
        isLent = true
        defer { isLent = wasLent }
        // SAFETY: the pointer is valid until the statement is stepped, reset or finalised; `isLent`
        // forbids the first two until `body` has returned, and the caller holds a reference.
        let start = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        let buffer = unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
        return try unsafe body(Span(_unsafeElements: buffer.assumingMemoryBound(to: UInt8.self)))
    }

    /// Resets the statement and makes the error of the step that just failed.
    @inline(never)
    private func failure() -> StorageError {
        let error = connection.lastError()
        reset()
        return StorageError(error)
    }
}
