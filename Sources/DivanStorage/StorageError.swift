// SPDX-License-Identifier: Apache-2.0

/// What went wrong in a storage engine.
///
/// The code says what the caller can do about it, the message what happened, in one sentence. Values
/// never appear in messages; a key may, in hexadecimal, since it is what a repair needs.
public struct StorageError: Error, Sendable, CustomStringConvertible {
    /// What the caller can do about an error.
    public enum Code: String, Hashable, Sendable {
        /// Something stored is not what was written. Salvage, or restore a backup.
        case corrupted
        /// Another process held the engine for longer than the busy timeout. Try again.
        case busy
        /// The disk or the quota is full. Nothing was changed; make room and try again.
        case full
        /// The system failed to read or write. Nothing was changed.
        case io
        /// The engine, its file or its directory may not be written.
        case readOnly
        /// The engine was closed.
        case closed
        /// The engine was suspended and not resumed yet.
        case suspended
        /// The file is of a newer format, or the operation is one this engine does not have.
        case unsupported
        /// There is nothing to open at the path.
        case notFound
        /// The work was stopped by `suspend()` or by its progress callback.
        case interrupted
        /// The program broke a rule of the seam, such as using a reader after its transaction.
        case misuse
    }

    /// What the caller can do about it.
    public var code: Code
    /// What happened, in one sentence.
    public var message: String
    /// The store concerned, when there is one.
    public var store: StoreName?
    /// The key concerned, when there is one, in hexadecimal; for integer stores in decimal.
    public var key: String?
    /// The engine's own error.
    public var underlying: (any Error)?

    /// Makes an error.
    public init(
        _ code: Code,
        _ message: String,
        store: StoreName? = nil,
        key: String? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.store = store
        self.key = key
        self.underlying = underlying
    }

    /// The message, then what it concerns.
    public var description: String {
        var text = message
        if let store {
            text += " Store: \(store)."
        }
        if let key {
            text += " Key: \(key)."
        }
        return text
    }
}
