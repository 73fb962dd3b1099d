// SPDX-License-Identifier: Apache-2.0

public import DivanStorage
internal import DivanSystem
internal import Synchronization

/// The storage engine on LMDB: one mapped file of copy-on-write B-trees.
///
/// ```swift
/// import Divan
/// import DivanLMDB
///
/// manager.defaultStorageEngine = .lmdb
/// ```
///
/// Readers look at the mapped file itself: what they are lent is not copied, and they neither lock nor
/// wait. A writer never changes a page that a reader may see, so it does not wait for them either.
///
/// ## Durability
///
/// Every commit forces its pages to the disk. With `.normal` the page that makes them count follows
/// with the next commit, or `sync()`; with `.full` it is forced at once, too. So a commit costs one or
/// two waits for the disk, whatever its size: put many changes into one batch. A setting that does not
/// wait is not offered, since LMDB could then be corrupted by a power loss.
///
/// ## What it does not have
///
/// Databases in memory, which SQLite keeps; encryption; and a file that shrinks by itself:
/// `compact(progress:)` rewrites it when no other engine has it open.
public final class LMDBEngine: StorageEngine {
    /// The engine's name in manifests and messages.
    public static let identifier = "lmdb"
    /// LMDB follows what its pages say without checking it.
    public static let noticesDamagedStructure = false
    /// How often the places of dead readers are cleared, at most.
    private static let clearingInterval = Duration.seconds(10)

    let environment: LMDBEnvironment
    let options: StorageOptions
    private let identity: FileIdentity
    private let isClosed = Atomic(false)
    private let isSuspended = Atomic(false)

    /// Opens the database in a directory, creating both when that is asked for.
    ///
    /// - Throws: `StorageError` with code `.corrupted` when the file is not one of LMDB's, has been cut
    ///   short, or is missing or empty without `createsIfMissing`; `.notFound` when a read-only engine
    ///   finds none; `.unsupported` when there is a key; `.readOnly`, `.io`, `.full` or `.busy`.
    public convenience init(
        directory: String, options: StorageOptions = StorageOptions()
    ) throws {
        try self.init(LMDBPlace(directory, options), options)
    }

    /// Opens the database in a directory with little address space reserved at first, as tests do.
    ///
    /// - Throws: as `init(directory:options:)`.
    package convenience init(directory: String, firstMapSize: Int) throws {
        let options = StorageOptions()
        try self.init(LMDBPlace(directory, options, firstMapSize: firstMapSize), options)
    }

    init(_ place: LMDBPlace, _ options: StorageOptions) throws {
        self.options = options
        (environment, identity) = try EnvironmentRegistry.shared.open(place)
    }

    deinit {
        close()
    }

    /// Returns the handle of a store. See `StorageEngine`.
    public func store(_ name: StoreName) -> Store {
        environment.registry.store(name)
    }

    /// Returns the name of a handle that this engine gave. See `StorageEngine`.
    public func name(of store: Store) -> StoreName {
        environment.registry.name(of: store)
    }

    // MARK: - Reading

    /// Runs `body` in a snapshot. See `StorageEngine`.
    public func read(_ body: (any StorageReader) throws -> Void) throws {
        if environment.writer.isOwnedByCurrentThread, try readInsideWrite(body) {
            return
        }
        try withSnapshot { try body($0) }
    }

    /// Whether the calling thread is inside `read`.
    public var isReadByCurrentThread: Bool { environment.readers.isUsedByCurrentThread }

    /// Runs `body` with this thread's read transaction, taking a snapshot if it is the outermost use.
    ///
    /// - Parameters:
    ///   - whenClosed: Whether an engine that is closed meanwhile may go on: only for the writer, whose end
    ///     closing waits for.
    ///   - body: What to do in the snapshot.
    /// - Throws: `StorageError` with code `.closed`, `.suspended` or `.busy`, and what `body` throws.
    func withSnapshot(
        whenClosed: Bool = false, _ body: (LMDBTransaction) throws -> Void
    ) throws {
        while try !tryWithSnapshot(whenClosed, body) {
            try environment.adoptMap()
        }
    }

    /// Does that; returns false, having done nothing, when the map must be adopted first.
    private func tryWithSnapshot(
        _ whenClosed: Bool, _ body: (LMDBTransaction) throws -> Void
    ) throws -> Bool {
        // Not before the transaction has been given back.
        defer { closeIfAsked() }
        let (transaction, isOutermost) = try environment.readers.borrow(
            for: ObjectIdentifier(self), admitting: { if !whenClosed { try checkOpen() } },
            making: { _ in LMDBTransaction(environment) })
        guard isOutermost else {
            try body(transaction)
            return true
        }
        // One that never began, as when the file cannot be read, would keep the environment, which keeps the pool, alive.
        defer { environment.readers.giveBack(keeping: transaction.isKept) }
        guard try transaction.beginReading() else { return false }
        defer { transaction.endReading() }
        try body(transaction)
        return true
    }

    /// Runs a read that was asked for inside this thread's write, which it is a part of.
    private func readInsideWrite(_ body: (any StorageReader) throws -> Void) throws -> Bool {
        try environment.writer.sync { writer in
            guard let transaction = writer.transaction, transaction.kind == .write else {
                return false
            }
            try body(transaction)
            return true
        }
    }

    /// Stops the reads that are running, which then throw `.interrupted`.
    package func interrupt() {
        environment.readers.forEachLent(to: ObjectIdentifier(self)) { $0.interrupt() }
    }

    // MARK: - Writing

    /// Runs `body` as the writer, and commits when it returns. See `StorageEngine`.
    public func write(durably: Bool, _ body: (any StorageWriter) throws -> Void) throws {
        defer { closeIfAsked() }
        try environment.writer.sync { writer in
            try self.write(with: writer, durably: durably, body)
        }
    }

    /// Finishes a closing that had to wait while this thread was reading or writing.
    func closeIfAsked() {
        if isClosed.load(ordering: .relaxed) || isSuspended.load(ordering: .relaxed) {
            EnvironmentRegistry.shared.collect(identity)
        }
    }

    private func write(
        with writer: LMDBWriter, durably: Bool, _ body: (any StorageWriter) throws -> Void
    ) throws {
        let transaction = try openTransaction(of: writer)
        if transaction.kind == .write {
            return try transaction.savepoint { try body(transaction) }
        }
        if options.isReadOnly {
            throw StorageError.openedReadOnly()
        }
        try environment.lockWriter(timeout: options.busyTimeout)
        defer { environment.unlockWriter() }
        try environment.checkPlace()
        try prepare(writer)
        try transaction.beginWriting()
        do {
            try body(transaction)
        } catch {
            transaction.rollBack()
            throw error
        }
        do { try transaction.commit() } catch let error as StorageError {
            throw error.explained(at: environment.place.path)
        }
        // The transaction is committed even if this fails; the next writer does it again.
        try? environment.keepLength()
        if durably || options.durability == .full {
            try environment.sync()
        }
    }

    /// Does the regular upkeep before a write.
    private func prepare(_ writer: LMDBWriter) throws {
        try environment.growMap()
        let now = ContinuousClock.now
        if writer.lastClearing.map({ now - $0 > LMDBEngine.clearingInterval }) ?? true {
            writer.lastClearing = now
            environment.clearStaleReaders()
        }
    }

    /// True: every commit forces its pages to the disk. See `StorageEngine`.
    public var commitsWaitForDisk: Bool { true }

    /// Makes every commit acknowledged so far survive a power loss. See `StorageEngine`.
    public func sync() throws {
        defer { closeIfAsked() }
        try environment.writer.sync { writer in
            let transaction = try openTransaction(of: writer)
            if transaction.kind == .write {
                throw StorageError.misuse("sync() was called inside a write transaction.")
            }
            if !options.isReadOnly {
                try environment.sync()
            }
        }
    }

    /// The transaction of the writer, which may be at work.
    func openTransaction(of writer: LMDBWriter) throws -> LMDBTransaction {
        try checkOpen()
        if let transaction = writer.transaction {
            return transaction
        }
        let transaction = LMDBTransaction(environment)
        writer.transaction = transaction
        return transaction
    }

    private func checkOpen() throws {
        if isClosed.load(ordering: .sequentiallyConsistent) {
            throw StorageError.closed()
        }
        if isSuspended.load(ordering: .sequentiallyConsistent) {
            throw StorageError.suspended()
        }
    }

    // MARK: - Suspending and closing

    /// Gives up every lock and the file. See `StorageEngine`.
    public func suspend() throws {
        guard !isClosed.load(ordering: .sequentiallyConsistent) else { return }
        guard !environment.writer.isOwnedByCurrentThread,
            !environment.readers.isUsedByCurrentThread
        else {
            throw StorageError.misuse("suspend() was called inside a transaction.")
        }
        if isSuspended.exchange(true, ordering: .sequentiallyConsistent) {
            return
        }
        interrupt()
        environment.readers.drain(ObjectIdentifier(self))
        environment.writer.sync { _ in }
        EnvironmentRegistry.shared.suspend(identity)
    }

    /// Resumes after `suspend()`. See `StorageEngine`.
    public func resume() throws {
        guard isSuspended.load(ordering: .sequentiallyConsistent),
            !isClosed.load(ordering: .sequentiallyConsistent)
        else { return }
        try EnvironmentRegistry.shared.resume(identity)
        isSuspended.store(false, ordering: .sequentiallyConsistent)
    }

    /// Waits for the transactions that are running and closes. See `StorageEngine`.
    ///
    /// Called inside a read, it waits for all but that one, which goes on to its end.
    public func close() {
        if isClosed.exchange(true, ordering: .sequentiallyConsistent) {
            return
        }
        if isSuspended.load(ordering: .sequentiallyConsistent) {
            return EnvironmentRegistry.shared.forget(identity)
        }
        environment.readers.drain(ObjectIdentifier(self))
        if !environment.writer.isOwnedByCurrentThread {
            environment.writer.sync { _ in }
        }
        EnvironmentRegistry.shared.close(identity)
    }
}

extension StorageEngineFactory {
    /// LMDB, the fast second engine; see `LMDBEngine`.
    public static let lmdb = StorageEngineFactory(
        identifier: LMDBEngine.identifier, mainFile: LMDBPlace.fileName, canEncrypt: false
    ) { directory, options in
        try LMDBEngine(directory: directory, options: options)
    }
}
