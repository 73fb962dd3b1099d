// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanStorage
internal import DivanSystem

/// A database that is copied and not changed.
///
/// A database that no process has open is locked exclusively meanwhile. Then nothing can change it,
/// so the engine needs no lock and no index of a log, and not a byte of the directory is touched: it
/// may lie in a package, belong to another user, or be on a medium that cannot be written. A database
/// that is open, here or in another process, is read as by any reader, while writers go on.
///
/// An encrypted database needs its key, unless this process has it open and so has the key already.
enum CopySource {
    /// Lends the open core of the database in a directory.
    ///
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, `.databaseBusy`, `.unauthorized`,
    ///   `.corrupted`, `.unsupportedVersion` or `.io`, and what `body` throws.
    static func withCore<T>(
        at path: String, key: EncryptionKey?, busyTimeout: Duration,
        _ body: (DatabaseCore) throws -> T
    ) throws -> T {
        var options = DatabaseOptions()
        options.readOnly = true
        options.busyTimeout = busyTimeout
        options.encryptionKey = key
        if !DatabaseRegistry.shared.isOpen(path) {
            let directory = try DatabaseDirectory(
                path: path, create: false, readOnly: true,
                engine: KnownEngines.standard.identifier, busyTimeout: busyTimeout, key: key
            ) { _, _ in }
            defer { directory.close() }
            if try directory.isHeldAlone() {
                let options = options.unlocked(directory.access.dataKey)
                let core = try DatabaseCore(
                    name: Files.lastComponent(of: path), directory: directory,
                    engine: DatabaseCore.openEngine(
                        at: directory.dataPath, named: directory.manifest.engine, options,
                        unchanging: true),
                    options: options)
                defer { core.close() }
                return try body(core)
            }
        }
        let database = try DatabaseRegistry.shared.open(
            name: Files.lastComponent(of: path), path: path, options: options, sharesAnyKey: true)
        defer { database.close() }
        return try body(database.core)
    }
}
