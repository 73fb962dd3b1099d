// SPDX-License-Identifier: Apache-2.0

// Verbs for tasks. Every other verb blocks its caller, mostly for microseconds; these suspend the
// task instead.
extension Database {
    /// Runs blocking calls on a thread of Divan's, and suspends the task until they have returned.
    ///
    /// ```swift
    /// let saved = try await database.perform { try $0.save(note) }
    /// let open = try await database.perform { _ in try query.run() }
    /// ```
    ///
    /// `body` may make any call, one or many. Calls that wait for the writer delay no other
    /// `perform`, up to some five hundred of them. Where more tasks write at once, or a task writes
    /// many documents, use ``performBatch(_:)``, whose wait holds no thread.
    ///
    /// When the task is cancelled, what may take long inside (enumerations, queries, building indexes,
    /// `verify`, `compact`, copies, imports) stops at its next document or report with
    /// `CancellationError`; so does a write that still waits for its turn. What has been done stays
    /// done.
    ///
    /// - Parameter body: What to do with this database. It must not wait for another task.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins, with nothing done,
    ///   or while something in it may stop; and what `body` throws.
    public func perform<T: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await BlockingWork.runCancellably { [self] in try body(self) }
    }

    /// Runs calls as one transaction, as ``inBatch(_:)`` does, on a thread of Divan's, and suspends the task
    /// until it has been committed.
    ///
    /// ```swift
    /// let count = try await database.performBatch { database in
    ///     for note in notes { try database.save(note) }
    ///     return try database.documentCount
    /// }
    /// ```
    ///
    /// The wait for the writer's turn holds no thread, however many tasks wait. When the task is cancelled while it
    /// waits, `body` does not begin. When it is cancelled later, only what may take long in `body` stops, as in
    /// ``perform(_:)-method``, and the whole transaction is then undone; without such a call it is committed.
    ///
    /// - Parameter body: What to do with this database; an error undoes all of it.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError`, with nothing done, when the task is cancelled before its turn or
    ///   while something in `body` may stop; what `body` throws; and as ``write(_:)``.
    public func performBatch<T: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try checkWritable()
        return try await core.batchAsync { [self] _ in try body(self) }
    }

    /// Runs blocking calls that have no open database yet, such as `open`, `copy` or `salvage`, on a thread of
    /// Divan's, and suspends the task until they have returned.
    ///
    /// ```swift
    /// let database = try await Database.perform { try Database.open(at: url) }
    /// ```
    ///
    /// When the task is cancelled, a copy, an import or a salvage stops at its next report; what makes no reports
    /// runs to its end.
    ///
    /// - Parameter body: What to do.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins, with nothing done, or while
    ///   something in it may stop; and what `body` throws.
    public static func perform<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await BlockingWork.runCancellably(body)
    }
}

extension Manager {
    /// Runs blocking calls on a thread of Divan's, and suspends the task until they have returned.
    ///
    /// ```swift
    /// let database = try await manager.perform { manager in
    ///     try manager.openDatabase(named: "notes", options: options)
    /// }
    /// ```
    ///
    /// Opening an encrypted database takes a while, as copying, converting and importing do. When the
    /// task is cancelled, what may take long stops at its next report.
    ///
    /// - Parameter body: What to do with this manager.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins, with nothing done, or while
    ///   something in it may stop; and what `body` throws.
    public func perform<T: Sendable>(
        _ body: @escaping @Sendable (Manager) throws -> T
    ) async throws -> T {
        try await BlockingWork.runCancellably { [self] in try body(self) }
    }
}
