// SPDX-License-Identifier: Apache-2.0

public import DivanStorage

/// When a commit counts as done.
public enum Durability: Sendable {
    /// A commit survives the death of the process. A power loss may drop the newest commits, always
    /// a suffix of them, and never corrupts. `Database.sync()` makes all commits so far durable.
    case normal
    /// A commit survives power loss too; each waits for the disk.
    case full
}

/// How a database is opened.
///
/// Only the first opening of a directory in a process uses them: later ones share what is open, so
/// their options are ignored, except `readOnly`, which holds for each handle by itself. A negative number of
/// bytes is refused with the error `.invalidQuery`, but for ``indexingMemory``.
public struct DatabaseOptions: Sendable {
    /// Whether a missing database is created.
    public var create = false
    /// Whether the database is partitioned: then the ID of every document names its partition, as in `sensor-1:42`.
    ///
    /// It is decided when the database is made, and stays: nil makes one without partitions, and opens any. A database
    /// that exists and is the other kind is refused with the error `.databaseExists`. See `DatabasePartition`.
    public var partitioned: Bool?
    /// Whether every change is refused.
    public var readOnly = false
    /// Which storage engine keeps the database. nil stands for the engine that keeps it already, and
    /// for a new database for the manager's default.
    ///
    /// A database that another engine keeps is converted while it is opened, as
    /// `Manager.convertDatabase(named:to:progress:)` does, which also reports how far it has come. While
    /// the database is open elsewhere, the conversion is refused with the error `.databaseBusy`.
    public var storageEngine: StorageEngineFactory?
    /// The key of an encrypted database; a database that is created with one is encrypted.
    ///
    /// ```swift
    /// options.encryptionKey = .password("correct horse battery staple")
    /// ```
    ///
    /// A wrong key, a missing key, and a key for a database without encryption are refused with the
    /// error `.unauthorized`, and nothing of the database is touched. See `EncryptionKey`.
    public var encryptionKey: EncryptionKey?
    /// When a commit counts as done.
    public var durability = Durability.normal
    /// How long to wait for another process that writes or holds the database; default 30 s. Each wait ends after 24
    /// days at the latest.
    public var busyTimeout = Duration.seconds(30)
    /// The largest document body accepted, in bytes of its stored form; default 64 MB. The most is 2 GiB, whatever is set.
    public var maximumDocumentSize = 64 * 1_024 * 1_024
    /// The bytes of page cache of the writer; nil for the engine's default.
    public var cacheSize: Int?
    /// The bytes of the file that readers map into memory; nil for the engine's default. For an
    /// encrypted file each reader keeps as many decrypted bytes, at most 64 MB.
    public var mappedSize: Int?

    /// The bytes of documents and rows that building indexes holds in memory before it writes them, all
    /// indexes of a pass together; default 32 MB. A smaller number makes pieces smaller and the whole slower. With 0
    /// or less each piece has one document.
    public var indexingMemory = 32 * 1_024 * 1_024

    /// At least a byte of memory for indexing: a piece that may have no bytes would have no document.
    package var memoryForIndexing: Int { max(1, indexingMemory) }

    /// The key of the data, once `encryptionKey` has given it.
    package var dataKey: DataKey?

    /// Whether as much as can be read is wanted of a database that is known to be damaged; it is opened for reading.
    package var isDamaged = false

    /// The defaults.
    public init() {}

    /// The same options for a database that is open: with the key of its data, and no other.
    package func unlocked(_ dataKey: DataKey?) -> DatabaseOptions {
        var options = self
        options.encryptionKey = nil
        options.dataKey = dataKey
        return options
    }

    /// Refuses settings that make no sense.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a negative number of bytes.
    package func check() throws {
        let sizes = [
            ("cacheSize", cacheSize), ("mappedSize", mappedSize),
            ("maximumDocumentSize", maximumDocumentSize),
        ]
        for case (let name, let size?) in sizes where size < 0 {
            throw DatabaseError(
                .invalidQuery,
                "The option '\(name)' of a database is a number of bytes and cannot be \(size); use 0 or more."
            )
        }
    }

    /// What the engine is told.
    var storageOptions: StorageOptions {
        var storage = StorageOptions()
        storage.isReadOnly = readOnly
        storage.isDamaged = isDamaged && readOnly
        storage.durability = durability == .full ? .full : .normal
        storage.busyTimeout = busyTimeout
        if let cacheSize { storage.writerCacheSize = cacheSize }
        if let mappedSize { storage.mappedSize = mappedSize }
        storage.encryptionKey = dataKey
        return storage
    }
}

/// What `save` and `delete` do when the document has changed since it was read.
public enum ConcurrencyControl: Sendable {
    /// The last one to save wins: the edit is placed on top of the current revision.
    case lastWriteWins
    /// The edit is refused with the error `.conflict`.
    case failOnConflict
}

/// The outcome of a save.
public struct SaveResult: Sendable {
    /// The document as it is now stored.
    public var document: Document
    /// Whether the save overrode another writer's edit since the document was read.
    public var overrode: Bool
}
