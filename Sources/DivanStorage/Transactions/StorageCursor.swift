// SPDX-License-Identifier: Apache-2.0

/// A place in the order of one store, inside one transaction.
///
/// ```swift
/// let cursor = try reader.cursor(in: revisions)
/// var found = try cursor.seek(toAtLeast: since + 1)
/// while found {
///     try cursor.withValue { value in … }
///     found = try cursor.next()
/// }
/// cursor.close()
/// ```
///
/// A cursor stands on a row or nowhere. Seeking, `next()` and `previous()` return whether it then
/// stands on a row; once they have returned `false`, only seeking puts it on one again.
///
/// In a write transaction, a change to the cursor's store takes effect on rows not yet reached:
/// `next()` and `previous()` go to the nearest key there is then, and the row the cursor stands on
/// keeps the key and value it had when it was reached.
///
/// A cursor is closed by `close()`, when it is released, or at the end of its transaction.
public protocol StorageCursor: AnyObject {
    /// Goes to the least key that is not below `key`.
    func seek(toAtLeast key: Span<UInt8>) throws -> Bool
    /// Goes to the least key that is not below `key`.
    func seek(toAtLeast key: Int64) throws -> Bool
    /// Goes to the greatest key that is not above `key`.
    func seek(toAtMost key: Span<UInt8>) throws -> Bool
    /// Goes to the greatest key that is not above `key`.
    func seek(toAtMost key: Int64) throws -> Bool
    /// Goes to the least key.
    func seekToFirst() throws -> Bool
    /// Goes to the greatest key.
    func seekToLast() throws -> Bool
    /// Goes to the next greater key.
    func next() throws -> Bool
    /// Goes to the next smaller key.
    func previous() throws -> Bool

    /// The key of the row, in an integer store.
    ///
    /// Standing nowhere, or in a store with byte-string keys, it is 0.
    var integerKey: Int64 { get }

    /// Lends the key of the row. An integer key is lent as 8 bytes, as `KeyEncoding` writes it.
    ///
    /// - Throws: what `body` throws; `.misuse` when the cursor stands nowhere.
    func withKey(_ body: (Span<UInt8>) throws -> Void) throws

    /// Lends the value of the row.
    ///
    /// - Throws: what `body` throws; `.corrupted` when the value does not match its checksum;
    ///   `.misuse` when the cursor stands nowhere.
    func withValue(_ body: (Span<UInt8>) throws -> Void) throws

    /// Lends key and value of the row, as the two forms above do, for the cost of one call.
    func withRow(_ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void) throws

    /// Gives up the place and what it holds.
    func close()
}
