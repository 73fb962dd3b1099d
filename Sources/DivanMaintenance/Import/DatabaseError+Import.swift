// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanStorage

// The sentences about databases of Couchbase Lite 1.x.
extension DatabaseError {
    static func importUnsupported(_ path: String, _ reason: String) -> DatabaseError {
        DatabaseError(
            .unsupportedVersion,
            "'\(path)' \(reason); only unencrypted databases of Couchbase Lite 1.x in SQLite can be "
                + "imported.")
    }

    static func importBusy(_ path: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "'\(path)' was written to while it was being imported; close the app that uses it and try "
                + "again.")
    }

    /// What fails while the tables are read. A table that is damaged, or is none, was not left so by its app, and no
    /// other release would read it.
    static func importBroken(_ path: String, _ error: StorageError) -> DatabaseError {
        let remedy = "import a file that is as its app has written it."
        return switch error.code {
        case .corrupted:
            DatabaseError(
                .corrupted, "A table of '\(path)' is damaged or lacks a column; \(remedy)",
                underlying: error)
        case .unsupported:
            DatabaseError(
                .unsupportedVersion, "\(clause(error.message)); \(remedy)", underlying: error)
        default: DatabaseError(error, documentID: nil)
        }
    }

    static func importUnreadable(_ path: String, _ error: StorageError) -> DatabaseError {
        guard error.code == .corrupted else { return DatabaseError(error, documentID: nil) }
        return DatabaseError(
            .corrupted,
            "'\(path)' cannot be read as an SQLite database: it is damaged, or encrypted, and then the "
                + "app must remove its encryption first.", underlying: error)
    }
}
