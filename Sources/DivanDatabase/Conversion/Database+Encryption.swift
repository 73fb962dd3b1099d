// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
public import FoundationEssentials

// Changing how a database is encrypted; docs/encryption.md has the guide.
extension Database {
    /// The folders in the database's directory that hold earlier data, which may be readable without the key.
    ///
    /// - Returns: Their names.
    /// - Throws: `DatabaseError` with code `.io`.
    package func earlierData() throws -> [String] {
        try core.directory?.earlierData() ?? []
    }

    /// Gives the database another key, or encrypts it, or removes its encryption.
    ///
    /// ```swift
    /// try database.changeEncryptionKey(to: .password("a better one"))
    /// ```
    ///
    /// **Another key** for an encrypted database is done at once, however large the database is: the data
    /// are encrypted with a random key of their own, which is wrapped anew. Every handle of
    /// the database stays open. The old key together with a copy of the old manifest still opens the data;
    /// `reencrypt` has them written anew with a new key of their own.
    ///
    /// **Encrypting, removing encryption and `reencrypt`** write all data anew, beside the old ones, so for
    /// a while there must be room for both. The database must be open in no other process, and every
    /// handle of this process is closed by it, also when it fails: open the database again with the new
    /// key.
    ///
    /// Either way it is one rename of the manifest that counts: whatever fails, and whenever power or
    /// process end, there is the database as it was, or whole as it is to be. The data as they were are
    /// removed last. Where that fails, or power or process end before it is done, `verify` tells of them,
    /// and the next opening for writing removes them, if no other process has the database open.
    ///
    /// - Parameters:
    ///   - key: The new key; nil to remove the encryption.
    ///   - reencrypt: Whether the data get a new key, too.
    ///   - progress: Gets reports while data are written anew; throwing stops the work, and the data stay
    ///     as they were.
    /// - Throws: `DatabaseError` with code `.databaseBusy` when the data were to be written anew and
    ///   another process has the database open, which then stays open here; `.unsupportedStorageEngine`
    ///   when its engine cannot encrypt, `.corrupted`, `.readOnly`, `.storageFull`, `.io`, also when
    ///   a symbolic link leads to the data, or the database is as it is to be, but the old data could
    ///   not be removed, or `.databaseClosed`; and what `progress` throws.
    public func changeEncryptionKey(
        to key: EncryptionKey?, reencrypt: Bool = false, progress: ProgressHandler? = nil
    ) throws {
        try checkWritable()
        try checkAvailable()
        guard let directory = core.directory else { throw DatabaseError.encryptedInMemory(name) }
        if let key, isEncrypted, !reencrypt {
            try core.rewrapDataKey(with: key)
            Log.database.info("The database '\(name)' has another key now.")
            return
        }
        if key == nil, !isEncrypted { return }
        try directory.lockExclusively()
        // As for deleting: the lock is held until the work is done, and no handle is open meanwhile.
        core.closeEngine()
        defer {
            core.close()
            close()
        }
        try EncryptionRewriting(
            directory: directory, key: key, busyTimeout: core.options.busyTimeout,
            progress: progress
        ).run()
    }

    /// Changes how the database in a directory is encrypted, and leaves it closed.
    ///
    /// See `changeEncryptionKey(to:reencrypt:progress:)`.
    ///
    /// - Parameters:
    ///   - url: The directory of the database.
    ///   - oldKey: The key that opens it; nil when it is not encrypted.
    ///   - newKey: The new key; nil to remove the encryption.
    ///   - reencrypt: Whether the data get a new key, too.
    ///   - progress: Gets reports; throwing stops the work.
    /// - Throws: As the method of an open database, and as opening it.
    public static func changeEncryptionKey(
        at url: URL, from oldKey: EncryptionKey?, to newKey: EncryptionKey?,
        reencrypt: Bool = false, progress: ProgressHandler? = nil
    ) throws {
        var options = DatabaseOptions()
        options.encryptionKey = oldKey
        let database = try open(at: url, options: options)
        defer { database.close() }
        try database.changeEncryptionKey(to: newKey, reencrypt: reencrypt, progress: progress)
    }
}
