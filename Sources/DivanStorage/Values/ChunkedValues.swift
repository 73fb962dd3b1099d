// SPDX-License-Identifier: Apache-2.0

/// Large values under integer IDs, cut into chunks so that parts can be read in bounded memory.
///
/// A store with byte-string keys holds all of them:
///
///      key                                  value
///      ID (8 bytes) ‖ chunk number (4)      up to 64 kB of the value
///
/// Every chunk but the last is full, so a position tells its chunk. The chunks of one ID stand
/// together and in order. Each has a checksum of its own, so reading a part verifies that part.
///
/// ```swift
/// let bodies = ChunkedValues(store: largeBodies)
/// try bodies.set(bytes.span, id: 7, in: writer)
/// try bodies.withRange(0..<100, id: 7, in: reader) { part in … }
/// ```
public struct ChunkedValues: Sendable {
    /// The bytes of a full chunk: large enough that its key and row cost little, and small enough
    /// that reading one byte of it does, too.
    public static let chunkSize = 64 << 10

    /// The store that holds the chunks.
    public let store: Store

    /// Makes a view of a store, which holds nothing but chunks.
    public init(store: Store) {
        precondition(store.kind == .bytes, "Chunks need a store with byte-string keys.")
        self.store = store
    }

    /// Sets a value, in place of an older one.
    public func set(_ value: Span<UInt8>, id: Int64, in writer: any StorageWriter) throws {
        _ = try remove(id: id, in: writer)
        var chunk: UInt32 = 0
        var start = 0
        repeat {
            let end = min(start + ChunkedValues.chunkSize, value.count)
            let key = key(id, chunk)
            try writer.set(value.extracting(start..<end), forKey: key.span, in: store)
            start = end
            chunk += 1
        } while start < value.count
    }

    /// Lends the parts of a value that lie in `range`, in order; what is beyond the end is not lent.
    ///
    /// - Returns: `false` when there is no such value.
    public func withRange(
        _ range: Range<Int>, id: Int64, in reader: any StorageReader,
        _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        var position = max(range.lowerBound, 0)
        var exists = try reader.contains(key: key(id, 0).span, in: store)
        while exists, position < range.upperBound {
            let number = position / ChunkedValues.chunkSize
            let offset = position % ChunkedValues.chunkSize
            var lent = 0
            var isFull = false
            exists = try reader.withValue(forKey: key(id, UInt32(number)).span, in: store) {
                chunk in
                isFull = chunk.count == ChunkedValues.chunkSize
                let end = min(chunk.count, offset + range.upperBound - position)
                lent = max(end - offset, 0)
                if lent > 0 {
                    try body(chunk.extracting(offset..<end))
                }
            }
            position += lent
            if !exists || lent == 0 || !isFull {
                return true
            }
        }
        return exists
    }

    /// Returns a copy of a whole value, or `nil` when there is none.
    ///
    /// - Parameters:
    ///   - id: The ID of the value.
    ///   - length: Its length, when known, which is then checked.
    ///   - reader: The transaction.
    /// - Returns: The value, or `nil`.
    /// - Throws: `.corrupted` when the chunks do not add up to `length`.
    public func value(
        id: Int64, length: Int? = nil, in reader: any StorageReader
    ) throws -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length ?? 0)
        let exists = try withRange(0..<Int.max, id: id, in: reader) { part in
            for position in part.indices {
                bytes.append(part[position])
            }
        }
        if let length, exists, length != bytes.count {
            throw StorageError.incompleteChunks(id: id)
        }
        return exists ? bytes : nil
    }

    /// Removes a value.
    ///
    /// - Returns: Whether there was one.
    public func remove(id: Int64, in writer: any StorageWriter) throws -> Bool {
        var chunk: UInt32 = 0
        while try writer.remove(key: key(id, chunk).span, in: store) {
            chunk += 1
        }
        return chunk > 0
    }

    private func key(_ id: Int64, _ chunk: UInt32) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(12)
        KeyEncoding.append(id, to: &key)
        KeyEncoding.append(chunk, to: &key)
        return key
    }
}
