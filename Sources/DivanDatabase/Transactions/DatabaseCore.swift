// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanLogging
public import DivanModel
internal import DivanPlatform
package import DivanStorage
internal import DivanSystem
internal import Synchronization

/// One open database directory: its engine, its stores, its one writer and its many readers.
///
/// Every `Database` on the same directory in this process shares one core, found through
/// `DatabaseRegistry`. See docs/concurrency.md; in short:
///
///     thread A   write { … } ──────────────► commit ─► changes file ─► hub
///     thread B   write { … }   (waits for A)            ────────────►
///     thread C   read { … }    (a snapshot from before A's commit; never waits)
///
/// State, and what guards it:
/// - `writer`: a `ConnectionQueue`; its `WriteContext` is touched only by the thread that owns it.
/// - `sharedCommits`: its own mutex; see `SharedCommits`.
/// - `closed`: atomic; closing refuses new work, then waits for what is running.
/// - `suspension`: its own mutex; see `Suspension`.
/// - `changesFile`: its mutex, under which the file is written, so that a closed file's number is never
///   written to.
/// - `hub`: its own mutex; gets each commit before the next writer's turn, tells followers on its
///   own queue.
@usableFromInline
package final class DatabaseCore: Sendable {
    /// The database's name.
    package let name: String
    /// Its directory; nil in memory.
    package let directory: DatabaseDirectory?
    /// The open engine.
    package let engine: any StorageEngine
    /// The engine's name, as the manifest says it.
    package let engineName: String
    /// The engine's stores.
    package let stores: Stores
    /// How it was opened.
    package let options: DatabaseOptions
    /// Whether the ID of every document names its partition.
    package let isPartitioned: Bool
    let digest: any MessageDigest
    /// The contents of its attachments.
    package let attachments: AttachmentStore
    /// Tells followers what changed.
    package let hub: ChangeHub
    let live = LiveRegistries()
    /// What the modules above keep for all handles.
    package let states = ModuleStates()
    let waits: WriterWaits
    /// The app's validation functions and filters, by name; in this process only.
    let validations = FunctionTable<ValidationFunction>()
    let filters = FunctionTable<FilterFunction>()
    /// What runs the functions of design documents.
    let designFunctions = DesignFunctionTable()
    /// Whether no function is asked about new revisions.
    var hasNoValidations: Bool { validations.isEmpty && !designFunctions.validates }
    let slowFunctions: SlowFunctions
    /// Purges documents whose time has come.
    package let expirationTimer: ExpirationTimer
    let writer: ConnectionQueue<WriteContext>
    let sharedCommits = SharedCommits()
    let suspension = Suspension()
    private let closed = Atomic<Bool>(false)
    private let damageMet = Atomic<Int>(0)
    /// The manifest as it was opened or last replaced.
    private let manifest: Mutex<Manifest>
    /// The file `changes`, which other processes watch; nil in memory, read-only and closed.
    private let changesFile: Mutex<FileHandle?>

    /// A batch that takes longer is logged: all other writers wait for it.
    private static let slowBatch = Duration.seconds(1)
    /// Beyond this, damage is not logged: a read of the whole database would fill the log.
    private static let damageLogged = 5

    /// Opens the engine of `directory`, or one in memory when there is none.
    convenience init(name: String, directory: DatabaseDirectory?, options: DatabaseOptions) throws {
        let engine: any StorageEngine
        if let directory {
            engine = try Self.openEngine(
                at: directory.dataPath, named: directory.manifest.engine, options)
        } else {
            engine = try Self.engineInMemory(options)
        }
        try self.init(name: name, directory: directory, engine: engine, options: options)
    }

    /// Opens the engine whose files lie at a path.
    ///
    /// - Throws: `DatabaseError`, with code `.unsupportedStorageEngine` when this process does not know
    ///   an engine of that name.
    package static func openEngine(
        at path: String, named name: String, _ options: DatabaseOptions, creating: Bool = false,
        unchanging: Bool = false
    ) throws -> any StorageEngine {
        let engine = try KnownEngines.engine(named: name, keeping: Files.parent(of: path))
        // An engine that cannot encrypt must never write what was to be encrypted.
        guard options.dataKey == nil || engine.canEncrypt else {
            throw DatabaseError.keyUnsupported(by: name, Files.parent(of: path))
        }
        do {
            var storage = options.storageOptions
            storage.createsIfMissing = creating
            storage.isUnchanging = unchanging
            return try engine.open(directory: path, options: storage)
        } catch let error as StorageError {
            throw DatabaseError(error, documentID: nil)
        }
    }

    /// Opens an engine in memory, which is always SQLite: no other one keeps data without files.
    private static func engineInMemory(_ options: DatabaseOptions) throws -> any StorageEngine {
        do { return try KnownEngines.openInMemory(options.storageOptions) } catch let error
            as StorageError
        { throw DatabaseError(error, documentID: nil) }
    }

    /// Takes over an open engine; `dataPath` is its folder, where there is no whole directory.
    package init(
        name: String, directory: DatabaseDirectory?, engine: any StorageEngine,
        options: DatabaseOptions, dataPath: String? = nil
    ) throws {
        self.name = name
        self.directory = directory
        self.engine = engine
        self.options = options
        digest = OpenSSLDigest.shared
        attachments = AttachmentStore(
            dataPath: directory?.dataPath ?? dataPath, readOnly: options.readOnly,
            digest: OpenSSLDigest.shared, dataKey: options.dataKey)
        guard attachments.isReadable else { throw DatabaseError.attachmentsUnreadable(name) }
        waits = WriterWaits(name: name)
        slowFunctions = SlowFunctions(databaseName: name)
        expirationTimer = ExpirationTimer(name: name)
        hub = ChangeHub(name: name)
        stores = Stores(engine: engine)
        // One without a directory is in memory, or being made.
        isPartitioned = directory?.manifest.isPartitioned ?? (options.partitioned == true)
        writer = ConnectionQueue(label: "divan.\(name)", WriteContext())
        engineName = directory?.manifest.engine ?? KnownEngines.nameInMemory
        var ownManifest = directory?.manifest ?? Manifest(engine: engineName)
        ownManifest.isPartitioned = isPartitioned
        manifest = Mutex(ownManifest)
        if let directory, !options.readOnly {
            do {
                changesFile = try Mutex(
                    FileHandle(path: directory.changesPath, [.read, .write, .create]))
            } catch {
                throw DatabaseError.io(error)
            }
        } else {
            changesFile = Mutex(nil)
        }
        // The first reader is opened with the database, while its directory is certainly in place.
        do { _ = try read { try $0.state() } } catch let error as DatabaseError
            where error.code == .corrupted
        {
            // What can be read may still be read; a write will report the failure.
        }
        hub.attach(self)
        // A weak reference to the core would make each counting of references to it slow; closing ends this one.
        attachments.open { [self] key in try read { try $0.referredMD5(of: key) } }
        if !options.readOnly { expirationTimer.start(self) }
        Log.database.info(
            "Opened the database '\(name)' \(directory.map { "at '\($0.path)'" } ?? "in memory")"
                + "\(options.readOnly ? ", read-only" : "").")
    }

    /// Whether the calling thread is inside a write transaction.
    package var isInTransaction: Bool { writer.isOwnedByCurrentThread }

    /// Whether the calling thread is inside a read: what it sees does not change until that ends.
    package var isInRead: Bool { !isInTransaction && engine.isReadByCurrentThread }

    /// Whether the calling thread may bring indexes up to date, and would then see them.
    package var maintainsIndexes: Bool { !options.readOnly && !isInRead }

    /// Whether its engine is closed, or about to be.
    package var isClosed: Bool { closed.load(ordering: .acquiring) }

    /// Whether its directory was deleted, moved or replaced by others.
    var isAstray: Bool { directory.map { !$0.isAtItsPath } ?? false }

    /// Closes the engine and gives up the directory's lock, also while objects still refer to this.
    ///
    /// Objects of the app may hold a closed database for as long as they like. So every file is closed here
    /// and not when the last object is released. What is kept by name is removed here, too.
    package func close() {
        closeEngine()
        guard let directory else { return }
        DatabaseRegistry.shared.forget(self, at: directory.identity)
        directory.close()
    }

    /// Closes the engine and keeps the directory's lock, as deleting needs.
    func closeEngine() {
        guard !closed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        suspension.end()
        expirationTimer.stop()
        hub.finish()
        // Inside a batch of this thread the engine goes at once, and the batch fails.
        if !writer.isOwnedByCurrentThread {
            // A writer that gets its turn from here on finds the database closed, so that no
            // transaction loses its connection. The engine is closed outside the turn: closing
            // waits for reads, and one of them may be waiting for a batch that has not had its turn
            // yet.
            writer.sync { _ in }
        }
        engine.close()
        attachments.close { [name] _ in throw DatabaseError.closed(name) }
        changesFile.withLock { $0 = nil }
        // They may hold the database.
        validations.removeAll()
        filters.removeAll()
        Log.database.info("Closed the database '\(name)'.")
    }

    /// The manifest as it is now; of a database that is closed or gone, as it was last known.
    package var identity: Manifest {
        manifest.withLock { manifest in
            if !isClosed, let current = directory?.currentManifest { manifest = current }
            return manifest
        }
    }

    /// Refuses a handle whose key would not have opened the database.
    ///
    /// - Throws: `DatabaseError` with code `.unauthorized`.
    func checkKey(_ key: EncryptionKey?) throws {
        guard let directory else { return }
        try directory.access.check(key, directory.currentManifest, path: directory.path)
    }

    /// Draws new UUIDs and writes the manifest anew.
    func replaceUUIDs() throws {
        try manifest.withLock { manifest in
            if let directory {
                manifest = try directory.changeManifest { $0.renewUUIDs() }
            } else {
                manifest.renewUUIDs()
            }
        }
    }

    /// Wraps the key of the data with another one, and writes the manifest anew.
    ///
    /// - Throws: `DatabaseError` with code `.unauthorized` when the database is not encrypted.
    func rewrapDataKey(with key: EncryptionKey) throws {
        guard let directory, let dataKey = options.dataKey else {
            throw DatabaseError.needlessKey(directory?.path ?? name)
        }
        let wrapping = try KeyWrapping(dataKey, with: key)
        try manifest.withLock { manifest in
            manifest = try directory.changeManifest { $0.encryption = wrapping }
            directory.access.accept(wrapping, key)
        }
    }

    // MARK: - Reading

    /// Runs `body` on a snapshot; inside this thread's own batch, on what the batch sees.
    package func read<T>(_ body: (Snapshot) throws -> T) throws -> T {
        if writer.isOwnedByCurrentThread {
            return try writer.sync { context in
                guard let open = context.current else { throw DatabaseError.closed(name) }
                return try body(open.snapshot)
            }
        }
        guard !isClosed else { throw DatabaseError.closed(name) }
        try suspension.check(name)
        var result: T?
        do {
            try engine.read { reader in
                result = try body(Snapshot(reader: reader, core: self))
            }
        } catch {
            throw reported(error)
        }
        guard let result else { throw DatabaseError.closed(name) }
        return result
    }

    /// Where the database stands for all other threads, also inside a batch of this thread.
    func committedMark() throws -> DatabaseMark {
        try read { snapshot in try snapshot.context?.markAtBegin ?? snapshot.state().mark }
    }

    // MARK: - Writing

    /// Runs `body` in the write transaction: a new one, or the one this thread has open.
    ///
    /// Joined work makes no savepoint of its own: an operation checks everything before its first
    /// write, so a refusal leaves nothing behind, and a storage failure midway makes the whole
    /// transaction fail (`WriteContext.failure`).
    package func write<T>(_ body: (WriteContext) throws -> T) throws -> T {
        try perform { context in try context.enter { try body(context) } }
    }

    /// Runs an operation of Divan's own as `write(_:)` does, by one commit with those of other threads where
    /// commits wait for the disk.
    ///
    /// Another thread may run `body`. So it calls no code of the app's, does not depend on its thread, writes
    /// what concerns one document, and needs no commit to be durable before its own.
    package func writeTogether<T>(_ body: (WriteContext) throws -> T) throws -> T {
        // Validation functions are code of the app's.
        guard engine.commitsWaitForDisk, !writer.hasTurn, hasNoValidations else {
            return try write(body)
        }
        if sharedCommits.lead() { return try lead(body) }
        var result: T?
        let isDone = try withoutActuallyEscaping({ result = try body($0) }) {
            (work: @escaping (WriteContext) throws -> Void) in try join(work)
        }
        guard isDone else { return try lead(body) }
        guard let result else { throw DatabaseError.closed(name) }
        return result
    }

    /// Waits until another thread has done and committed `work`.
    ///
    /// - Returns: Whether it has; if not, this thread leads.
    private func join(_ work: @escaping (WriteContext) throws -> Void) throws -> Bool {
        guard !options.readOnly else { throw DatabaseError.readOnly(name) }
        try checkMayWrite()
        let write = JoiningWrite(work)
        if sharedCommits.leadOrEnlist(write) { return false }
        let wait = waits.begin()
        let pause = BlockingThreads.beginWait()
        let mustLead = write.waitForOutcome()
        pause?.end()
        waits.end(wait)
        if let error = write.error { throw error }
        return !mustLead
    }

    /// Runs `body` and what other threads ask for meanwhile in one transaction.
    private func lead<T>(_ body: (WriteContext) throws -> T) throws -> T {
        var commit = SharedCommit(leading: sharedCommits)
        do {
            let result = try perform(joinedBy: { context in
                let end = ContinuousClock.now + SharedCommits.longest
                try CancellationFlag.withoutCurrent {
                    // A validation function that was set meanwhile runs on the thread that saves.
                    try commit.joinAll {
                        self.hasNoValidations && ContinuousClock.now < end
                    } perform: { write in
                        do { try context.join { try write.perform(context) } } catch {
                            throw self.reported(error)
                        }
                    } mustStop: {
                        context.failure
                    }
                }
            }) { context in try context.enter { try body(context) } }
            commit.end(nil)
            return result
        } catch {
            commit.end(error)
            throw error
        }
    }

    /// Runs `body` in the write transaction, and then `others` if the transaction is a new one.
    private func perform<T>(
        joinedBy others: ((WriteContext) throws -> Void)? = nil,
        _ body: (WriteContext) throws -> T
    ) throws -> T {
        guard !options.readOnly else { throw DatabaseError.readOnly(name) }
        try checkMayWrite()
        let wait = beginWait()
        let pause = writer.isOwnedByCurrentThread ? nil : BlockingThreads.beginWait()
        return try writer.sync { context in
            if let wait { waits.end(wait) }
            if let pause {
                pause.end()
                // Its task may have been cancelled while it waited.
                try CancellationFlag.check()
            }
            if context.current != nil {
                guard !context.isValidating else { throw DatabaseError.insideValidation(name) }
                do { return try body(context) } catch let error as StorageError {
                    context.failure = error
                    throw DatabaseError(error, documentID: nil)
                }
            }
            return try transaction(context, joinedBy: others, body)
        }
    }

    /// Refuses a write by code that may only read: inside a read of this database, whose snapshot would
    /// not show it, and inside a map or reduce function.
    ///
    /// Every write calls this before it changes a file. Otherwise code that reads, finds what it read
    /// outdated and reads again would never end inside a snapshot. A read inside a batch is no such place.
    ///
    /// - Throws: `DatabaseError` with code `.readOnly` or `.invalidQuery`.
    func checkMayWrite() throws {
        if MapGuard.isMapping { throw DatabaseError.writeInsideMap(name) }
        guard !isInRead else { throw DatabaseError.writeInsideRead(name) }
    }

    /// Runs `body` in a transaction, or in a savepoint of the one this thread has open.
    ///
    /// `source` says where the changes come from; inside another transaction the outermost one decides.
    package func batch<T>(source: ChangeSource = .local, _ body: (WriteContext) throws -> T) throws
        -> T
    {
        try perform { context in
            guard context.isNested else {
                context.source = source
                return try context.enter { try body(context) }
            }
            return try context.savepoint { try body(context) }
        }
    }

    /// The same off the calling task's thread; the wait for the turn holds no thread.
    func batchAsync<T: Sendable>(
        source: ChangeSource = .local, _ body: @escaping @Sendable (WriteContext) throws -> T
    ) async throws -> T {
        try Task.checkCancellation()
        let wait = beginWait()
        // A cancelled wait ends without the body.
        defer { if let wait { waits.end(wait) } }
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await writer.async { [self] _ in
                if let wait { waits.end(wait) }
                return try flag.carried { try batch(source: source, body) }
            }
        } onCancel: {
            flag.cancel()
        }
    }

    /// Notes a wait for another thread, unless there is none; see `WriterWaits`.
    private func beginWait() -> Int? {
        writer.isInUse && !writer.isOwnedByCurrentThread ? waits.begin() : nil
    }

    /// One read, off the calling task's thread.
    func readAsync<T: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> T)
        async throws -> T
    {
        try await BlockingWork.run { [self] in try read(body) }
    }

    private func transaction<T>(
        _ context: WriteContext, joinedBy others: ((WriteContext) throws -> Void)?,
        _ body: (WriteContext) throws -> T
    ) throws -> T {
        guard !isClosed else { throw DatabaseError.closed(name) }
        try suspension.check(name)
        let started = ContinuousClock.now
        defer {
            waits.batchEnded()
            logIfSlow(since: started)
        }
        var result: T?
        do {
            try engine.write { storage in
                try context.begin(storage, core: self)
                result = try body(context)
                if let failure = context.failure { throw failure }
                try context.closePart()
                try others?(context)
                try context.prepareCommit()
            }
        } catch {
            context.abandon()
            // The engine refuses to write into a file that is gone; why it is gone, the directory tells.
            if error is StorageError, let directory, !directory.isInPlace {
                throw DatabaseError.directoryVanished(directory.path)
            }
            throw reported(error)
        }
        let expiration = context.earliestExpiration
        let (earlier, last) = context.finish()
        for commit in earlier { announce(commit) }
        if let last { announce(last) }
        // The timers of other processes must be told of a date, even when no document has changed.
        if last != nil || !earlier.isEmpty || expiration != nil {
            ring(lastSequence: context.state.lastSequence, lastPurge: context.state.lastPurge)
        }
        if let expiration { expirationTimer.noteExpiration(expiration) }
        guard let result else { throw DatabaseError.closed(name) }
        return result
    }

    private func announce(_ commit: Commit) {
        live.committed(commit)
        hub.publish(commit)
    }

    /// Wakes other processes.
    private func ring(lastSequence: SequenceNumber, lastPurge: UInt64) {
        // A signal that cannot be written costs other processes a wait for their five-second check,
        // no data.
        let mark = ChangeMark(
            lastSequence: lastSequence, lastPurge: lastPurge, process: UInt64(CurrentProcess.number)
        )
        changesFile.withLock { file in try? file?.overwrite(mark.bytes) }
    }

    private func logIfSlow(since started: ContinuousClock.Instant) {
        let taken = ContinuousClock.now - started
        guard taken >= Self.slowBatch else { return }
        Log.database.info(
            "A batch of the database '\(name)' took \(taken); other writers waited for it.")
    }

    // MARK: - Errors

    /// The error as the caller gets it; damage is logged on its way.
    private func reported(_ error: any Error) -> any Error {
        let error = (error as? StorageError).map { DatabaseError($0, documentID: nil) } ?? error
        // Only suspending interrupts an engine, and it may be over by now.
        let cause = (error as? DatabaseError)?.underlying as? StorageError
        if cause.map({ [.interrupted, .suspended].contains($0.code) }) ?? false {
            return DatabaseError.suspended(name)
        }
        if let damage = error as? DatabaseError, damage.code == .corrupted { log(damage) }
        return error
    }

    /// Logs damage that was met, unless much was logged already.
    func log(_ damage: DatabaseError) {
        let met = damageMet.wrappingAdd(1, ordering: .relaxed).oldValue
        if met < Self.damageLogged {
            Log.storage.error("In the database '\(name)': \(damage.message)")
        } else if met == Self.damageLogged {
            Log.storage.error("More damage in the database '\(name)' is not logged.")
        }
    }

    /// Runs a read that damage must not end; returns the damage that it met, and throws any other error.
    static func damage(_ id: DocumentID?, _ body: () throws -> Void) throws -> DatabaseError? {
        do { try blaming(id, body) } catch let error as DatabaseError where error.code == .corrupted
        { return error }
        return nil
    }

    // The next two run for each row that an index reads, in modules above, where a generic function that is not inlinable
    // costs hundreds of instructions.

    /// Runs a decoder of stored bytes; bytes that break their format are corruption.
    @inlinable
    package static func decoding<T>(_ id: DocumentID?, _ body: () throws -> T) throws -> T {
        do { return try body() } catch { throw corruption(error, id) }
    }

    /// Runs a read; a storage error gets the ID of the document it concerns.
    @inlinable
    package static func blaming<T>(_ id: DocumentID?, _ body: () throws -> T) throws -> T {
        do { return try body() } catch { throw blame(error, id) }
    }

    @usableFromInline
    static func corruption(_ error: any Error, _ id: DocumentID?) -> any Error {
        error is DatabaseError ? error : DatabaseError.corrupted("A stored row", id, error)
    }

    @usableFromInline
    static func blame(_ error: any Error, _ id: DocumentID?) -> any Error {
        (error as? StorageError).map { DatabaseError($0, documentID: id) } ?? error
    }
}
