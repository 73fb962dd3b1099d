// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// Looks up rows by their keys in a store that keeps them in blocks: see ``BlockRows``.
///
/// A ``BlockCursor`` takes each block apart that it comes to, which pays where several of its rows are read. Here the rows
/// are passed over where they lie. A key's row shares bytes with the row before, and that one with the key that is looked
/// for: so of most rows only the two numbers are read that say how much.
///
/// A key above the one before goes on where that one ended, so keys that ascend read each block once. Changes that are
/// made to the store meanwhile are not seen: make a new lookup after changes.
///
/// ## Invariants
///
/// `BlockTests` compare each answer with a dictionary, for keys in any order.
///
/// 1. A row that the place has passed is below every key that is looked for from there.
/// 2. ``Place/shared`` is how many bytes the last row that was passed has in common with ``last``; before any row, the key
///    of the block.
final class BlockLookup {
    /// Where a block has been read to.
    private struct Place {
        /// The next row.
        var offset = 0
        /// How long the key of the row before is, or that of the block.
        var keySize: Int
        /// How many of its bytes it has in common with the key that is looked for.
        var shared: Int
    }

    private enum Answer {
        /// The value, where it lies in the block.
        case found(Range<Int>)
        /// The next row is above the key.
        case missing
        /// The rows that are left in the block are all below the key.
        case isAbove
    }

    private let blocks: any StorageCursor
    private var place: Place?
    /// The key that was looked for last.
    private var last: [UInt8] = []

    init(_ store: Store, _ reader: any StorageReader) throws {
        blocks = try reader.cursor(in: store)
    }

    func close() {
        blocks.close()
        place = nil
    }

    /// Lends the value of the row that has a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - body: Gets the value.
    /// - Returns: False when no row has the key.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `body` throws.
    func withValue(forKey key: Span<UInt8>, _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        if let known = place {
            place = nil
            if compare(last.span, key) < 0 {
                var start = known
                start.shared = min(known.shared, commonPrefix(last.span, key))
                switch try lend(key, from: start, body) {
                case .found: return true
                case .missing: return false
                case .isAbove: break
                }
            }
        }
        // The first block has a key, and may have the row whose key is empty.
        let isEmpty = key.count == 0
        guard try isEmpty ? blocks.seekToFirst() : blocks.seek(toAtMost: key) else { return false }
        defer { if isEmpty { place = nil } }
        if case .found = try lend(key, from: nil, body) { return true }
        return false
    }

    /// Whether a row has a key.
    func contains(_ key: Span<UInt8>) throws -> Bool { try withValue(forKey: key) { _ in } }

    /// Looks for a key in the block at which the cursor stands.
    private func lend(
        _ key: Span<UInt8>, from start: Place?, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Answer {
        var answer = Answer.isAbove
        try blocks.withRow { blockKey, block in
            var next =
                start ?? Place(keySize: blockKey.count, shared: commonPrefix(blockKey, key))
            answer = try Self.find(key, in: block, &next)
            if case .isAbove = answer { return }
            last.removeAll(keepingCapacity: true)
            last.append(copying: key)
            place = next
            if case .found(let value) = answer { try body(block.extracting(value)) }
        }
        return answer
    }

    private static func find(_ key: Span<UInt8>, in block: Span<UInt8>, _ place: inout Place)
        throws -> Answer
    {
        do {
            while place.offset < block.count {
                var offset = place.offset
                let shared = Int(clamping: try Varint.decode(block, at: &offset))
                let rest = Int(clamping: try Varint.decode(block, at: &offset))
                guard shared <= place.keySize, rest <= block.count - offset else { throw damage }
                let keyEnd = offset + rest
                var common = place.shared
                if shared <= place.shared {
                    let own = block.extracting(offset..<keyEnd)
                    common = shared + commonPrefix(own, key.extracting(shared...))
                    let goesOn = common < shared + rest
                    if goesOn, common == key.count || own[common - shared] > key[common] {
                        return .missing
                    }
                }
                offset = keyEnd
                let size = Int(clamping: try Varint.decode(block, at: &offset))
                guard size <= block.count - offset else { throw damage }
                place = Place(offset: offset + size, keySize: shared + rest, shared: common)
                if common == key.count, place.keySize == key.count {
                    return .found(offset..<offset + size)
                }
            }
        } catch is ModelCorruption {
            throw damage
        }
        guard block.count > 0 else { throw damage }
        return .isAbove
    }

    private static let damage = IndexCorruption("A block of rows is damaged.")
}
