// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanSystem
public import FoundationEssentials
internal import Synchronization

/// A database: a directory of JSON documents, with their histories.
///
/// ```swift
/// let manager = try Manager(directory: url)
/// let database = try manager.database(named: "app")
///
/// let task = MutableDocument(["type": "task", "owner": "todo"])
/// try database.save(task)
/// try database.update(task.id) { $0["done"] = true }
/// ```
///
/// All documents of an app can live in one database, whatever their kind; a property such as `type`
/// tells them apart. Databases are independent of each other.
///
/// ## Threads and tasks
///
/// A database may be used from any thread and any task at once. One writer works at a time; readers
/// never wait for it and see the last commit. Methods without `async` block the calling thread;
/// those with `async` never block the threads that tasks share. `docs/concurrency.md` has the rules.
///
/// ## Errors
///
/// Everything that can fail throws `DatabaseError`. After `close()` or `delete()` every call throws
/// `.databaseClosed`.
public final class Database: Sendable {
    /// What all handles on the same directory share.
    package let core: DatabaseCore
    /// The live documents that the app holds.
    let live: LiveDocumentRegistry
    /// The editors of models that the app holds.
    let editors: ModelEditors
    private let isReadOnlyHandle: Bool
    private let closed = Atomic<Bool>(false)
    private let registration: DatabaseRegistry.Registration?
    /// What the modules above keep for this handle.
    package let states = ModuleStates()

    /// The manager that opened the database; nil for one opened by its path, or in memory.
    ///
    /// The reference is weak, since a manager keeps its databases: a manager that the app no longer
    /// holds is released, and its databases stay open as long as the app holds them.
    public weak let manager: Manager?

    /// The database's name.
    public let name: String

    /// Whether its files are encrypted; see `EncryptionKey`. Never in memory.
    public var isEncrypted: Bool { core.options.dataKey != nil }

    /// The directory that holds it; empty in memory.
    public var path: String { core.directory?.path ?? "" }

    /// Makes a handle on an open database.
    package init(
        name: String, core: DatabaseCore, readOnly: Bool,
        registration: DatabaseRegistry.Registration?, manager: Manager? = nil
    ) {
        self.name = name
        self.manager = manager
        self.core = core
        isReadOnlyHandle = readOnly
        live = LiveDocumentRegistry()
        editors = ModelEditors(databaseName: name)
        self.registration = registration
    }

    deinit { end() }

    /// Opens the database in a directory, wherever it lies.
    ///
    /// - Parameters:
    ///   - url: The directory, usually named `NAME.divan`.
    ///   - options: How to open it; with `create` a missing one is made.
    /// - Returns: A handle of its own; handles on one directory share what is open.
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, `.databaseBusy`, `.unauthorized`,
    ///   `.corrupted`, `.unsupportedVersion` or `.io`.
    public static func open(at url: URL, options: DatabaseOptions = DatabaseOptions()) throws
        -> Database
    {
        try open(at: url, options, mustBeNew: false)
    }

    /// Creates a database in a directory of its own, with the options of ``open(at:options:)``.
    ///
    /// - Throws: As that, and `.databaseExists` when there is one, also when another thread or process creates it meanwhile.
    package static func create(at url: URL, options: DatabaseOptions) throws -> Database {
        try open(at: url, options, mustBeNew: true)
    }

    private static func open(at url: URL, _ options: DatabaseOptions, mustBeNew: Bool) throws
        -> Database
    {
        let path = try url.directoryPath
        let directory = Files.lastComponent(of: path)
        let name = DatabaseName.name(ofDirectory: directory) ?? directory
        return try DatabaseRegistry.shared.open(
            name: name, path: path, options: options, mustBeNew: mustBeNew)
    }

    /// Makes a database in memory; it goes when it is closed.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - partitioned: Whether it is partitioned; see `DatabasePartition`.
    /// - Returns: The database.
    /// - Throws: `DatabaseError` with code `.io` when the engine does not open.
    public static func inMemory(
        named name: String = "memory", partitioned: Bool = false
    ) throws -> Database {
        var options = DatabaseOptions()
        options.partitioned = partitioned
        let core = try DatabaseCore(name: name, directory: nil, options: options)
        return Database(name: name, core: core, readOnly: false, registration: nil)
    }

    /// Closes the database; every later call throws `.databaseClosed`. Closing twice is fine.
    ///
    /// Automatic saves of models that are due happen first (see ``ModelEditor``). A directory that was
    /// opened several times in this process stays open for the others.
    public func close() {
        end()
        manager?.forgetClosed()
    }

    /// Closes it. Its manager holds a reference, and has released it when this is the last one.
    private func end() {
        if !isClosed {
            editors.saveDue()
            editors.noteClosing()
        }
        guard !closed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        live.stop()
        if let registration { DatabaseRegistry.shared.release(registration) } else { core.close() }
        core.hub.wakeAll()
        states.close()
    }

    /// Whether the database has been closed or deleted.
    public var isClosed: Bool { closed.load(ordering: .acquiring) || core.isClosed }

    /// Closes the database if its directory was deleted, moved or replaced: nothing can be written to it any more. One that
    /// is suspended is left to `Manager.resume()`, which tells of it.
    ///
    /// - Returns: Whether it is closed now.
    func closeIfAstray() -> Bool {
        if isClosed { return true }
        guard !isSuspended, core.isAstray else { return false }
        Log.database.warning(
            "Closed the database '\(name)', whose directory was deleted, moved or replaced.")
        close()
        return true
    }

    /// Whether the database's files and locks are given up; see `Manager.suspend()`.
    public var isSuspended: Bool { core.suspension.isOn }

    /// Waits until the database is no longer suspended, or the task is cancelled.
    package func waitWhileSuspended() async { await core.suspension.waitForEnd() }

    /// Deletes the database from disk, with everything in it. Other files that lie in its directory stay, and so does the
    /// directory then.
    ///
    /// - Throws: `DatabaseError` with code `.databaseBusy` while another process has it open; it is
    ///   then still open here. `.readOnly` when it was opened read-only.
    public func delete() throws {
        try checkWritable()
        try checkAvailable()
        guard let directory = core.directory else { return close() }
        try directory.lockExclusively()
        try remove(directory)
    }

    /// Closes a database that this process has created, and deletes it unless something was stored in it or another process
    /// has it open.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`. The database is then closed, too.
    package func closeDeletingUnused() throws {
        defer { close() }
        try checkWritable()
        guard let directory = core.directory, try directory.isHeldAlone(), directory.isAtItsPath,
            try core.read({ try $0.isUnused })
        else { return }
        try remove(directory)
    }

    /// Removes the files of a database whose exclusive lock this has.
    private func remove(_ directory: DatabaseDirectory) throws {
        // The lock is held until the files are gone, and no longer, whether that succeeds or not,
        // and whether or not another object in this process has a handle.
        core.closeEngine()
        defer {
            core.close()
            close()
        }
        do { try directory.removeFiles() } catch { throw DatabaseError.io(error) }
        Log.database.info("Deleted the database '\(name)' at '\(directory.path)'.")
    }

    /// Refuses a closed database with `.databaseClosed`.
    package func checkOpen() throws {
        if isClosed { throw DatabaseError.closed(name) }
    }

    /// Refuses what needs the whole database to itself, or all of it committed, inside a batch and while the
    /// database is suspended.
    package func checkAvailable() throws {
        if core.isInTransaction { throw DatabaseError.insideBatch(name) }
        try core.suspension.check(name)
    }

    /// Refuses a closed or read-only database, and a write where code may only read; see
    /// ``DatabaseCore/checkMayWrite()``.
    package func checkWritable() throws {
        try checkOpen()
        if isReadOnlyHandle { throw DatabaseError.readOnly(name) }
        try core.checkMayWrite()
    }
}

extension Database: CustomStringConvertible {
    /// The name, for logs.
    public var description: String { "Database(\(name))" }
}
