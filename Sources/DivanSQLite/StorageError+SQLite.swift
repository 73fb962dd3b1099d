// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage
internal import DivanSystem

// Every sentence for an error of SQLite's, in one table.
//
// See: https://www.sqlite.org/rescode.html

extension StorageError {
    /// Makes the error for a result code of SQLite's.
    init(_ error: SQLiteError, store: StoreName? = nil, key: String? = nil) {
        let (code, sentence) = StorageError.meaning(of: error)
        self.init(code, sentence, store: store, key: key, underlying: error)
    }

    /// Makes the same error, with the store it concerns.
    init(_ error: StorageError, in store: StoreName) {
        self = error
        self.store = store
    }

    /// A write transaction that was undone before its end.
    static func undone() -> StorageError {
        StorageError(.io, "The transaction had been undone after an earlier error in it.")
    }

    /// A read-only opening that failed; a failing disk keeps its own sentence.
    static func unreadable(_ directory: String, _ error: StorageError) -> StorageError {
        let cause = error.underlying as? SQLiteError
        let isRefused = error.code == .readOnly || cause?.primaryCode == SQLITE_CANTOPEN
        guard isRefused, cause?.cause.isShortage != true, error.code != .full else {
            return error
        }
        return StorageError(
            .io,
            "Reading the database needs permission to read its file in \(directory) and, unless the "
                + "file system is read-only and there is no log, to make files beside it.",
            underlying: error.underlying)
    }

    /// A path that is longer than SQLite takes.
    static func pathTooLong(_ path: String) -> StorageError {
        StorageError(
            .io,
            "The path of the database file has \(path.utf8.count) bytes, and SQLite takes no more than 504: "
                + "put the database where the path is shorter.")
    }

    private static func meaning(of error: SQLiteError) -> (Code, String) {
        switch error.primaryCode {
        case SQLITE_BUSY:
            (.busy, "Another process has been writing for longer than the busy timeout.")
        case SQLITE_LOCKED:
            (.misuse, "A store was dropped or compacted while it was being read.")
        case SQLITE_CORRUPT:
            (.corrupted, "The database file is damaged.")
        case SQLITE_NOTADB:
            (.corrupted, "The database file does not begin as one of SQLite's does.")
        case SQLITE_FORMAT:
            (.corrupted, "The database file has a format that SQLite does not know.")
        case SQLITE_FULL:
            (.full, "The disk is full.")
        case SQLITE_READONLY:
            (.readOnly, "The database file may not be written.")
        case SQLITE_PERM, SQLITE_AUTH:
            (.readOnly, "The permissions of the database file do not allow this.")
        case SQLITE_CANTOPEN:
            systemMeaning(of: error)
                ?? (.io, "The database file, or one beside it, cannot be opened.")
        case SQLITE_IOERR:
            ioMeaning(of: error)
        case SQLITE_NOMEM:
            (.io, "There is not enough memory.")
        case SQLITE_INTERRUPT, SQLITE_ABORT:
            (.interrupted, "The work was interrupted.")
        case SQLITE_TOOBIG:
            (.unsupported, "A key or value is larger than the engine can store.")
        case SQLITE_NOLFS:
            (.unsupported, "The file system cannot hold a file this large.")
        case SQLITE_MISMATCH, SQLITE_CONSTRAINT, SQLITE_SCHEMA, SQLITE_ERROR:
            (.corrupted, "A table of the database file is not as this engine makes it.")
        default:
            (.misuse, "SQLite was used in a way it does not allow.")
        }
    }

    /// The input and output errors, of which some mean a full disk or a directory that is gone.
    private static func ioMeaning(of error: SQLiteError) -> (Code, String) {
        switch error.extendedCode {
        case divanIOErrorCorruptFileSystem:
            (.corrupted, "The file system is damaged under the database file.")
        case divanIOErrorShortRead:
            (.corrupted, "The database file ends before its last page.")
        case divanIOErrorData:
            (.corrupted, "A page is not what was written there, or is sealed with another key.")
        case divanIOErrorNoMemory:
            (.io, "There is not enough memory.")
        default:
            systemMeaning(of: error)
                ?? (.io, "The system failed to read or write the database file.")
        }
    }

    /// What the system said, where it tells more than SQLite.
    private static func systemMeaning(of error: SQLiteError) -> (Code, String)? {
        if error.cause.isShortage {
            return (.io, "The process has no descriptors or memory left.")
        }
        return error.cause.isFull ? (.full, "The disk is full.") : nil
    }
}

// SQLite defines its extended codes by an expression, which Swift does not import.
private let divanIOErrorShortRead = SQLITE_IOERR | 2 << 8
private let divanIOErrorData = SQLITE_IOERR | 32 << 8
private let divanIOErrorNoMemory = SQLITE_IOERR | 12 << 8
private let divanIOErrorCorruptFileSystem = SQLITE_IOERR | 33 << 8
