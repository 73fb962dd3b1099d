// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanSQLite
internal import DivanStorage
internal import DivanSystem

/// The files of a Couchbase Lite 1.x database, in either of their layouts.
///
///     since 1.1                             1.0
///     shop.cblite2/                         shop.cblite
///       db.sqlite3                          shop attachments/
///       attachments/                          0BEEC7B5…4C6E33.blob
///         0BEEC7B5…4C6E33.blob
///
/// SQLite may have left a log (`-wal`) with what the app wrote last, or a journal of a transaction
/// that did not end. Reading either needs files beside the database, and the source belongs to another
/// program: no byte of it is touched. So then the files are copied and put together elsewhere.
struct CouchbaseLiteFiles {
    /// The name of the database: what stands before the suffix, a colon being a slash.
    let name: String
    /// The path that was given.
    let path: String
    private let database: String
    private let attachments: String

    /// Finds the files.
    ///
    /// - Throws: `DatabaseError` with code `.databaseNotFound`, or `.unsupportedVersion` when the
    ///   database is kept by another engine or is encrypted.
    init(at path: String) throws {
        self.path = path
        let file = Files.lastComponent(of: path)
        let stem = file.beforeByteSuffix(".cblite2") ?? file.beforeByteSuffix(".cblite")
        name = String((stem ?? file).map { $0 == ":" ? "/" : $0 })
        if Files.isDirectory(path) {
            database = path + "/db.sqlite3"
            attachments = path + "/attachments"
            if !Files.exists(database), Files.exists(path + "/db.forest") {
                throw DatabaseError.importUnsupported(path, "is kept by ForestDB, not by SQLite")
            }
        } else {
            database = path
            let base = stem.map { Files.parent(of: path) + "/" + $0 } ?? path
            attachments = base + " attachments"
        }
        guard Files.length(of: database) != nil else { throw DatabaseError.databaseNotFound(path) }
        guard !Files.exists(attachments + "/_encryption") else {
            throw DatabaseError.importUnsupported(path, "is encrypted")
        }
    }

    /// The state of the files, which changes when a program writes to the database.
    var stamps: [Files.Stamp?] {
        [database, database + "-wal", database + "-journal"].map(Files.stamp(of:))
    }

    /// The path of the file with the content of an attachment; nil when there is none.
    func attachment(_ key: AttachmentKey) -> String? {
        [key.fileName.uppercased(), key.fileName]
            .map { "\(attachments)/\($0).blob" }
            .first { Files.length(of: $0) != nil }
    }

    /// Opens the database for reading.
    ///
    /// - Parameter folder: Where copies go, if they are needed; it does not exist yet.
    /// - Returns: The database, with what was in its log.
    /// - Throws: `DatabaseError` with code `.databaseBusy` when another program writes meanwhile, `.io`,
    ///   `.storageFull`, `.corrupted` or `.unsupportedVersion`.
    func open(copyingTo folder: String) throws -> ForeignDatabase {
        let before = stamps
        guard before.dropFirst().contains(where: { ($0?.length ?? 0) > 0 }) else {
            return try open(database)
        }
        let copy = folder + "/db.sqlite3"
        do {
            try Files.makeDirectory(folder)
            for suffix in ["", "-wal", "-journal"] where Files.exists(database + suffix) {
                try Files.copy(database + suffix, to: copy + suffix)
            }
        } catch { throw DatabaseError.io(error) }
        guard stamps == before else { throw DatabaseError.importBusy(path) }
        do { try ForeignDatabase.recover(copy) } catch {
            throw DatabaseError.importUnreadable(path, error)
        }
        return try open(copy)
    }

    private func open(_ file: String) throws -> ForeignDatabase {
        let source: ForeignDatabase
        do { source = try ForeignDatabase(path: file) } catch {
            throw DatabaseError.importUnreadable(path, error)
        }
        do {
            guard try source.columns(of: "revs").isSuperset(of: CouchbaseLiteReader.needed),
                try source.columns(of: "docs").contains("docid")
            else {
                throw DatabaseError.importUnsupported(
                    path, "does not have the tables of Couchbase Lite 1.x")
            }
        } catch let error as StorageError {
            throw DatabaseError.importBroken(path, error)
        }
        return source
    }
}
