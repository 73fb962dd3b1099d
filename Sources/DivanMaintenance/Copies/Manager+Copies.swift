// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import FoundationEssentials

// Copies of whole databases; docs/copies-and-backups.md has the guide.
extension Manager {
    /// Installs a database that was made elsewhere under a name here, also in the place of another database.
    ///
    /// ```swift
    /// // At the first launch:
    /// if !manager.databaseExists(named: "app") {
    ///     try manager.replaceDatabase(named: "app", from: URL(filePath: "/usr/share/app/app.divan"))
    /// }
    /// let database = try manager.database(named: "app")
    /// ```
    ///
    /// The source is copied, attachments included, and only read: it may be a directory in a package,
    /// belong to another user, be on a medium that cannot be written, or be a backup. If it is open,
    /// its last committed state is taken. The copy gets new UUIDs and an incarnation of its own, so a
    /// replication starts over, and keeps all documents, revision IDs, sequences and local documents.
    ///
    /// The copy is built beside the old data, checked as `verify` does, and forced to the disk before
    /// it takes their place in one step. Whatever fails, and whenever power or process end, there is
    /// the old database or the new one, whole. So for a while there must be room for both.
    ///
    /// A database that is to be replaced must be closed, in this process too: swapping it below open
    /// handles would lose what they are just doing.
    ///
    /// - Parameters:
    ///   - name: The name here.
    ///   - source: The directory of the database to install.
    ///   - encryptionKey: The key of the database at `source`; nil when it is not encrypted.
    ///   - encryption: How the copy is encrypted: as its source is, unless told otherwise.
    ///   - progress: Gets reports; throwing stops the work, and all stays as it was.
    /// - Throws: `DatabaseError` with code `.invalidName`, `.databaseNotFound` when there is no database
    ///   at `source`, `.databaseBusy` when the one to be replaced is open, or another process holds the
    ///   source exclusively, `.unauthorized` when the key is not the source's, `.corrupted` or
    ///   `.unsupportedVersion` when the source is damaged or newer than this release,
    ///   `.unsupportedStorageEngine` when its engine cannot encrypt, `.readOnly`, `.storageFull`, `.io`, or `.databaseClosed` after `close()`;
    ///   and what `progress` throws. All is then as it was.
    public func replaceDatabase(
        named name: String, from source: URL, encryptionKey: EncryptionKey? = nil,
        encryption: CopyEncryption = .unchanged, progress: ProgressHandler? = nil
    ) throws {
        let target = try pathForCopy(name)
        guard !DatabaseRegistry.shared.isOpen(target) else {
            throw DatabaseError.replacedWhileOpen(name)
        }
        try CopySource.withCore(
            at: try source.directoryPath, key: encryptionKey, busyTimeout: copyTimeout
        ) { core in
            try Installation(
                path: target, purpose: .replacement, transfer: .copying, encryption: encryption,
                progress: progress
            ).run(core)
        }
    }

    /// Copies a database of this manager to a new name, as a database of its own.
    ///
    /// It may be open; then its last committed state is copied while others use it. The copy has new
    /// UUIDs and an incarnation of its own, and is checked as `verify` does before it counts.
    ///
    /// - Parameters:
    ///   - name: The database to copy.
    ///   - newName: The name of the copy, which must not exist.
    ///   - encryptionKey: The key of the database; nil for that of the manager's options, if any.
    ///   - encryption: How the copy is encrypted: as its source is, unless told otherwise.
    ///   - progress: Gets reports; throwing stops the work, and nothing of it is left.
    /// - Throws: `DatabaseError` as `replaceDatabase`, and with code
    ///   `.databaseExists` when there is a database of the new name.
    public func copyDatabase(
        named name: String, to newName: String, encryptionKey: EncryptionKey? = nil,
        encryption: CopyEncryption = .unchanged, progress: ProgressHandler? = nil
    ) throws {
        let source = try pathForCopy(name)
        let target = try pathForCopy(newName)
        try CopySource.withCore(
            at: source, key: encryptionKey ?? copyKey, busyTimeout: copyTimeout
        ) { core in
            try Installation(
                path: target, purpose: .copy, transfer: .linking, encryption: encryption,
                progress: progress
            ).run(core)
        }
    }
}
