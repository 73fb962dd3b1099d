// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// The databases open in this process: one engine for each directory, however many managers and handles.
///
/// A directory is known by its device and inode, so two paths to it are one database. One mutex
/// guards the table; opening happens outside it, and a thread that loses a race to open the same
/// directory closes its own and takes the winner's.
package final class DatabaseRegistry: Sendable {
    /// The registry of this process.
    package static let shared = DatabaseRegistry()

    /// One handle's share of an open directory.
    package struct Registration: Sendable {
        fileprivate let identity: FileIdentity
        fileprivate let core: DatabaseCore
    }

    private struct Open {
        var cores: [FileIdentity: DatabaseCore] = [:]
        /// How many handles each core has, also one whose directory was deleted.
        var handles: [ObjectIdentifier: Int] = [:]

        mutating func remove(_ core: DatabaseCore, at identity: FileIdentity) {
            if cores[identity] === core { cores[identity] = nil }
        }
    }

    private let table = Mutex(Open())

    /// Opens a directory, or shares it when it is open; then `sharesAnyKey` says that its key does not
    /// matter. With `mustBeNew` it creates a database and opens none that is there.
    package func open(
        name: String, path: String, options: DatabaseOptions, manager: Manager? = nil,
        sharesAnyKey: Bool = false, mustBeNew: Bool = false
    ) throws -> Database {
        try options.check()
        if let wanted = options.storageEngine { KnownEngines.remember(wanted) }
        if !mustBeNew,
            let shared = try share(path, name, options, manager, sharesAnyKey)
        {
            return shared
        }
        let newEngine =
            options.storageEngine ?? manager?.defaultStorageEngine ?? KnownEngines.standard
        if options.encryptionKey != nil, !newEngine.canEncrypt, !DatabaseDirectory.exists(at: path)
        {
            throw DatabaseError.keyUnsupported(by: newEngine.identifier, path)
        }
        let directory = try DatabaseDirectory(
            path: path, create: options.create || mustBeNew, readOnly: options.readOnly,
            engine: newEngine.identifier, busyTimeout: options.busyTimeout,
            key: options.encryptionKey, partitioned: options.partitioned == true,
            mustBeNew: mustBeNew
        ) { dataPath, dataKey in
            try DatabaseCore.openEngine(
                at: dataPath, named: newEngine.identifier, options.unlocked(dataKey), creating: true
            ).close()
        }
        do { try options.checkKind(directory.manifest.isPartitioned, name) } catch {
            directory.close()
            throw error
        }
        if let wanted = options.storageEngine,
            !wanted.identifier.hasSameBytes(as: directory.manifest.engine)
        {
            try convert(directory, to: wanted, options)
            return try open(
                name: name, path: path, options: options, manager: manager,
                sharesAnyKey: sharesAnyKey)
        }
        // Another thread may have opened it since; its engine is the one to use.
        if let shared = try share(path, name, options, manager, sharesAnyKey) { return shared }
        let core = try DatabaseCore(
            name: name, directory: directory,
            options: options.unlocked(directory.access.dataKey))
        let isFirst = table.withLock { open in
            guard open.cores[directory.identity] == nil else { return false }
            open.cores[directory.identity] = core
            open.handles[ObjectIdentifier(core)] = 1
            return true
        }
        if isFirst { return handle(name, directory.identity, core, options, manager) }
        core.close()
        return try open(
            name: name, path: path, options: options, manager: manager, sharesAnyKey: sharesAnyKey)
    }

    /// Moves a database to the engine that its opening asks for. The directory is unlocked then.
    private func convert(
        _ directory: DatabaseDirectory, to engine: StorageEngineFactory, _ options: DatabaseOptions
    ) throws {
        defer { directory.close() }
        guard !options.readOnly else {
            throw DatabaseError.convertedReadOnly(
                directory.path, from: directory.manifest.engine, to: engine.identifier)
        }
        try EngineConversion.run(directory, to: engine, options, nil)
    }

    func release(_ registration: Registration) {
        let core = registration.core
        let isLast = table.withLock { open in
            guard let handles = open.handles[ObjectIdentifier(core)] else { return false }
            open.handles[ObjectIdentifier(core)] = handles > 1 ? handles - 1 : nil
            guard handles == 1 else { return false }
            open.remove(core, at: registration.identity)
            return true
        }
        if isLast { core.close() }
    }

    /// Removes a core that was closed for all of its handles.
    func forget(_ core: DatabaseCore, at identity: FileIdentity) {
        table.withLock { open in
            open.handles[ObjectIdentifier(core)] = nil
            open.remove(core, at: identity)
        }
    }

    /// Whether a directory is open in this process.
    package func isOpen(_ path: String) -> Bool {
        guard let identity = Files.identity(of: path) else { return false }
        return table.withLock { $0.cores[identity].map { !$0.isClosed } ?? false }
    }

    /// The core of a directory, with a handle more; nil when the directory is not open.
    ///
    /// One that was opened elsewhere and moved here since, or whose directory was deleted and its inode used again, is closed for
    /// all of its handles: no file may be open twice. A suspended one is closed when it is resumed.
    private func hold(_ identity: FileIdentity) -> DatabaseCore? {
        let (core, isGone): (DatabaseCore?, Bool) = table.withLock { open in
            guard let core = open.cores[identity], !core.isClosed, !core.isAstray else {
                return (open.cores.removeValue(forKey: identity), true)
            }
            open.handles[ObjectIdentifier(core), default: 0] += 1
            return (core, false)
        }
        guard isGone else { return core }
        if let core, !core.isClosed, !core.suspension.isOn { core.close() }
        return nil
    }

    private func share(
        _ path: String, _ name: String, _ options: DatabaseOptions, _ manager: Manager?,
        _ sharesAnyKey: Bool
    ) throws -> Database? {
        guard let identity = Files.identity(of: path) else { return nil }
        guard let found = hold(identity) else { return nil }
        guard options.readOnly || !found.options.readOnly else {
            release(Registration(identity: identity, core: found))
            throw DatabaseError(
                .databaseBusy,
                "The database at '\(path)' is open read-only in this process; close it to open it "
                    + "writable.")
        }
        if let wanted = options.storageEngine, !wanted.identifier.hasSameBytes(as: found.engineName)
        {
            release(Registration(identity: identity, core: found))
            throw DatabaseError.convertedWhileOpen(path)
        }
        do {
            if !sharesAnyKey { try found.checkKey(options.encryptionKey) }
            try options.checkKind(found.isPartitioned, name)
        } catch {
            release(Registration(identity: identity, core: found))
            throw error
        }
        return handle(name, identity, found, options, manager)
    }

    private func handle(
        _ name: String, _ identity: FileIdentity, _ core: DatabaseCore, _ options: DatabaseOptions,
        _ manager: Manager?
    ) -> Database {
        Database(
            name: name, core: core, readOnly: options.readOnly,
            registration: Registration(identity: identity, core: core), manager: manager)
    }
}
