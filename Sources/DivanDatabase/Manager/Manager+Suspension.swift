// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

// Giving up all files and locks for a while; `Suspension` says how one database does it.
extension Manager {
    /// Gives up the file locks of all open databases and stops their timers, until `resume()`.
    ///
    /// ```swift
    /// func appWillSleep() throws { try manager.suspend() }
    /// func appDidWake() throws { try manager.resume() }
    /// ```
    ///
    /// For apps that the system puts to sleep, which must not hold a lock on a shared file meanwhile,
    /// and for letting another process replace or delete a database. It waits for the batch that is
    /// running, and stops the reads that are running. After that every call throws
    /// `.databaseSuspended`, and no file of a database is open for reading or writing. Objects stay
    /// valid: live documents and live queries keep what they show, replications are offline,
    /// notifications wait. Automatic saves of models that are due happen first.
    ///
    /// A database that other managers of this process have open too is suspended for them as well.
    /// Suspending twice is fine.
    ///
    /// - Throws: `DatabaseError` with code `.databaseBusy` inside a batch or read of one of the databases, which
    ///   then goes on; the others are suspended.
    public func suspend() throws {
        let open = endOpenings { $0.isSuspended = !$0.isClosed }
        try Self.forEach(open) { database in
            if !database.isSuspended { database.editors.saveDue() }
            try database.core.suspend()
        }
    }

    /// Resumes after `suspend()`, and tells listeners what other processes have changed meanwhile.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed` for a database that was deleted or replaced
    ///   meanwhile; it is closed. `.databaseBusy` or `.io` for one that cannot be opened now; it is
    ///   still suspended, and `resume()` may be called again. All others go on in any case.
    public func resume() throws {
        let open = state.withLock { state in
            state.isSuspended = false
            return Array(state.databases.values)
        }
        try Self.forEach(open) { try $0.core.resume() }
    }

    /// Whether the manager is suspended.
    public var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Does something to all databases, then throws the first failure.
    private static func forEach(_ databases: [Database], _ body: (Database) throws -> Void) throws {
        var failure: (any Error)?
        for database in databases where !database.isClosed {
            do { try body(database) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}
