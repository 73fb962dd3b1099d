// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import FoundationEssentials

// Copies of whole databases; docs/copies-and-backups.md has the guide.
extension Database {
    /// Copies the database, as it is at one moment, into a new directory, while others use it.
    ///
    /// ```swift
    /// try database.backup(to: URL(filePath: "/backups/app-monday.divan"))
    /// ```
    ///
    /// The backup holds exactly what was committed when it began, attachments included, and is on the
    /// disk when this returns. Readers and writers of all processes go on meanwhile; only the removal
    /// of unused attachments waits. Attachments take no space of their own on the same file system,
    /// since both directories then name the same files, which are never changed; with another
    /// encryption they are written anew.
    ///
    /// A backup is a database like any other: it can be opened, copied while closed, or installed by
    /// `Manager.replaceDatabase`. It has the UUIDs of the original.
    ///
    /// - Parameters:
    ///   - url: Where the backup goes: a path where nothing is yet, an empty directory, or what an
    ///     interrupted backup left. A name that ends in `.divan` is best.
    ///   - encryption: How the backup is encrypted: as the database is, unless told otherwise.
    ///   - progress: Gets reports; throwing stops the work, and nothing of it is left.
    /// - Throws: `DatabaseError` with code `.databaseExists`, `.storageFull`, `.io`, `.corrupted` when
    ///   the file of an attachment is missing, `.databaseClosed`, `.databaseBusy` inside a batch of
    ///   this thread, `.unsupportedStorageEngine` when the engine cannot encrypt, and what `progress`
    ///   throws. Nothing is left at `url` then.
    public func backup(
        to url: URL, encryption: CopyEncryption = .unchanged, progress: ProgressHandler? = nil
    ) throws {
        try checkOpen()
        try checkAvailable()
        try Self.backUp(core, to: url, encryption, progress)
    }

    private static func backUp(
        _ core: DatabaseCore, to url: URL, _ encryption: CopyEncryption,
        _ progress: ProgressHandler?
    ) throws {
        try Installation(
            path: try url.directoryPath, purpose: .backup, transfer: .linking,
            encryption: encryption,
            progress: progress
        ).run(core)
    }

    /// Copies a database to another directory, as a database of its own.
    ///
    /// The source may be closed, open here or elsewhere, or on a medium that cannot be written; it is
    /// only read. The copy has new UUIDs and an incarnation of its own, so it replicates as another
    /// database than its original, and it is checked as `verify` does before it counts.
    ///
    /// - Parameters:
    ///   - source: The directory of the database to copy.
    ///   - destination: Where the copy goes, as for `backup`.
    ///   - encryptionKey: The key of the source; nil when it is not encrypted.
    ///   - encryption: How the copy is encrypted: as its source is, unless told otherwise.
    ///   - progress: Gets reports; throwing stops the work, and nothing of it is left.
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, `.databaseExists`, `.databaseBusy` when
    ///   another process holds the source exclusively, `.unauthorized`, `.corrupted` when it is damaged,
    ///   `.unsupportedVersion`, `.unsupportedStorageEngine` when the engine cannot encrypt, `.storageFull` or `.io`, and what `progress` throws.
    public static func copy(
        from source: URL, to destination: URL, encryptionKey: EncryptionKey? = nil,
        encryption: CopyEncryption = .unchanged, progress: ProgressHandler? = nil
    ) throws {
        try CopySource.withCore(
            at: try source.directoryPath, key: encryptionKey,
            busyTimeout: DatabaseOptions().busyTimeout
        ) { core in
            try Installation(
                path: try destination.directoryPath, purpose: .copy, transfer: .copying,
                encryption: encryption, progress: progress
            ).run(core)
        }
    }
}
