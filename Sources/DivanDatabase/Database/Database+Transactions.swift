// SPDX-License-Identifier: Apache-2.0

extension Database {
    /// Runs `body` on one unchanging view of the database and returns its result.
    ///
    /// Never waits for the writer. Inside a batch of the same thread it sees what the batch has done.
    /// Elsewhere `body` may only read: a write in it is an error with code `.readOnly`.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`, and whatever
    ///   `body` throws.
    public func read<T>(_ body: (borrowing ReadTransaction) throws -> T) throws -> T {
        try checkOpen()
        return try core.read { try ReadTransaction.lend($0, to: body) }
    }

    /// Runs `body` as the writer and commits what it did; when it throws, nothing of it is kept.
    ///
    /// Waits for other writers. A `write` inside another one of the same thread is a part of it: if
    /// the inner one throws and the outer one catches that, only the inner one's work is undone.
    ///
    /// - Throws: `DatabaseError` with code `.readOnly` (also inside a `read`), `.databaseBusy`, `.storageFull`, `.io`,
    ///   `.corrupted` or `.databaseClosed`, and whatever `body` throws.
    @discardableResult
    public func write<T>(_ body: (borrowing WriteTransaction) throws -> T) throws -> T {
        try checkWritable()
        return try core.batch { try WriteTransaction.lend($0, to: body) }
    }

    /// Runs `body` with all its saves and deletions in one transaction.
    ///
    /// ```swift
    /// try database.inBatch {
    ///     for row in rows { try database.save(MutableDocument(row)) }
    /// }
    /// ```
    ///
    /// A batch is atomic (an error undoes all of it) and isolated (no other thread or process sees a
    /// part of it), and far faster than single saves. The calls must be made by the thread that runs
    /// `body`; what another thread or task does meanwhile is not part of the batch and waits for its end.
    ///
    /// - Throws: as `write(_:)`.
    @discardableResult
    public func inBatch<T>(_ body: () throws -> T) throws -> T {
        try checkWritable()
        return try core.batch { _ in try body() }
    }

    /// Joins the open batch of this thread, or makes a transaction of one operation.
    func operation<T>(_ body: (borrowing WriteTransaction) throws -> T) throws -> T {
        try checkWritable()
        return try core.write { try WriteTransaction.lend($0, to: body) }
    }

    /// The same, by one commit with the operations of other threads where that is better. Another thread may run `body`:
    /// see `DatabaseCore.writeTogether`.
    func jointOperation<T>(_ body: (borrowing WriteTransaction) throws -> T) throws -> T {
        try checkWritable()
        return try core.writeTogether { try WriteTransaction.lend($0, to: body) }
    }
}
