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
    /// Goes to the greatest key that is not above `key`, as `seek(toAtMost:)` does, where `next()` follows: in an engine that
    /// reads one way at a time, `next()` then seeks no second time.
    func seekAscending(toAtMost key: Span<UInt8>) throws -> Bool
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

    /// Passes over the row and those after it in an integer store, as `next()` does: for less than
    /// the cost of its calls. The closures leave the cursor alone.
    ///
    /// - Parameters:
    ///   - choose: Is asked what to do with each row.
    ///   - body: Is lent key and value of a row.
    /// - Returns: Whether it stopped on a row; otherwise it stands nowhere.
    /// - Throws: what the closures and `withValue(_:)` throw; it then stands on the row.
    func walk(
        _ choose: (Int64) throws -> RowChoice, _ body: (Int64, Span<UInt8>) throws -> Void
    ) throws -> Bool

    /// Gives up the place and what it holds.
    func close()
}

/// What becomes of a row that a cursor comes to on a walk.
public enum RowChoice: Sendable {
    /// Its value is lent.
    case lend
    /// It is passed over, and its value is not read.
    case pass
    /// The walk ends on it.
    case stop
}

extension StorageCursor {
    /// Goes there as ``seek(toAtMost:)-(Span<UInt8>)`` does: for engines that turn for nothing.
    public func seekAscending(toAtMost key: Span<UInt8>) throws -> Bool {
        try seek(toAtMost: key)
    }

    /// Passes over the row and those after it, row by row: for engines that have no other way.
    ///
    /// - Parameters:
    ///   - choose: Is asked what to do with each row.
    ///   - body: Is lent key and value of a row.
    /// - Returns: Whether it stopped on a row; otherwise it stands nowhere.
    /// - Throws: what the closures and `withValue(_:)` throw; it then stands on the row.
    public func walk(
        _ choose: (Int64) throws -> RowChoice, _ body: (Int64, Span<UInt8>) throws -> Void
    ) throws -> Bool {
        try walkByCalls(choose, body)
    }

    /// Walks as ``walk(_:_:)`` does, by the other calls.
    package func walkByCalls(
        _ choose: (Int64) throws -> RowChoice, _ body: (Int64, Span<UInt8>) throws -> Void
    ) throws -> Bool {
        repeat {
            let key = integerKey
            switch try choose(key) {
            case .lend: try withValue { value in try body(key, value) }
            case .pass: break
            case .stop: return true
            }
        } while try next()
        return false
    }
}
