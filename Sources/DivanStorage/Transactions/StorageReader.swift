// SPDX-License-Identifier: Apache-2.0

/// What can be done in a read transaction.
///
/// A reader is lent to the closure of `StorageEngine.read(_:)`. Calls may nest: reading another
/// value from inside the closure of `withValue` is allowed, of the same store too.
public protocol StorageReader: AnyObject {
    /// Lends the value of a byte-string key.
    ///
    /// - Returns: `false` when the key is absent; `body` is then not called.
    /// - Throws: what `body` throws; `StorageError` with code `.corrupted` when the value does not
    ///   match its checksum.
    func withValue(
        forKey key: Span<UInt8>, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool

    /// Lends the value of an integer key, as the byte-string form does.
    func withValue(
        forKey key: Int64, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool

    /// Returns a cursor that stands nowhere yet.
    func cursor(in store: Store) throws -> any StorageCursor

    /// Counts the values of a store. Takes time in proportion to their number.
    func count(of store: Store) throws -> Int

    /// Returns the names of the stores that exist, in bytewise order.
    func storeNames() throws -> [StoreName]

    /// What the caller has read and keeps, so that it need not read it again in a later snapshot of this reader with the
    /// same content. The engine forgets it before it lends a snapshot with other content, and keeps none in a write
    /// transaction, whose content changes.
    var notes: AnyObject? { get set }
}

extension StorageReader {
    /// Returns a copy of the value of a byte-string key, or `nil` when it is absent.
    public func value(forKey key: Span<UInt8>, in store: Store) throws -> [UInt8]? {
        var copy: [UInt8]?
        _ = try withValue(forKey: key, in: store) { copy = [UInt8](copying: $0) }
        return copy
    }

    /// Returns a copy of the value of an integer key, or `nil` when it is absent.
    public func value(forKey key: Int64, in store: Store) throws -> [UInt8]? {
        var copy: [UInt8]?
        _ = try withValue(forKey: key, in: store) { copy = [UInt8](copying: $0) }
        return copy
    }

    /// Returns whether a byte-string key has a value.
    public func contains(key: Span<UInt8>, in store: Store) throws -> Bool {
        try withValue(forKey: key, in: store) { _ in }
    }

    /// Returns whether an integer key has a value.
    public func contains(key: Int64, in store: Store) throws -> Bool {
        try withValue(forKey: key, in: store) { _ in }
    }
}
