// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// The environments that are open in this process: one for each directory, however many engines use it.
///
/// Opening and closing happen under the mutex of the directory, since a file must never be open twice: see
/// `LMDBEnvironment`. Opening may wait for another process, and only engines of the same directory wait with it.
///
/// State and its guards: the directories and their visitors have the registry's mutex, which is held for no
/// wait; what is open of a directory has the directory's.
final class EnvironmentRegistry: Sendable {
    static let shared = EnvironmentRegistry()

    /// What is open of one directory.
    private final class Directory: Sendable {
        let use = Mutex<Use?>(nil)
    }

    private struct Use {
        var environment: LMDBEnvironment
        var users = 1
        /// The engines that will use it again when they are resumed.
        var suspended = 0
    }

    private struct Entry {
        let directory = Directory()
        /// The threads that have its mutex or wait for it.
        var visitors = 0
    }

    private let entries = Mutex<[FileIdentity: Entry]>([:])

    /// Runs `body` under the mutex of a directory, which is forgotten afterwards when nothing of it is in use.
    private func visit<Result: Sendable>(
        _ identity: FileIdentity, _ body: (inout Use?) throws -> Result
    ) rethrows -> Result {
        let directory = entries.withLock { entries in
            entries[identity, default: Entry()].visitors += 1
            return entries[identity, default: Entry()].directory
        }
        defer {
            entries.withLock { entries in
                entries[identity]?.visitors -= 1
                // Without a visitor the mutex is free.
                if entries[identity]?.visitors == 0, directory.use.withLock({ $0 == nil }) {
                    entries[identity] = nil
                }
            }
        }
        return try directory.use.withLock { use in try body(&use) }
    }

    /// Opens the environment of a directory, or shares it.
    func open(_ place: LMDBPlace) throws -> (LMDBEnvironment, FileIdentity) {
        guard let identity = Files.identity(of: place.directory) else {
            throw StorageError(.notFound, "There is no directory \(place.directory).")
        }
        return try visit(identity) { use in
            guard let environment = use?.environment else {
                let environment = try LMDBEnvironment(place)
                use = Use(environment: environment)
                return (environment, identity)
            }
            guard place.isReadOnly || !environment.place.isReadOnly else {
                throw StorageError(.busy, "The database is open read-only in this process.")
            }
            try environment.reopen()
            use?.users += 1
            return (environment, identity)
        }
    }

    /// Ends one use. The last one closes the environment, unless a thread is still reading or writing: then
    /// `collect` closes it when that ends.
    func close(_ identity: FileIdentity) {
        visit(identity) { use in
            use?.users -= 1
            collect(&use)
        }
    }

    /// Ends one use until `resume`: the last one closes the file.
    func suspend(_ identity: FileIdentity) {
        visit(identity) { use in
            use?.suspended += 1
            use?.users -= 1
            collect(&use)
        }
    }

    /// Begins again a use that `suspend` has ended.
    ///
    /// - Throws: as opening does; the use is then still suspended.
    func resume(_ identity: FileIdentity) throws {
        try visit(identity) { use in
            guard let known = use, known.suspended > 0 else { return }
            try known.environment.reopen()
            use?.suspended -= 1
            use?.users += 1
        }
    }

    /// Gives up a use that was suspended.
    func forget(_ identity: FileIdentity) {
        visit(identity) { use in
            use?.suspended -= 1
            collect(&use)
        }
    }

    /// Closes an environment that is not in use.
    ///
    /// Called after each read and each turn of the writer that ends once an engine has been closed. So an
    /// environment that is still in use now is closed at the end of that use. This waits for no thread under
    /// the mutex: the thread that has the writer's turn may be about to open the directory again.
    func collect(_ identity: FileIdentity) {
        visit(identity) { collect(&$0) }
    }

    private func collect(_ use: inout Use?) {
        guard let known = use, known.users <= 0,
            !known.environment.readers.isUsed, !known.environment.writer.isInUse
        else { return }
        known.environment.close()
        if known.suspended <= 0 {
            use = nil
        }
    }
}
