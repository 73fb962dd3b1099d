// SPDX-License-Identifier: Apache-2.0

/// What can be done in a write transaction: all that a reader can, and changing values.
///
/// Keys have at most 1 GB and values at most 1 GB less 64 kB; larger ones are `.unsupported`. What
/// should be read in parts belongs in `ChunkedValues`.
public protocol StorageWriter: StorageReader {
    /// Sets the value of a byte-string key, in place of an older one.
    ///
    /// - Throws: `StorageError` with code `.full`, `.io`, `.readOnly` or `.unsupported`.
    func set(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws

    /// Sets the value of an integer key, in place of an older one.
    func set(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws

    /// Sets the value of a byte-string key unless it has one.
    ///
    /// - Returns: `false` when the key had a value, which then stays.
    func insert(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws -> Bool

    /// Sets the value of an integer key unless it has one.
    ///
    /// - Returns: `false` when the key had a value, which then stays.
    func insert(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws -> Bool

    /// Removes a byte-string key.
    ///
    /// - Returns: Whether there was one.
    func remove(key: Span<UInt8>, in store: Store) throws -> Bool

    /// Removes an integer key.
    ///
    /// - Returns: Whether there was one.
    func remove(key: Int64, in store: Store) throws -> Bool

    /// Removes every value of a store.
    func removeAll(in store: Store) throws

    /// Removes a store with its values. It reads as empty afterwards and may be written to again.
    func drop(_ store: Store) throws

    /// Runs `body` so that all of its work, and nothing else, is undone when it throws.
    func savepoint(_ body: () throws -> Void) throws

    /// Makes every commit before this transaction survive a power loss.
    ///
    /// For work outside the engine that must not reach the disk before those commits do, such as
    /// deleting files that their rows referred to.
    func syncEarlierCommits() throws
}

extension StorageWriter {
    /// Runs `body` so that all of its work, and nothing else, is undone when it throws; returns its
    /// result.
    @inlinable
    public func savepoint<T>(_ body: () throws -> T) throws -> T {
        var result: T?
        try savepoint { () throws -> Void in
            result = try body()
        }
        guard let result else {
            throw StorageError(.misuse, "The engine did not run the savepoint.")
        }
        return result
    }
}
