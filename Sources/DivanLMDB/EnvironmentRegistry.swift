// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// The environments that are open in this process: one for each directory, however many engines use it.
///
/// Opening and closing happen under the mutex, since a file must never be open twice: see
/// `LMDBEnvironment`.
final class EnvironmentRegistry: Sendable {
    static let shared = EnvironmentRegistry()

    private struct Entry {
        var environment: LMDBEnvironment
        var users: Int
        /// The engines that will use it again when they are resumed.
        var suspended = 0
    }

    private let entries = Mutex<[FileIdentity: Entry]>([:])

    /// Opens the environment of a directory, or shares it.
    func open(_ place: LMDBPlace) throws -> (LMDBEnvironment, FileIdentity) {
        try entries.withLock { entries in
            guard let identity = Files.identity(of: place.directory) else {
                throw StorageError(.notFound, "There is no directory \(place.directory).")
            }
            if var entry = entries[identity] {
                guard place.isReadOnly || !entry.environment.place.isReadOnly else {
                    throw StorageError(
                        .busy, "The database is open read-only in this process.")
                }
                try entry.environment.reopen()
                entry.users += 1
                entries[identity] = entry
                return (entry.environment, identity)
            }
            let environment = try LMDBEnvironment(place)
            entries[identity] = Entry(environment: environment, users: 1)
            return (environment, identity)
        }
    }

    /// Ends one use. The last one closes the environment, unless a thread is still reading or writing: then
    /// `collect` closes it when that ends.
    func close(_ identity: FileIdentity) {
        entries.withLock { entries in
            entries[identity]?.users -= 1
        }
        collect(identity)
    }

    /// Ends one use until `resume`: the last one closes the file.
    func suspend(_ identity: FileIdentity) {
        entries.withLock { entries in
            entries[identity]?.suspended += 1
        }
        close(identity)
    }

    /// Begins again a use that `suspend` has ended.
    ///
    /// - Throws: as opening does; the use is then still suspended.
    func resume(_ identity: FileIdentity) throws {
        try entries.withLock { entries in
            guard var entry = entries[identity], entry.suspended > 0 else { return }
            try entry.environment.reopen()
            entry.suspended -= 1
            entry.users += 1
            entries[identity] = entry
        }
    }

    /// Gives up a use that was suspended.
    func forget(_ identity: FileIdentity) {
        entries.withLock { entries in
            entries[identity]?.suspended -= 1
        }
        collect(identity)
    }

    /// Closes an environment that is not in use.
    ///
    /// Called after each read and each turn of the writer that ends once an engine has been closed. So an
    /// environment that is still in use now is closed at the end of that use. This waits for no thread under
    /// the mutex: the thread that has the writer's turn may be about to open another database.
    func collect(_ identity: FileIdentity) {
        entries.withLock { entries in
            guard let entry = entries[identity], entry.users <= 0,
                !entry.environment.readers.isUsed, !entry.environment.writer.isInUse
            else { return }
            entry.environment.close()
            if entry.suspended <= 0 {
                entries[identity] = nil
            }
        }
    }
}
