// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanSystem
internal import Synchronization

/// The directory `NAME.divan/` that is one database; docs/internal/file-format.md gives every byte.
///
///     manifest     what this is, which generation is current; replaced by rename
///     lock         every open handle holds a shared lock on it; delete and replace an exclusive one
///     changes      24 bytes, overwritten after each commit, watched by other processes
///     data-1/      the current generation: the engine's files
///         place    empty; which file it is tells an original from a copy
///
/// ## Creation
///
/// Creation takes the lock exclusively and writes the manifest last, so a directory without a
/// manifest is a creation that did not finish; the next opening that may create starts it over.
/// `Installation`, of a module above, makes a database from another one in the same way. A directory
/// that had a commit has lost its manifest, and is refused. What else lies in the directory is not
/// Divan's, and stays (DatabaseDirectory+Contents.swift).
///
/// ## Lives
///
/// A sequence means something in one life of a database only: a copy goes on from the same sequences
/// as its original, with other changes. So each life has a random *incarnation*, and the manifest
/// records where the database is kept: the identity of the file `place`, which no copy shares. So a
/// copied manifest does not fit the place it is found in, and opening it begins a new life. A
/// directory that is moved within its file system keeps its life. Opened read-only, where nothing
/// can be recorded, a copy gets another incarnation at each opening.
///
/// ## Invariants
///
/// 1. There is a manifest exactly if there is a whole database of the generation it names.
/// 2. Each open handle holds the lock shared. So what needs the lock exclusively (replacing,
///    deleting) meets no open handle, and a generation that the manifest does not name is unused.
/// 3. The manifest of an open database is changed by `changeManifest` only, one process at a time.
/// 4. A suspended database holds no lock, so others may make another generation. From then on nothing here
///    changes or removes anything: `lockExclusively` and `changeManifest` compare the generation.
package final class DatabaseDirectory: Sendable {
    /// Where it lies.
    package let path: String
    let isReadOnly: Bool
    let identity: FileIdentity
    /// The manifest as it was at the opening.
    package let manifest: Manifest
    /// The lock file; nil for a read-only directory without one, in which no process can write anyway,
    /// and when the directory is closed.
    private let lock: Mutex<FileHandle?>
    private let closed = Atomic<Bool>(false)
    /// What the manifest says of encryption, and the key of the data.
    package let access: DatabaseAccess
    private let busyTimeout: Duration

    /// The folder of the engine's files and the attachments.
    package var dataPath: String { Self.dataPath(path, manifest.generation) }
    var changesPath: String { Self.changesPath(path) }
    /// The path of a directory's manifest.
    package static func manifestPath(_ path: String) -> String { path + "/manifest" }
    /// The path of a directory's file `changes`.
    package static func changesPath(_ path: String) -> String { path + "/changes" }
    /// The folder of a generation's data.
    package static func dataPath(_ path: String, _ generation: Int) -> String {
        "\(path)/data-\(generation)"
    }

    static func placePath(_ path: String, _ generation: Int) -> String {
        dataPath(path, generation) + "/place"
    }

    /// Makes the folder of a new generation, and in it first of all the file by which it is told from its copies, and from
    /// folders that are not Divan's.
    ///
    /// - Returns: The path of the folder.
    package static func makeGeneration(_ generation: Int, at path: String) throws(SystemError)
        -> String
    {
        let dataPath = dataPath(path, generation)
        try Files.makeDirectory(dataPath)
        try Files.touch(placePath(path, generation))
        return dataPath
    }

    /// Notes which file tells the manifest's generation from its copies.
    package static func markPlace(in manifest: inout Manifest, at path: String) {
        manifest.place = Files.lastingIdentity(of: placePath(path, manifest.generation)) ?? ""
    }

    /// Whether `path` holds a whole database.
    package static func exists(at path: String) -> Bool { Files.exists(manifestPath(path)) }

    /// Opens the directory, creating the database when `create` says so.
    ///
    /// A creation has `makeEngine` make the engine's files in the directory it is given, with the key
    /// of the data when they are to be encrypted; `partitioned` is for a creation, too. With a key that is not the database's, nothing is
    /// changed, nor looked at but the manifest. `mustBeNew` is for one that creates or fails.
    ///
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, `.databaseExists`, `.databaseBusy` when another process
    ///   holds it exclusively, `.unauthorized`, `.corrupted`, `.unsupportedVersion`, or `.io`.
    package init(
        path: String, create: Bool, readOnly: Bool, engine: String, busyTimeout: Duration,
        key: EncryptionKey?, partitioned: Bool = false, mustBeNew: Bool = false,
        makeEngine: (_ dataPath: String, DataKey?) throws -> Void
    ) throws {
        let exists = Self.exists(at: path)
        do {
            // A creation looks once it has the lock.
            guard exists || (create && !readOnly) else {
                try Self.checkIsNoDatabase(at: path)
                throw DatabaseError.databaseNotFound(path)
            }
            let isMade = mustBeNew || !exists
            var access = try isMade ? nil : DatabaseAccess(Manifest(at: path), key, path: path)
            if isMade {
                let made = try DatabaseAccess(making: key)
                access = made
                try Self.create(
                    at: path, engine: engine, busyTimeout: busyTimeout, access: made,
                    partitioned: partitioned, mustBeNew: mustBeNew, makeEngine: makeEngine)
            }
            let writable = !readOnly
            if writable { try Self.checkIsWritable(path) }
            if writable { Self.removeLeftovers(at: path) }
            lock = try Mutex(
                DirectoryLock.takeShared(at: path, writable: writable, timeout: busyTimeout))
            // Only now: while this waited for the lock, the database may have been deleted or replaced.
            guard Self.exists(at: path) else { throw DatabaseError.databaseNotFound(path) }
            // Its key must still be the same, too, before anything of it is changed.
            let found = try Manifest(at: path)
            if access?.fits(found) != true {
                access = try DatabaseAccess(found, key, path: path)
            }
            guard let access else { throw DatabaseError.databaseNotFound(path) }
            self.access = access
            manifest = try Self.enter(path, access, writable: writable, busyTimeout)
            guard let identity = Files.identity(of: path) else {
                throw DatabaseError.databaseNotFound(path)
            }
            self.identity = identity
            self.path = path
            self.busyTimeout = busyTimeout
            isReadOnly = readOnly
        } catch let error as SystemError {
            // Another process may have deleted it since it was looked for.
            throw error.isNoSuchFile && !Self.exists(at: path)
                ? DatabaseError.databaseNotFound(path) : DatabaseError.io(error)
        }
    }

    private static func checkIsWritable(_ path: String) throws {
        guard !Files.isWritable(path) else { return }
        guard Files.isDirectory(path) else { throw DatabaseError.databaseNotFound(path) }
        throw DatabaseError(
            .io,
            "The directory '\(path)' is not writable; change its permissions or open the "
                + "database read-only.")
    }

    /// Whether the directory still exists, whatever its name.
    var isInPlace: Bool { lock.withLock { $0?.isLinked ?? true } }

    /// Whether the directory at the path is still this one, and not another one made or moved there since.
    var isAtItsPath: Bool { isInPlace && Files.identity(of: path) == identity }

    /// The manifest as it is now, which other processes may have changed.
    ///
    /// - Returns: nil when it cannot be read, names other data than are open here, or the directory is gone.
    var currentManifest: Manifest? {
        guard var current = try? readManifest() else { return nil }
        // A life that could not be recorded because this is read-only.
        if isReadOnly, !current.place.hasSameBytes(as: manifest.place) {
            current.incarnation = manifest.incarnation
            current.place = manifest.place
        }
        return current
    }

    /// Reads the manifest as it is now.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed` when it names other data than are open here, `.io`,
    ///   also when the directory is gone, or `.corrupted`.
    func readManifest() throws -> Manifest {
        guard isAtItsPath else { throw DatabaseError.directoryVanished(path) }
        do {
            return try Self.readManifest(at: path, of: manifest.generation, access.dataKey)
        } catch let error as SystemError { throw DatabaseError.io(error) }
    }

    /// Changes the manifest as it is now, and returns what it became.
    ///
    /// - Throws: As `readManifest()`, and with code `.storageFull`, or `.databaseBusy` when others change it all
    ///   the time.
    func changeManifest(_ change: (inout Manifest) -> Void) throws -> Manifest {
        try changeManifest(provenBy: access.dataKey, change)
    }

    /// The same with another key of the data from now on; nil for none.
    func changeManifest(
        provenBy dataKey: DataKey?, _ change: (inout Manifest) -> Void
    ) throws -> Manifest {
        guard isAtItsPath else { throw DatabaseError.directoryVanished(path) }
        do {
            return try Self.changeManifest(
                at: path, of: manifest.generation, access.dataKey, provenBy: dataKey, busyTimeout,
                change)
        } catch let error as SystemError { throw DatabaseError.io(error) }
    }

    /// Reads the manifest, begins a new life of the database when this is a copy, and makes one of an older format one
    /// of the current format before the first write.
    private static func enter(
        _ path: String, _ access: DatabaseAccess, writable: Bool, _ timeout: Duration
    ) throws -> Manifest {
        let dataKey = access.dataKey
        var manifest = try Manifest(at: path, dataKey)
        let placePath = placePath(path, manifest.generation)
        if let place = Files.lastingIdentity(of: placePath), place.hasSameBytes(as: manifest.place)
        {
            var renewed = manifest
            access.renew(&renewed)
            guard writable, renewed != manifest else { return manifest }
            return try changeManifest(
                at: path, of: manifest.generation, dataKey, provenBy: dataKey, timeout
            ) {
                access.renew(&$0)
            }
        }
        guard writable else {
            manifest.beginLife(in: "")
            return manifest
        }
        try Files.touch(placePath)
        let place = Files.lastingIdentity(of: placePath) ?? ""
        return try changeManifest(
            at: path, of: manifest.generation, dataKey, provenBy: dataKey, timeout
        ) { manifest in
            // Another process may have been faster.
            if !manifest.place.hasSameBytes(as: place) { manifest.beginLife(in: place) }
            access.renew(&manifest)
        }
    }

    /// Reads the manifest of one generation of the data; while no lock is held, another one may take its place.
    private static func readManifest(at path: String, of generation: Int, _ dataKey: DataKey?)
        throws -> Manifest
    {
        let current = try Manifest(at: path)
        guard current.generation == generation else { throw DatabaseError.replaced(path) }
        // Only now: another generation may have another key.
        try current.checkProof(by: dataKey, path: path)
        return current
    }

    /// Changes the manifest of a generation, which one key of the data proves, into one that another key proves.
    private static func changeManifest(
        at path: String, of generation: Int, _ dataKey: DataKey?, provenBy newKey: DataKey?,
        _ timeout: Duration, _ change: (inout Manifest) -> Void
    ) throws -> Manifest {
        let gate = try DirectoryLock.passGate(of: path, timeout: timeout)
        defer { gate.unlock() }
        let current = try readManifest(at: path, of: generation, dataKey)
        var changed = current
        change(&changed)
        if changed != current {
            try Files.replace(manifestPath(path), with: changed.bytes(provenBy: newKey))
        }
        return changed
    }

    // MARK: - Exclusive work

    /// Turns the shared lock into an exclusive one, as deleting needs.
    ///
    /// - Throws: `.databaseBusy` when another process has the database open; the shared lock is then
    ///   held as before. `.io` when the directory is no longer at its path. `.databaseClosed`, without any lock,
    ///   when the shared lock had been given up, and others have replaced the data meanwhile.
    func lockExclusively() throws {
        guard isAtItsPath else { throw DatabaseError.directoryVanished(path) }
        do {
            if let lock = try openLock(), try !DirectoryLock.makeExclusive(lock, of: path) {
                throw DatabaseError.busy(path)
            }
        } catch let error as SystemError { throw DatabaseError.io(error) }
        // A database whose manifest is damaged can still be deleted.
        let current = (try? Manifest(at: path))?.generation ?? manifest.generation
        guard isAtItsPath, current == manifest.generation else {
            unlock()
            throw DatabaseError.replaced(path)
        }
    }

    /// Makes the shared lock exclusive if there is no other open handle, and says whether.
    ///
    /// Without a lock file no process has it open for writing.
    package func isHeldAlone() throws -> Bool {
        do {
            return try openLock().map { try DirectoryLock.makeExclusive($0, of: path) } ?? true
        } catch let error as SystemError { throw DatabaseError.io(error) }
    }

    /// Gives up the lock, shared or exclusive.
    func unlock() { lock.withLock { $0?.unlock() } }

    /// Gives up the lock and its file for good.
    package func close() {
        closed.store(true, ordering: .releasing)
        unlock()
        lock.withLock { $0 = nil }
    }

    /// The lock file; nil where there is none.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed` once the directory is closed: without its lock
    ///   nothing may be done that needs it.
    private func openLock() throws -> FileHandle? {
        guard !closed.load(ordering: .acquiring) else { throw DatabaseError.closed(path) }
        return lock.withLock { $0 }
    }

    /// Takes the shared lock again that was given up.
    ///
    /// - Returns: False, without the lock, when the database has been deleted or replaced meanwhile.
    /// - Throws: `DatabaseError` with code `.databaseBusy`, `.io`.
    func lockAgain() throws -> Bool {
        do {
            if let lock = try openLock() {
                try DirectoryLock.retake(lock, of: path, timeout: busyTimeout)
            }
        } catch let error as SystemError { throw DatabaseError.io(error) }
        guard currentManifest != nil else {
            unlock()
            return false
        }
        return true
    }

    /// Removes the database, and its directory unless that has other files; the exclusive lock must be held.
    ///
    /// The manifest gets another name before the data go: what a crash midway leaves does not count as a database, nor as one
    /// that has lost its manifest.
    func removeFiles() throws(SystemError) {
        try Files.rename(Self.manifestPath(path), to: Self.deletedManifestPath(path))
        try Files.remove(Self.changesPath(path))
        try Files.remove(dataPath)
        for name in try Self.leftovers(at: path, besides: nil) {
            try Files.remove(path + "/" + name)
        }
        try Files.remove(DirectoryLock.path(path))
        try Files.removeDirectoryIfEmpty(path)
    }

    /// Creates the database. Where there is one by then, it counts as created, unless it must be new.
    private static func create(
        at path: String, engine: String, busyTimeout: Duration, access: DatabaseAccess,
        partitioned: Bool, mustBeNew: Bool,
        makeEngine: (_ dataPath: String, DataKey?) throws -> Void
    ) throws {
        var isMade = false
        try Files.makeDirectory(path)
        try DirectoryLock.whileExclusive(
            at: path, timeout: busyTimeout, unless: { exists(at: path) }
        ) {
            // Another process may have created it while this one waited.
            guard !exists(at: path) else { return }
            try checkIsNoDatabase(at: path, isCreating: true)
            for name in try leftovers(at: path, besides: nil) {
                try Files.remove(path + "/" + name)
            }
            var manifest = Manifest(engine: engine)
            manifest.generation = try nextGeneration(at: path)
            manifest.encryption = access.wrapping
            manifest.isPartitioned = partitioned
            let dataPath = try makeGeneration(manifest.generation, at: path)
            markPlace(in: &manifest, at: path)
            // From here on a missing engine file is damage, and is not replaced by an empty one.
            try makeEngine(dataPath, access.dataKey)
            try Files.replace(changesPath(path), with: ChangeMark().bytes)
            try Files.replace(
                manifestPath(path), with: manifest.bytes(provenBy: access.dataKey))
            isMade = true
        }
        guard isMade || !mustBeNew else { throw DatabaseError.databaseExists(path) }
        try Files.synchroniseDirectory(Files.parent(of: path))
    }
}

extension Manifest {
    /// Reads the manifest of a directory.
    package init(at path: String) throws {
        try self.init(Files.read(DatabaseDirectory.manifestPath(path)), path: path)
    }

    /// The same, and refuses one that the key of the data does not prove.
    init(at path: String, _ dataKey: DataKey?) throws {
        try self.init(at: path)
        try checkProof(by: dataKey, path: path)
    }
}

extension DatabaseError {
    /// Makes the error of a system call's.
    package static func io(_ error: SystemError) -> DatabaseError {
        if error.isDamage {
            return .corrupted("The encrypted file at '\(error.path)'", nil, error)
        }
        let code: Code = error.isFull ? .storageFull : .io
        let remedy =
            if code == .storageFull {
                "free some space and try again"
            } else if error.isShortage {
                "allow the process more open files and memory, or close what it does not need"
            } else { "check the path and its permissions" }
        return DatabaseError(
            code, "\(error.operation) failed on '\(error.path)' (\(error.reason)); \(remedy).",
            underlying: error
        )
    }
}
