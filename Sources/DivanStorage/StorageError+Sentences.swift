// SPDX-License-Identifier: Apache-2.0

// The sentences of the errors that are the same for every engine, all in one place.

extension StorageError {
    /// The engine was closed.
    package static func closed() -> StorageError {
        StorageError(.closed, "The storage engine is closed.")
    }

    /// A call between `suspend()` and `resume()`.
    package static func suspended() -> StorageError {
        StorageError(.suspended, "The storage engine is suspended.")
    }

    /// A value does not match its checksum.
    package static func checksumMismatch(store: StoreName, key: String) -> StorageError {
        StorageError(
            .corrupted, "A stored value does not match its checksum.", store: store, key: key)
    }

    /// A transaction, cursor or handle was used outside its lifetime.
    package static func misuse(_ rule: String) -> StorageError {
        StorageError(.misuse, rule)
    }

    /// A write was asked of an engine that was opened for reading.
    package static func openedReadOnly() -> StorageError {
        StorageError(.readOnly, "The storage engine was opened for reading only.")
    }

    /// The chunks of a large value do not add up to it.
    package static func incompleteChunks(id: Int64) -> StorageError {
        StorageError(
            .corrupted, "A large value lacks a part or has one of the wrong size.", key: String(id))
    }

    /// A fault that a test asked for.
    package static func injected(_ code: Code, at point: String) -> StorageError {
        StorageError(code, "A fault was injected at \(point).")
    }
}
