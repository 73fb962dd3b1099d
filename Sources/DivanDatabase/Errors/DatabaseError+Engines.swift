// SPDX-License-Identifier: Apache-2.0

// The sentences about storage engines and their conversion.
extension DatabaseError {
    static func unknownEngine(_ name: String, _ path: String) -> DatabaseError {
        DatabaseError(
            .unsupportedStorageEngine,
            "The database at '\(path)' is kept by the storage engine '\(name.prefix(60))', which this "
                + "program does not have; link the product that brings it and call "
                + "Manager.register(_:) with it.")
    }

    static func convertedWhileOpen(_ path: String) -> DatabaseError {
        DatabaseError(
            .databaseBusy,
            "The database at '\(path)' is open in this process and cannot be converted meanwhile; "
                + "close every handle of it and try again.")
    }

    static func convertedReadOnly(_ path: String, from: String, to: String) -> DatabaseError {
        DatabaseError(
            .readOnly,
            "The database at '\(path)' is kept by the storage engine '\(from)' and was opened "
                + "read-only, so it cannot be converted to '\(to)'; open it writable or without naming "
                + "an engine.")
    }

    static func lossyConversion(_ store: String, _ before: Int, _ after: Int) -> DatabaseError {
        DatabaseError(
            .corrupted,
            "The converted store '\(store)' has \(after) rows where the original has \(before), so the "
                + "database was left as it was; run verify on it.")
    }
}
