// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage
internal import DivanSystem

// How a database file is made and recognised.
//
//      PRAGMA          value       why
//      application_id  44 69 76 6E tells Divan's files from others ("Divn")
//      user_version    1           the version of the layout of tables and checksums
//      page_size       4096        measured: docs/performance.md
//      auto_vacuum     INCREMENTAL so that compaction can shrink the file in small steps
//      journal_mode    WAL         readers and the writer do not wait for each other

extension SQLiteEngine {
    /// The version of tables and checksums that this engine writes, and the newest it reads.
    static let formatVersion: Int64 = 1
    private static let applicationID: Int64 = 0x4469_766E

    /// The bytes of a page. Measured side by side with 8 kB, 4 kB pages make single commits 28 % and
    /// random updates 9 % faster and halve the log of small commits, since a commit logs whole pages;
    /// batched inserts lose 4 %, scans 12 %.
    private static let pageSize = 4_096

    /// Refuses pipes and devices in the place of the files that SQLite opens.
    private static func refuseStrange(_ file: String) throws(StorageError) {
        for suffix in ["", "-wal", "-shm", "-journal"] where FileSystem.isStrange(file + suffix) {
            throw StorageError(
                .corrupted,
                "\(file + suffix) is no regular file; remove it, or put the database's own in its place."
            )
        }
    }

    /// Refuses a database file that must be there, and is missing or too short to be one.
    ///
    /// SQLite would take an empty file, or one of a single byte, for a new database and delete the log beside it, which
    /// may hold what is left of the old one. Nothing sealed opens without the file's identity.
    private static func refuseEmptied(
        _ directory: String, size: Int, isSealed: Bool
    ) throws(StorageError) {
        guard size < (isSealed ? PageCodec.identitySize : 2) else { return }
        throw StorageError(
            .corrupted,
            "The database file in \(directory) is missing, or has been emptied or cut off; "
                + "put it back, or restore a backup.")
    }

    /// Finds out how a directory can be opened, creating it when that is asked for.
    static func place(
        in directory: String, options: StorageOptions
    ) throws(StorageError) -> DatabasePlace {
        let codec = try options.encryptionKey.map { key throws(StorageError) in
            try PageCodec(key: key)
        }
        let place = DatabasePlace.directory(directory, codec: codec)
        let file = directory + "/main.sqlite3"
        try refuseStrange(file)
        let size = try FileSystem.sizeIfPresent(of: file)
        if !options.createsIfMissing {
            try refuseEmptied(directory, size: size ?? 0, isSealed: codec != nil)
        }
        if size == nil {
            guard !options.isReadOnly else {
                throw StorageError(.notFound, "There is no database in \(directory).")
            }
            try FileSystem.createDirectories(directory)
        }
        guard options.isReadOnly else {
            if codec != nil, options.createsIfMissing {
                try removeUnborn(file, size: size ?? 0)
            }
            return place
        }
        let isPlain = (FileSystem.size(of: file + "-wal") ?? 0) == 0
        if options.isUnchanging, isPlain {
            return .unchanging(directory, codec: codec)
        }
        do {
            let probe = try connect(place, options)
            _ = try probe.integer("PRAGMA schema_version")
            return place
        } catch {
            // Reading a log needs a file beside it for the log's index. Where that cannot be made and
            // there is no log, the file as it stands is the database; but only where no process can
            // write, for SQLite would not notice a change and read nonsense.
            guard error.code == .io || error.code == .readOnly else {
                throw error
            }
            if isPlain, Volume(of: file)?.isReadOnly ?? false {
                return .unchanging(directory, codec: codec)
            }
            throw StorageError.unreadable(directory, error)
        }
    }

    /// Removes a sealed file whose creation was cut short by a power loss, so that it is made anew.
    ///
    /// The first commit journals, writes and syncs page 1, and only then is there a log. A file of one
    /// page that begins with zeros, without a log, has never held a commit. SQLite would undo it by the
    /// journal, but the journal is sealed for an identity that the lost sector held.
    private static func removeUnborn(_ file: String, size: Int) throws(StorageError) {
        guard 1...pageSize ~= size, (FileSystem.size(of: file + "-wal") ?? 0) == 0,
            try FileSystem.beginsWithZeros(file, count: PageCodec.identitySize)
        else { return }
        Files.removeFile(file)
        Files.removeFile(file + "-journal")
    }

    private static func connect(
        _ place: DatabasePlace, _ options: StorageOptions
    ) throws(StorageError) -> Connection {
        let connection = try place.connect(
            readOnly: options.isReadOnly, timeout: options.busyTimeout)
        // SQLite refuses a file that is shorter than it says, but where a user is about to mend it by hand. It reads what is
        // there then, and calls a page that is not there damaged.
        if options.isDamaged { try connection.execute("PRAGMA writable_schema = ON") }
        return connection
    }

    /// Opens the connection that writes, making the database when the file is empty.
    static func openWriter(
        at place: DatabasePlace, options: StorageOptions
    ) throws(StorageError) -> Connection {
        let connection = try connect(place, options)
        if options.isReadOnly {
            try check(connection)
        } else {
            if options.createsIfMissing || place.directory == nil, try isEmpty(connection) {
                try create(connection, sealed: place.codec != nil)
            }
            try check(connection)
            try connection.execute("PRAGMA journal_mode = WAL")
            let level = options.durability == .full ? "FULL" : "NORMAL"
            try connection.execute("PRAGMA synchronous = \(level)")
            // The log's file keeps this size when it begins anew, so commits need not extend it.
            try connection.execute("PRAGMA journal_size_limit = \(32 << 20)")
        }
        try connection.execute("PRAGMA cache_size = \(cacheSize(options.writerCacheSize))")
        // A sealed file cannot be mapped, and pages that are kept open are for readers.
        let mapped = place.codec == nil ? max(0, options.mappedSize) : 0
        try connection.execute("PRAGMA mmap_size = \(mapped)")
        return connection
    }

    /// What SQLite calls a cache of so many bytes: kilobytes below 0, of which it takes 31 bits.
    private static func cacheSize(_ bytes: Int) -> Int {
        -min(max(0, bytes) >> 10, Int(Int32.max))
    }

    /// The most bytes of pages of a sealed file that a reader keeps open, in the place of a mapping.
    ///
    /// A mapping belongs to the system and is shared by all readers; opened pages belong to one
    /// reader. So the first reader, which does all the reading of most apps, keeps many, and the
    /// readers beside it a few.
    private static func openedSize(others: Int) -> Int {
        others == 0 ? 64 << 20 : 8 << 20
    }

    /// Opens a connection that reads, beside a number of others.
    static func openReader(
        at place: DatabasePlace, options: StorageOptions, others: Int
    ) throws(StorageError) -> Connection {
        // A reader may have to make the log's index, so only a read-only engine opens the file so.
        let connection = try connect(place, options)
        try connection.execute("PRAGMA cache_size = \(cacheSize(options.readerCacheSize))")
        let mapped =
            place.codec == nil
            ? max(0, options.mappedSize)
            : min(max(0, options.mappedSize), openedSize(others: others))
        try connection.execute("PRAGMA mmap_size = \(mapped)")
        return connection
    }

    /// Whether a file holds nothing yet: it is empty, or a creation that was cut short left it.
    private static func isEmpty(_ connection: Connection) throws(StorageError) -> Bool {
        guard try connection.integer("PRAGMA application_id") == 0 else {
            return false
        }
        return try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    private static func create(_ connection: Connection, sealed: Bool) throws(StorageError) {
        try connection.execute("PRAGMA page_size = \(pageSize)")
        if sealed {
            try connection.reserve(PageCodec.reserved)
        }
        try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("PRAGMA user_version = \(formatVersion)")
        try connection.execute("PRAGMA application_id = \(applicationID)")
        try connection.execute("COMMIT")
    }

    private static func check(_ connection: Connection) throws(StorageError) {
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            throw StorageError(.corrupted, "The database file is not one of this engine's.")
        }
        let version = try connection.integer("PRAGMA user_version")
        if version > formatVersion {
            throw StorageError(
                .unsupported,
                "The database file has format \(version); this version reads up to \(formatVersion)."
            )
        }
    }
}
