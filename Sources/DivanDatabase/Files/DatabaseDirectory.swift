// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The directory `NAME.divan/` that is one database; docs/file-format.md gives every byte.
///
///     manifest     what this is, which generation is current; replaced by rename
///     lock         every open handle holds a shared lock on it; delete and replace an exclusive one
///     changes      24 bytes, overwritten after each commit, watched by other processes
///     data-1/      the current generation: the engine's files
///
/// Creation takes the lock exclusively and writes the manifest last, so a directory without a
/// manifest is a creation that did not finish; the next one that may create starts it over.
final class DatabaseDirectory: Sendable {
    let path: String
    let isReadOnly: Bool
    let identity: FileIdentity
    let manifest: Manifest
    /// Nil for a read-only directory without a lock file: nobody can write there anyway.
    let lock: FileHandle?

    var dataPath: String { path + "/data-\(manifest.generation)" }
    var changesPath: String { path + "/changes" }
    static func manifestPath(_ path: String) -> String { path + "/manifest" }
    static func lockPath(_ path: String) -> String { path + "/lock" }

    /// Whether `path` holds a whole database.
    static func exists(at path: String) -> Bool { Files.exists(manifestPath(path)) }

    /// Opens the directory, creating the database when `create` says so.
    ///
    /// A creation has `makeEngine` make the engine's files in the directory it is given.
    ///
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, `.databaseBusy` when another process
    ///   holds it exclusively, `.corrupted`, `.unsupportedVersion`, or `.io`.
    init(
        path: String, create: Bool, readOnly: Bool, engine: String, busyTimeout: Duration,
        makeEngine: (_ dataPath: String) throws -> Void
    ) throws {
        let exists = Self.exists(at: path)
        guard exists || (create && !readOnly) else { throw DatabaseError.databaseNotFound(path) }
        do {
            if !exists {
                try Self.create(
                    at: path, engine: engine, busyTimeout: busyTimeout, makeEngine: makeEngine)
            }
            let writable = !readOnly
            if !readOnly && !Files.isWritable(path) {
                throw DatabaseError(
                    .io,
                    "The directory '\(path)' is not writable; change its permissions or open the "
                        + "database read-only.")
            }
            lock = try Self.takeLock(
                at: path, writable: writable, exclusive: false, timeout: busyTimeout)
            // Only now: while the lock was awaited, the database may have been deleted or replaced.
            guard Self.exists(at: path) else { throw DatabaseError.databaseNotFound(path) }
            manifest = try Manifest(Files.read(Self.manifestPath(path)), path: path)
            guard let identity = Files.identity(of: path) else {
                throw DatabaseError.databaseNotFound(path)
            }
            self.identity = identity
            self.path = path
            isReadOnly = readOnly
        } catch let error as SystemError {
            throw DatabaseError.io(error)
        }
    }

    /// Whether the directory is still where it was opened.
    var isInPlace: Bool { lock?.isLinked ?? true }

    /// Turns the shared lock into an exclusive one, as deleting needs.
    ///
    /// - Throws: `.databaseBusy` when another process has the database open; the shared lock is then
    ///   held as before.
    func lockExclusively() throws {
        do {
            guard let lock, try !lock.tryLock(exclusive: true) else { return }
            // A failed conversion may have given up the shared lock.
            _ = try lock.tryLock(exclusive: false)
        } catch { throw DatabaseError.io(error) }
        throw DatabaseError.busy(path)
    }

    /// Gives up the lock, shared or exclusive.
    func unlock() { lock?.unlock() }

    /// Removes the directory; the exclusive lock must be held.
    ///
    /// The manifest goes first: a crash midway leaves what counts as no database.
    func removeFiles() throws(SystemError) {
        try Files.remove(Self.manifestPath(path))
        try Files.remove(path)
    }

    private static func create(
        at path: String, engine: String, busyTimeout: Duration,
        makeEngine: (_ dataPath: String) throws -> Void
    ) throws {
        try Files.makeDirectory(path)
        let lock = try takeLock(at: path, writable: true, exclusive: true, timeout: busyTimeout)
        defer { lock?.unlock() }
        // Another process may have created it while this one waited.
        guard !exists(at: path) else { return }
        for name in try Files.list(path) where name.hasPrefix("data-") {
            try Files.remove(path + "/" + name)
        }
        let manifest = Manifest(engine: engine)
        let dataPath = path + "/data-\(manifest.generation)"
        try Files.makeDirectory(dataPath)
        // From here on a missing engine file is damage, and nobody makes an empty one in its place.
        try makeEngine(dataPath)
        try Files.replace(path + "/changes", with: ChangeMark().bytes)
        try Files.replace(manifestPath(path), with: manifest.bytes)
        try Files.synchroniseDirectory(Files.parent(of: path))
    }

    /// Takes the lock on the lock file that is in the directory.
    ///
    /// While it is awaited, the file may be deleted with its database and made again with the next
    /// one. A lock on the old file locks nothing, so then it starts over.
    ///
    /// - Returns: nil for a read-only directory without a lock file.
    private static func takeLock(
        at path: String, writable: Bool, exclusive: Bool, timeout: Duration
    ) throws -> FileHandle? {
        while true {
            guard let lock = try openLock(at: path, writable: writable) else { return nil }
            try acquire(lock, exclusive: exclusive, path: path, timeout: timeout)
            if lock.identity == Files.identity(of: lockPath(path)) { return lock }
            // Without a directory there is nothing to wait for any more.
            guard Files.isDirectory(path) else { throw DatabaseError.databaseNotFound(path) }
        }
    }

    private static func openLock(at path: String, writable: Bool) throws(SystemError) -> FileHandle?
    {
        if writable { return try FileHandle(path: lockPath(path), flags: O_RDWR | O_CREAT) }
        guard Files.exists(lockPath(path)) else { return nil }
        return try FileHandle(path: lockPath(path), flags: O_RDONLY)
    }

    /// Waits for the lock in short sleeps: `flock` cannot wait with a limit.
    private static func acquire(
        _ lock: FileHandle, exclusive: Bool, path: String, timeout: Duration
    ) throws {
        let deadline = ContinuousClock.now + timeout
        while try !lock.tryLock(exclusive: exclusive) {
            guard ContinuousClock.now < deadline else { throw DatabaseError.busy(path) }
            usleep(5_000)
        }
    }
}

extension DatabaseError {
    static func io(_ error: SystemError) -> DatabaseError {
        let code: Code =
            switch error.number {
            case ENOSPC, EDQUOT: .storageFull
            case EROFS, EACCES, EPERM: .io
            default: .io
            }
        let remedy =
            code == .storageFull
            ? "free some space and try again" : "check the path and its permissions"
        return DatabaseError(
            code, "\(error.call) failed on '\(error.path)' (\(error.reason)); \(remedy).",
            underlying: error
        )
    }
}
