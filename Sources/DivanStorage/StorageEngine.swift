// SPDX-License-Identifier: Apache-2.0

/// A few ordered key-value stores in one transaction domain.
///
/// This is the whole seam between Divan and what keeps its bytes. An engine gives named stores of
/// byte strings under integer or byte-string keys, one writer at a time, and many readers that each
/// see an unchanging snapshot.
///
/// ```swift
/// let engine = try SQLiteEngine(directory: path)
/// let documents = engine.store(StoreName("documents", .bytes))
/// try engine.write { writer in
///     try writer.set(value.span, forKey: key.span, in: documents)
/// }
/// try engine.read { reader in
///     _ = try reader.withValue(forKey: key.span, in: documents) { value in print(value.count) }
/// }
/// ```
///
///      thread A   write ┌──── set ── set ── commit ┐        ┌── write ──┐
///      thread B            read ┌──── the state before ────┐
///      thread C                            waits its turn   └── write …
///      thread D                                      read ┌─ the state after ─┐
///
/// ## Words
///
/// A *store* exists from the first value written to it until it is dropped. A store that does not
/// exist reads as empty, so no store need be created. The *owner* of a transaction is the thread
/// that runs its closure.
///
/// ## Invariants
///
/// 1. One write transaction at a time, over all threads and processes. Writers are served in turn.
/// 2. A read transaction sees the commits that were acknowledged before it began, all of each, and
///    nothing later. It neither waits for the writer nor makes it wait.
/// 3. A write transaction whose closure throws leaves no trace: not in values, not in stores created
///    or dropped.
/// 4. A `write` inside a `write` of the same thread is a savepoint of it; a `read` inside a `write`
///    sees what that write has done so far; a `read` inside a `read` sees the same snapshot.
/// 5. A value that is lent is exactly the value that was set: its checksum has been verified.
/// 6. Lent bytes, readers, writers and cursors are valid inside the closure they are lent to, on
///    its thread, and nowhere else.
///
/// What it deliberately does not have: secondary indexes, value types, iteration outside a
/// transaction, transactions that outlive a closure.
public protocol StorageEngine: AnyObject, Sendable {
    /// The engine's name in manifests and messages.
    static var identifier: String { get }

    /// Whether a read that meets damage in the engine's own structure throws `.corrupted`.
    ///
    /// Where that is not so, what `verifyStructure` finds must be empty before everything is read.
    static var noticesDamagedStructure: Bool { get }

    /// Returns the handle of a store. Does not touch the disk; see `Store`.
    func store(_ name: StoreName) -> Store

    /// Returns the name of a handle that this engine gave.
    func name(of store: Store) -> StoreName

    /// Runs `body` in a snapshot.
    ///
    /// - Throws: what `body` throws; `StorageError` with code `.closed`, `.io` or `.corrupted`.
    func read(_ body: (any StorageReader) throws -> Void) throws

    /// Whether the calling thread is inside `read`.
    var isReadByCurrentThread: Bool { get }

    /// Runs `body` as the writer, and commits when it returns.
    ///
    /// Waits for the writers before it, in this process without limit, and for those of other
    /// processes up to `StorageOptions.busyTimeout`.
    ///
    /// - Parameters:
    ///   - durably: Whether the commit also survives a power loss, whatever the engine's
    ///     durability. Ignored inside another `write`.
    ///   - body: Receives the writer.
    /// - Throws: what `body` throws, after undoing its work; `StorageError` with code `.closed`,
    ///   `.busy`, `.full`, `.io`, `.readOnly` or `.corrupted`, likewise.
    func write(durably: Bool, _ body: (any StorageWriter) throws -> Void) throws

    /// Whether a commit waits for the disk, so that small writes of several threads had better share one.
    var commitsWaitForDisk: Bool { get }

    /// Makes every commit acknowledged so far survive a power loss.
    func sync() throws

    /// Returns the bytes the engine occupies on disk; 0 in memory.
    func diskSize() throws -> Int

    /// Returns the bytes of it that hold something: without pages that are free for the next writes, and without a log.
    func usedSize() throws -> Int

    /// Gives unused space back to the file system, while readers and writers go on in between.
    ///
    /// - Parameter progress: Receives pages moved; stops the work by throwing.
    /// - Returns: The bytes reclaimed.
    /// - Throws: what `progress` throws; `StorageError` with code `.closed`, `.busy`, `.full`, `.io`,
    ///   `.readOnly`, or `.misuse` inside a write transaction.
    func compact(progress: StorageProgressHandler?) throws -> Int

    /// Copies one snapshot of everything into an empty or missing directory, while others write.
    ///
    /// - Parameters:
    ///   - directory: Where the copy is made.
    ///   - progress: Receives pages copied; stops the work by throwing, which removes the
    ///     copy.
    /// - Throws: what `progress` throws; `StorageError` with code `.misuse` when there is a database in
    ///   the directory, `.closed`, `.full`, `.io` or `.readOnly`.
    func copy(to directory: String, progress: StorageProgressHandler?) throws

    /// Checks the engine's own structure and the checksum of every value of every store.
    ///
    /// - Parameter progress: Receives rows checked; stops the work by throwing.
    /// - Returns: One sentence for each problem; empty when all is well. At most 1,000.
    /// - Throws: what `progress` throws; `StorageError` with code `.closed` or `.io`.
    func verifyStructure(progress: StorageProgressHandler?) throws -> [String]

    /// Waits for the writer, stops the reads, then gives up every lock and connection. Until
    /// `resume()` calls throw `.suspended`; in memory nothing happens. Suspending twice is allowed.
    ///
    /// - Throws: `StorageError` with code `.misuse` inside a transaction of this thread.
    func suspend() throws

    /// Resumes after `suspend()`; without one, nothing happens.
    ///
    /// - Throws: as opening the engine does; it is then still suspended.
    func resume() throws

    /// Waits for the transactions that are running and closes. Later calls throw `.closed`; closing
    /// twice is allowed.
    func close()
}

extension StorageEngine {
    /// True: most engines check what they read.
    public static var noticesDamagedStructure: Bool { true }

    /// False: most engines wait only when they are asked to.
    public var commitsWaitForDisk: Bool { false }

    /// Runs `body` in a snapshot and returns its result.
    @inlinable
    public func read<T>(_ body: (any StorageReader) throws -> T) throws -> T {
        var result: T?
        try read { (reader: any StorageReader) throws -> Void in
            result = try body(reader)
        }
        guard let result else {
            throw StorageError(.misuse, "The engine did not run the transaction.")
        }
        return result
    }

    /// Runs `body` as the writer, commits, and returns its result.
    @inlinable
    public func write<T>(
        durably: Bool = false, _ body: (any StorageWriter) throws -> T
    ) throws -> T {
        var result: T?
        try write(durably: durably) { (writer: any StorageWriter) throws -> Void in
            result = try body(writer)
        }
        guard let result else {
            throw StorageError(.misuse, "The engine did not run the transaction.")
        }
        return result
    }
}

extension StorageEngine {
    /// Returns all of the bytes on disk, for an engine that cannot tell them apart.
    public func usedSize() throws -> Int { try diskSize() }
}
