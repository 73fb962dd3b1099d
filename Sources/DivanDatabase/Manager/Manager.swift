// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanStorage
internal import DivanSystem
public import FoundationEssentials
internal import Synchronization

/// How a manager opens its databases.
public struct ManagerOptions: Sendable {
    /// Whether every database is opened read-only; missing ones are then not created.
    public var readOnly = false
    /// The options for databases opened without their own.
    public var databaseOptions = DatabaseOptions()

    /// The defaults.
    public init() {}
}

/// The databases in one directory.
///
/// ```swift
/// let manager = try Manager(directory: URL(filePath: "/var/lib/app"))
/// let database = try manager.database(named: "app")
/// ```
///
/// A manager gives the same `Database` object for a name every time, until that is closed. It may be
/// used from any thread and any task. Several managers may share a directory, and so may several
/// processes.
///
/// State: `state`, guarded by its mutex, which is held for moments only. A database is opened outside it, so one that takes
/// long keeps none of the others waiting.
public final class Manager: Sendable {
    /// The release of Divan.
    public static let version = "0.1.0"

    /// The directory that holds the databases.
    public let directory: URL
    private let options: ManagerOptions
    private let path: String
    struct State {
        var databases: NameMap<Database> = [:]
        /// What is being opened: each database by one thread at a time.
        var openings: NameMap<Opening> = [:]
        var engine = KnownEngines.standard
        var openingFollowers: [Int: @Sendable (Database) -> Void] = [:]
        var nextFollower = 0
        var isClosed = false
        var isSuspended = false

        /// Removes the closed databases, whichever handle closed them, and returns them.
        mutating func takeClosed() -> [Database] {
            let closed = databases.filter { $0.value.isClosed }
            for name in closed.keys { databases[name] = nil }
            return Array(closed.values)
        }
    }

    let state = Mutex(State())

    /// Makes a manager for a directory, which is created when missing.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the directory cannot be made, or `.invalidName` when it is a database itself, in
    ///   which nothing else may lie.
    public init(directory: URL, options: ManagerOptions = ManagerOptions()) throws {
        self.directory = directory
        self.options = options
        path = try directory.directoryPath
        guard !DatabaseDirectory.exists(at: path) else {
            throw DatabaseError(
                .invalidName,
                "'\(directory.lastPathComponent)' is a database; name the directory that it lies in."
            )
        }
        guard !options.readOnly else { return }
        do { try Files.makeDirectory(self.path) } catch { throw DatabaseError.io(error) }
    }

    /// The manager of the process, in `defaultDirectory`.
    ///
    /// - Throws: `DatabaseError` with code `.io` when its directory cannot be made.
    public static func shared() throws -> Manager {
        try sharedManager.withLock { manager in
            if let manager { return manager }
            let made = try Manager(directory: defaultDirectory)
            manager = made
            return made
        }
    }

    private static let sharedManager = Mutex<Manager?>(nil)

    /// Where `shared()` keeps its databases.
    ///
    /// On Linux `$XDG_DATA_HOME/divan`, by default `~/.local/share/divan`; on Apple platforms
    /// `Library/Application Support/Divan` in the home directory.
    public static var defaultDirectory: URL {
        #if canImport(Darwin)
        return URL(filePath: CurrentProcess.environmentVariable("HOME") ?? ".")
            .appending(path: "Library/Application Support/Divan")
        #else
        if let data = CurrentProcess.environmentVariable("XDG_DATA_HOME"), data.hasBytePrefix("/") {
            return URL(filePath: data).appending(path: "divan")
        }
        let home = CurrentProcess.environmentVariable("HOME") ?? "."
        return URL(filePath: home).appending(path: ".local/share/divan")
        #endif
    }

    /// The storage engine of databases that this manager makes; SQLite unless set.
    ///
    /// A database that exists keeps its engine; `DatabaseOptions.storageEngine` and
    /// `convertDatabase(named:to:progress:)` move it to another one.
    public var defaultStorageEngine: StorageEngineFactory {
        get { state.withLock { $0.engine } }
        set {
            KnownEngines.remember(newValue)
            state.withLock { $0.engine = newValue }
        }
    }

    // MARK: - Opening

    /// Opens a database, creating it when it does not exist.
    ///
    /// - Returns: The same object each time, until it is closed.
    /// - Throws: `DatabaseError` with code `.invalidName`, `.databaseBusy`, `.unauthorized`,
    ///   `.corrupted`, `.unsupportedVersion`, `.io`, or `.databaseClosed` after `close()`.
    public func database(named name: String) throws -> Database {
        var options = self.options.databaseOptions
        options.create = true
        return try open(name, options)
    }

    /// Opens a database that is partitioned or not, creating it when it does not exist.
    ///
    /// ```swift
    /// let readings = try manager.database(named: "readings", partitioned: true)
    /// ```
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - partitioned: Whether the database is partitioned; see `DatabasePartition`.
    /// - Returns: The same object each time, until it is closed.
    /// - Throws: As `database(named:)`, and `.databaseExists` when it exists and is of the other kind.
    public func database(named name: String, partitioned: Bool) throws -> Database {
        var options = self.options.databaseOptions
        (options.create, options.partitioned) = (true, partitioned)
        return try open(name, options)
    }

    /// Opens a database that exists; nil when it does not.
    public func existingDatabase(named name: String) throws -> Database? {
        guard databaseExists(named: name) else { return nil }
        var options = self.options.databaseOptions
        // Of whichever kind it is: the options say what new ones are.
        (options.create, options.partitioned) = (false, nil)
        return try open(name, options)
    }

    /// The database of a name if it is open already; of the disk only the path is looked at.
    package func openedDatabase(named name: String) -> Database? {
        guard let open = state.withLock({ $0.databases[name] }), !open.closeIfAstray() else {
            return nil
        }
        return open
    }

    /// The databases that are open, in no order.
    package var openedDatabases: [Database] {
        state.withLock { state in state.databases.values.filter { !$0.isClosed } }
    }

    /// Opens a database with options of its own.
    ///
    /// A database that is open, and whose directory was deleted, moved or replaced since, is closed, and what is at its path
    /// now is opened.
    ///
    /// Options are ignored when the database is open in this manager already, except that a key which
    /// is not the database's is refused all the same, and so is `partitioned` for one of the other kind.
    ///
    /// - Throws: also `.databaseNotFound` when it is missing and `options.create` is false, and `.databaseExists`
    ///   when it is not as `options.partitioned` says.
    public func openDatabase(named name: String, options: DatabaseOptions) throws -> Database {
        try open(name, options, checking: options.encryptionKey)
    }

    /// Opens a database, or gives the one that is open.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - options: How it is opened.
    ///   - key: A key that must be the database's also when that is open. The manager's own is not checked again: another
    ///     process may have changed the key, and what is open goes on.
    ///   - mustBeNew: Whether one that is there is an error.
    /// - Returns: The same object each time, until it is closed.
    /// - Throws: As `openDatabase(named:options:)`.
    private func open(
        _ name: String, _ options: DatabaseOptions, checking key: EncryptionKey? = nil,
        mustBeNew: Bool = false
    ) throws -> Database {
        guard DatabaseName.isValid(name) else { throw DatabaseError.invalidName(name) }
        while true {
            let opening = Opening()
            switch try begin(opening, of: name, mustBeNew) {
            case .isOpen(let open):
                if open.closeIfAstray() { continue }
                if let key { try open.core.checkKey(key) }
                try options.checkKind(open.core.isPartitioned, name)
                return open
            case .isUnderWay(let other): if let busy = other.wait() { throw busy }
            case .hasBegun: return try finish(opening, of: name, options, mustBeNew)
            }
        }
    }

    /// How it stands with a database that a thread wants to open.
    private enum Progress {
        case isOpen(Database)
        case isUnderWay(Opening)
        case hasBegun
    }

    /// Begins an opening, unless the database is open or another thread is opening it.
    private func begin(
        _ opening: Opening, of name: String, _ mustBeNew: Bool
    ) throws -> Progress {
        let (progress, closed): (Progress, [Database]) = try state.withLock { state in
            guard !state.isClosed else { throw DatabaseError.closed(name) }
            guard !state.isSuspended else { throw DatabaseError.suspended(name) }
            if !mustBeNew, let open = state.databases[name], !open.isClosed {
                return (.isOpen(open), [])
            }
            if let other = state.openings[name] { return (.isUnderWay(other), []) }
            state.openings[name] = opening
            return (.hasBegun, state.takeClosed())
        }
        // Outside the mutex: releasing the last reference releases what the app has put into them.
        withExtendedLifetime(closed) {}
        return progress
    }

    private func finish(
        _ opening: Opening, of name: String, _ options: DatabaseOptions, _ mustBeNew: Bool
    ) throws -> Database {
        var options = options
        if self.options.readOnly { options.readOnly = true }
        let result = Result {
            try DatabaseRegistry.shared.open(
                name: name, path: path(of: name), options: options, manager: self,
                mustBeNew: mustBeNew)
        }
        let followers = state.withLock { state in
            state.openings[name] = nil
            if case .success(let database) = result { state.databases[name] = database }
            return Array(state.openingFollowers.values)
        }
        opening.end(result)
        let database = try result.get()
        for follower in followers { follower(database) }
        return database
    }

    /// Lets no database be opened from now on, and waits for those that are being opened.
    ///
    /// - Parameter change: Notes why, in the state.
    /// - Returns: The databases that are open then.
    func endOpenings(_ change: (inout State) -> Void) -> [Database] {
        let openings = state.withLock { state in
            change(&state)
            return Array(state.openings.values)
        }
        for opening in openings { opening.wait() }
        return state.withLock { Array($0.databases.values) }
    }

    /// Creates a database.
    ///
    /// - Throws: As `database(named:partitioned:)`, and `.databaseExists` when there is one, also when another thread or
    ///   process creates it meanwhile.
    package func createDatabase(named name: String, partitioned: Bool) throws -> Database {
        var options = self.options.databaseOptions
        options.partitioned = partitioned
        return try open(name, options, mustBeNew: true)
    }

    /// Calls a closure with each database that this manager opens from now on, also one that is made.
    ///
    /// It runs on the thread that opens, after the opening, so it must be short.
    ///
    /// - Parameter follower: Receives the database.
    /// - Returns: The token that keeps the closure.
    package func whenOpened(_ follower: @escaping @Sendable (Database) -> Void) -> ListenerToken {
        let number = state.withLock { state in
            state.nextFollower += 1
            state.openingFollowers[state.nextFollower] = follower
            return state.nextFollower
        }
        return ListenerToken { [weak self] in
            self?.state.withLock { $0.openingFollowers[number] = nil }
        }
    }

    /// The open or existing database of this name, or nil.
    public subscript(name: String) -> Database? { try? existingDatabase(named: name) }

    // MARK: - Looking

    /// Whether a database exists; it is not opened.
    public func databaseExists(named name: String) -> Bool {
        DatabaseName.isValid(name) && DatabaseDirectory.exists(at: path(of: name))
    }

    /// The names of all databases in the directory, sorted.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the directory cannot be read.
    public func allDatabaseNames() throws -> [String] {
        do {
            return try Files.list(path).compactMap { DatabaseName.name(ofDirectory: $0) }
                .filter { databaseExists(named: $0) }.sorted()
        } catch { throw DatabaseError.io(error) }
    }

    /// Whether `name` may name a database: 1 to 239 of `a-z 0-9 _$()+-/`, a letter first; or `_users` and
    /// `_replicator`, in which a listener looks for its users and for replications to run.
    public static func isValidDatabaseName(_ name: String) -> Bool { DatabaseName.isValid(name) }

    /// The name of the database that a directory of this name holds, such as `notes` for `notes.divan`; nil when none does.
    package static func databaseName(ofDirectory directory: String) -> String? {
        DatabaseName.name(ofDirectory: directory)
    }

    // MARK: - Deleting and closing

    /// Deletes a database from disk.
    ///
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, or as `Database.delete()`.
    public func deleteDatabase(named name: String) throws {
        guard let database = try existingDatabase(named: name) else {
            throw DatabaseError.databaseNotFound(path(of: name))
        }
        try database.delete()
    }

    /// Closes all databases; the manager opens none after that.
    public func close() {
        let open = endOpenings { $0.isClosed = true }
        state.withLock { $0.databases = [:] }
        for database in open { database.close() }
    }

    /// Releases databases that are closed, so that a name that is no longer used costs nothing.
    func forgetClosed() {
        let closed = state.withLock { $0.takeClosed() }
        withExtendedLifetime(closed) {}
    }

    /// How long copying waits for a database that is held exclusively.
    package var copyTimeout: Duration { options.databaseOptions.busyTimeout }

    /// The key of databases that are copied without naming one.
    package var copyKey: EncryptionKey? { options.databaseOptions.encryptionKey }

    /// Where a database lies, or is to lie, that is copied.
    package func pathForCopy(_ name: String) throws -> String {
        guard DatabaseName.isValid(name) else { throw DatabaseError.invalidName(name) }
        guard !state.withLock({ $0.isClosed }) else { throw DatabaseError.closed(name) }
        guard !options.readOnly else { throw DatabaseError.readOnly(name) }
        return path(of: name)
    }

    private func path(of name: String) -> String {
        path + "/" + DatabaseName.directoryName(for: name)
    }
}
