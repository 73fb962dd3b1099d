// SPDX-License-Identifier: Apache-2.0

public import DivanStorage
public import FoundationEssentials

/// Moves a closed database to another storage engine.
enum EngineConversion {
    /// Converts the database in a directory unless the engine keeps it already.
    ///
    /// - Throws: `DatabaseError` with code `.databaseBusy` when it is open, here or in another process;
    ///   as `GenerationRewriting`.
    static func run(
        at path: String, to engine: StorageEngineFactory, busyTimeout: Duration,
        _ progress: ProgressHandler?
    ) throws {
        KnownEngines.remember(engine)
        guard !DatabaseRegistry.shared.isOpen(path) else {
            throw DatabaseError.convertedWhileOpen(path)
        }
        let directory: DatabaseDirectory
        do {
            directory = try DatabaseDirectory(
                path: path, create: false, readOnly: false, engine: engine.identifier,
                busyTimeout: busyTimeout, key: nil
            ) { _, _ in }
        } catch let error as DatabaseError where error.code == .unauthorized && !engine.canEncrypt {
            // No key helps: the engine could not keep what it opens.
            throw DatabaseError.keyUnsupported(by: engine.identifier, path)
        }
        defer { directory.close() }
        var options = DatabaseOptions()
        options.busyTimeout = busyTimeout
        try run(directory, to: engine, options, progress)
    }

    /// Converts the database in an opened directory unless the engine keeps it already.
    static func run(
        _ directory: DatabaseDirectory, to engine: StorageEngineFactory, _ options: DatabaseOptions,
        _ progress: ProgressHandler?
    ) throws {
        guard directory.manifest.engine != engine.identifier else { return }
        try directory.lockExclusively()
        guard engine.canEncrypt || directory.access.dataKey == nil else {
            throw DatabaseError.keyUnsupported(by: engine.identifier, directory.path)
        }
        let options = options.unlocked(directory.access.dataKey)
        let form = GenerationForm(engine: engine, options: options.storageOptions)
        try GenerationRewriting(
            directory: directory, form: form, options: options, progress: progress
        ).run()
    }
}

// Choosing the engine of a database that exists; docs/engines.md has the guide.
extension Manager {
    /// Moves a database to another storage engine.
    ///
    /// ```swift
    /// import DivanLMDB
    ///
    /// try manager.convertDatabase(named: "app", to: .lmdb) { report in
    ///     print(report.phase, report.completed)
    /// }
    /// ```
    ///
    /// It stays the same database: documents with all their revisions, conflicts, attachments, local
    /// documents, indexes, sequences, dates of expiration and both UUIDs. The new data are built beside
    /// the old ones, checked as `verify` does, and forced to the disk before they take their place in
    /// one step. Whatever fails, and whenever power or process end, there is the old database or the new
    /// one, whole. So for a while there must be room for both; attachments are not copied but linked.
    ///
    /// The database must be closed, in this process too. When the engine keeps it already, nothing
    /// happens.
    ///
    /// - Parameters:
    ///   - name: The database.
    ///   - engine: The engine to move to.
    ///   - progress: Gets reports; throwing stops the work, and all stays as it was.
    /// - Throws: `DatabaseError` with code `.invalidName`, `.databaseNotFound`, `.databaseBusy` when it
    ///   is open here or in another process, `.corrupted` when something in it is damaged,
    ///   `.unsupportedStorageEngine` when this program does not have the engine that keeps it,
    ///   `.readOnly`, `.storageFull`, `.io`, or `.databaseClosed` after `close()`; and what `progress`
    ///   throws. All is then as it was.
    public func convertDatabase(
        named name: String, to engine: StorageEngineFactory, progress: ProgressHandler? = nil
    ) throws {
        try EngineConversion.run(
            at: pathForCopy(name), to: engine, busyTimeout: copyTimeout, progress)
    }

    /// Makes a storage engine known to this process, so that databases which it keeps can be opened.
    ///
    /// Naming an engine in `DatabaseOptions.storageEngine`, or as `defaultStorageEngine`, does so too.
    public static func register(_ engine: StorageEngineFactory) {
        KnownEngines.remember(engine)
    }
}

extension Database {
    /// Moves the database in a directory to another storage engine.
    ///
    /// See `Manager.convertDatabase(named:to:progress:)`, which says what stays and what can fail.
    ///
    /// - Parameters:
    ///   - url: The directory of the database, which must be closed.
    ///   - engine: The engine to move to.
    ///   - progress: Gets reports; throwing stops the work, and all stays as it was.
    /// - Throws: As the manager's method.
    public static func convert(
        at url: URL, to engine: StorageEngineFactory, progress: ProgressHandler? = nil
    ) throws {
        try EngineConversion.run(
            at: try url.directoryPath, to: engine, busyTimeout: DatabaseOptions().busyTimeout,
            progress)
    }
}
