// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanStorage
internal import DivanSystem
public import FoundationEssentials

// Bringing over what Couchbase Lite 1.x kept; docs/coming-from-couchbase-lite.md has the guide.
extension Database {
    /// Makes a database out of one of Couchbase Lite 1.x's, at a path of its own.
    ///
    /// See `Manager.importCouchbaseLite(at:named:progress:)`, which says what comes over.
    ///
    /// - Parameters:
    ///   - source: The directory `NAME.cblite2`, or version 1.0's file `NAME.cblite`.
    ///   - destination: Where the new database goes: a path where nothing is yet, or an empty directory.
    ///   - progress: Gets reports; throwing stops the work, and nothing of it is left.
    /// - Returns: What came over, and what did not.
    /// - Throws: As the manager's method.
    @discardableResult
    public static func importCouchbaseLite(
        from source: URL, to destination: URL, progress: ProgressHandler? = nil
    ) throws -> CouchbaseLiteImport {
        try importCouchbaseLite(
            CouchbaseLiteFiles(at: source.directoryPath), to: destination.directoryPath,
            KnownEngines.standard, progress)
    }

    static func importCouchbaseLite(
        _ files: CouchbaseLiteFiles, to path: String, _ engine: StorageEngineFactory,
        _ progress: ProgressHandler?
    ) throws -> CouchbaseLiteImport {
        let before = files.stamps
        var result = CouchbaseLiteImport()
        let installation = Installation(
            path: path, purpose: .copy, transfer: .copying, progress: progress)
        try installation.run { dataPath in
            var manifest = Manifest(engine: engine.identifier)
            let importer = try fill(dataPath, files, engine, manifest.incarnation, progress) {
                result = $0
            }
            guard files.stamps == before else { throw DatabaseError.importBusy(files.path) }
            try installation.check(dataPath, engine: engine.identifier)
            manifest.publicUUID = importer.publicUUID ?? manifest.publicUUID
            manifest.privateUUID = importer.privateUUID ?? manifest.privateUUID
            return (manifest, nil)
        }
        result.name = files.name
        return result
    }

    /// Makes the data of the new database, and closes it again.
    private static func fill(
        _ dataPath: String, _ files: CouchbaseLiteFiles, _ engine: StorageEngineFactory,
        _ incarnation: String, _ progress: ProgressHandler?, _ done: (CouchbaseLiteImport) -> Void
    ) throws -> CouchbaseLiteImporter {
        let copies = dataPath + "/source"
        do { try Files.makeDirectory(dataPath) } catch { throw DatabaseError.io(error) }
        let options = DatabaseOptions()
        let source = try files.open(copyingTo: copies)
        try DatabaseCore.openEngine(
            at: dataPath, named: engine.identifier, options, creating: true
        ).close()
        let core = try DatabaseCore(
            name: files.name, directory: nil,
            engine: DatabaseCore.openEngine(at: dataPath, named: engine.identifier, options),
            options: options, dataPath: dataPath)
        defer { core.close() }
        // What has expired comes over, too; it goes when the database is first opened.
        core.expirationTimer.stop()
        do {
            let importer = try CouchbaseLiteImporter(
                files, source, into: core, incarnation: incarnation, progress: progress)
            done(try importer.run())
            try core.engine.sync()
            try Files.remove(copies)
            return importer
        } catch let error as StorageError {
            throw DatabaseError.importBroken(files.path, error)
        } catch let error as SystemError {
            throw DatabaseError.io(error)
        }
    }
}

extension Manager {
    /// Makes a database of this manager out of one of Couchbase Lite 1.x's, which is only read.
    ///
    /// ```swift
    /// let old = URL(filePath: "/data/old/shop.cblite2")
    /// if !manager.databaseExists(named: "shop") {
    ///     let result = try manager.importCouchbaseLite(at: old)
    ///     for problem in result.problems { print(problem) }
    /// }
    /// let database = try manager.database(named: "shop")
    /// ```
    ///
    /// It comes over whole: revision trees with all bodies that are still there, conflicts, deleted
    /// documents, attachments, local documents, dates of expiration, both UUIDs, and the checkpoints of
    /// replications. Revisions keep their IDs and their sequences, so what those checkpoints say stays
    /// true, and a replication under the same URL goes on where the old app had come to. What cannot be read,
    /// or breaks a rule of Divan's, is left out and listed in the result. Views are code of the app, and
    /// do not come.
    ///
    /// Not a byte of the source is touched, and no file is made beside it, also when SQLite's log is
    /// there. The app that wrote it must not be running. The new database is built aside, checked as
    /// `verify` does, forced to the disk, and takes its name in one step; whatever fails, nothing is left.
    ///
    /// The result is that database going on, with its UUIDs. Import it once; a second import would be a
    /// second database of the same identity, which needs `Database.replaceUUIDs()` before it replicates.
    ///
    /// - Parameters:
    ///   - source: The directory `NAME.cblite2`, or version 1.0's file `NAME.cblite`, beside which lies
    ///     `NAME attachments`.
    ///   - name: The name of the new database, which must not exist; the old one's unless given.
    ///   - progress: Gets reports; throwing stops the work, and nothing of it is left.
    /// - Returns: What came over, and what did not.
    /// - Throws: `DatabaseError` with code `.databaseNotFound` when there is nothing of the kind at
    ///   `source`; `.databaseExists`; `.invalidName`; `.unsupportedVersion` when it is encrypted, of
    ///   version 2 or later, or kept by ForestDB; `.corrupted` when it cannot be read at all;
    ///   `.databaseBusy` when it is written meanwhile; `.storageFull`, `.io`, `.readOnly`, or
    ///   `.databaseClosed` after `close()`; and what `progress` throws.
    @discardableResult
    public func importCouchbaseLite(
        at source: URL, named name: String? = nil, progress: ProgressHandler? = nil
    ) throws -> CouchbaseLiteImport {
        let files = try CouchbaseLiteFiles(at: source.directoryPath)
        let target = try pathForCopy(name ?? files.name)
        var result = try Database.importCouchbaseLite(
            files, to: target, defaultStorageEngine, progress)
        result.name = name ?? files.name
        return result
    }
}
