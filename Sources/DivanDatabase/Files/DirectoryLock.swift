// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// The two advisory locks of a database directory.
///
///     lock             shared by every open handle, exclusive to create, replace, delete, tidy up
///     the directory    the gate: held to seek that exclusive lock, or to change the manifest
///
/// Both are `flock`s. So they end with their process, and two in one process exclude each other
/// like those of two processes.
///
/// The gate is needed because `flock` gives up the shared lock before it tries for the exclusive one:
///
///     A, open                           B
///     tries for exclusive: its shared
///     lock goes, B's is in the way
///                                       tries for exclusive: has it, and replaces the database
///     takes the shared lock again
///
/// With the gate B would not have tried, and A always has its shared lock back at once.
package enum DirectoryLock {
    /// How long taking a lock without waiting may take: another process that tidies up holds it for
    /// a moment, and so does a child process between its fork and the start of its program.
    package static let moment = Duration.milliseconds(100)
    /// How long to sleep between two tries.
    private static let pause = Duration.milliseconds(5)

    /// The path of a directory's lock file.
    package static func path(_ directory: String) -> String { directory + "/lock" }

    /// Takes the lock on the lock file that is in the directory.
    ///
    /// While this waits, the file may be deleted with its database and made again with the next
    /// one. A lock on the old file locks nothing, so then it starts over.
    ///
    /// - Returns: nil for a read-only directory without a lock file.
    /// - Throws: `DatabaseError` with code `.databaseBusy` after the timeout, `.databaseNotFound` when
    ///   the directory was deleted meanwhile; `SystemError`.
    static func takeShared(at directory: String, writable: Bool, timeout: Duration) throws
        -> FileHandle?
    {
        if !writable, !Files.exists(path(directory)) { return nil }
        return try take(at: directory, writable: writable, exclusive: false, timeout)
    }

    /// Takes a shared lock again that its handle has given up.
    ///
    /// - Throws: `DatabaseError` with code `.databaseBusy` after the timeout; `SystemError`.
    static func retake(_ lock: FileHandle, of directory: String, timeout: Duration) throws {
        guard try lock.lock(exclusive: false, timeout: timeout) else {
            throw DatabaseError.busy(directory)
        }
    }

    /// Runs `body` while no other handle has the database open.
    ///
    /// - Throws: as `takeShared`, and what `body` throws.
    package static func whileExclusive<T>(
        at directory: String, timeout: Duration, _ body: () throws -> T
    ) throws -> T {
        let gate = try passGate(of: directory, timeout: timeout)
        defer { gate.unlock() }
        let lock = try take(at: directory, writable: true, exclusive: true, timeout)
        defer { lock.unlock() }
        return try body()
    }

    /// As above, but does not run `body` once `isDone` holds, which another process may bring about meanwhile.
    ///
    /// A thread that waits to create a database must not wait for another that has created and
    /// opened it.
    package static func whileExclusive(
        at directory: String, timeout: Duration, unless isDone: () -> Bool,
        _ body: () throws -> Void
    ) throws {
        var busy: DatabaseError?
        let isOver = try poll(every: pause, for: timeout) {
            busy = nil
            if isDone() { return true }
            // What the work itself finds busy is no reason to do it again.
            var hasBegun = false
            do {
                try whileExclusive(at: directory, timeout: .zero) {
                    hasBegun = true
                    try body()
                }
            } catch let error as DatabaseError where error.code == .databaseBusy && !hasBegun {
                busy = error
                return false
            }
            return true
        }
        if !isOver, let busy { throw busy }
    }

    /// Turns a shared lock into an exclusive one, if no other handle has one.
    ///
    /// - Returns: Whether it is exclusive now; if not, it is shared as before.
    static func makeExclusive(_ lock: FileHandle, of directory: String) throws -> Bool {
        let gate: FileHandle
        do { gate = try passGate(of: directory, timeout: moment) } catch let error as DatabaseError
            where error.code == .databaseBusy
        { return false }
        defer { gate.unlock() }
        return try poll(every: pause, for: moment) {
            if try lock.tryLock(exclusive: true) { return true }
            _ = try lock.tryLock(exclusive: false)
            return false
        }
    }

    /// Waits at the gate and closes it until the handle is unlocked.
    static func passGate(of directory: String, timeout: Duration) throws -> FileHandle {
        let gate = try open(directory, [.read, .directory], of: directory)
        guard try gate.lock(exclusive: true, timeout: timeout) else {
            throw DatabaseError.busy(directory)
        }
        return gate
    }

    /// Opens what is to be locked; a directory that was deleted meanwhile is a database that is not there.
    private static func open(_ path: String, _ options: OpenOptions, of directory: String) throws
        -> FileHandle
    {
        do throws(SystemError) { return try FileHandle(path: path, options) } catch {
            guard error.isNoSuchFile, !Files.exists(directory) else { throw error }
            throw DatabaseError.databaseNotFound(directory)
        }
    }

    private static func take(
        at directory: String, writable: Bool, exclusive: Bool, _ timeout: Duration
    ) throws -> FileHandle {
        while true {
            let options: OpenOptions = writable ? [.read, .write, .create] : .read
            let lock = try open(path(directory), options, of: directory)
            guard try lock.lock(exclusive: exclusive, timeout: timeout) else {
                throw DatabaseError.busy(directory)
            }
            if lock.isAtItsPath { return lock }
            // Without a directory there is nothing left to wait for.
            guard Files.isDirectory(directory) else {
                throw DatabaseError.databaseNotFound(directory)
            }
        }
    }
}
