// SPDX-License-Identifier: Apache-2.0

// The sentences about keys. None of them says anything about a key but its size.
extension DatabaseError {
    static func wrongKey(_ path: String) -> DatabaseError {
        DatabaseError(
            .unauthorized,
            "The key does not open the database at '\(path)'; open it with the key or password that "
                + "it was encrypted with.")
    }

    static func missingKey(_ path: String) -> DatabaseError {
        DatabaseError(
            .unauthorized,
            "The database at '\(path)' is encrypted; open it with its key or password.")
    }

    static func needlessKey(_ path: String) -> DatabaseError {
        DatabaseError(
            .unauthorized,
            "The database at '\(path)' is not encrypted; open it without a key, and encrypt it by "
                + "changing its key.")
    }

    static func keyOfWrongSize(_ count: Int) -> DatabaseError {
        DatabaseError(.unauthorized, "A raw key has 32 bytes, not \(count).")
    }

    static func keyUnsupported(by engine: String, _ path: String) -> DatabaseError {
        DatabaseError(
            .unsupportedStorageEngine,
            "The storage engine '\(engine)' cannot encrypt, so the database at '\(path)' cannot be kept "
                + "by it with a key; use the engine 'sqlite', or no key.")
    }

    static func oldDataStay(_ name: String, _ path: String) -> DatabaseError {
        DatabaseError(
            .io,
            "The database at '\(path)' is as it was to be, but its data as they were could not be removed "
                + "from '\(name)'; make that folder writable, and open the database for writing while no "
                + "other process has it open.")
    }

    static func encryptedInMemory(_ name: String) -> DatabaseError {
        DatabaseError(
            .unauthorized, "The database '\(name)' is in memory and has no files to encrypt.")
    }

    static func alteredManifest(_ path: String) -> DatabaseError {
        DatabaseError(
            .corrupted,
            "The manifest at '\(path)' was changed by another program than Divan; put the manifest of a backup "
                + "back.")
    }

    static func costlyDerivation(_ path: String) -> DatabaseError {
        DatabaseError(
            .corrupted,
            "The manifest at '\(path)' asks for more work to derive a key from the password than Divan accepts; "
                + "put the manifest of a backup back if it is not yours.")
    }

    static func derivationFailed() -> DatabaseError {
        DatabaseError(
            .io, "There is not enough memory to derive a key from the password; free some.")
    }
}
