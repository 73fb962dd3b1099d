// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// A row as it lay in an index: the bytes of its key and value, decoded when they are asked for.
///
/// The rows of a result share blocks of bytes, so that a row costs no memory of its own:
///
///     block   key│ID 00│value│key│ID 00│value│…            some 64 kB, kept by the rows in it
///     row     ▲  ▲     ▲     ▲
///             start    rowEnd end
///                keyEnd
///
/// ## Invariants
///
/// `checkInvariants()` tests the first, and the second where the key was not damaged: `IndexedRowTests` call it.
///
/// 1. `start < keyEnd < rowEnd <= end <= block.bytes.count`.
/// 2. The key was walked through when the row was read, so a document's ID follows it. What a sound index has decodes;
///    a text or a number that is damaged inside is read as null.
struct IndexedRow: Sendable {
    /// Bytes of rows, one after another.
    final class Block: Sendable {
        let bytes: [UInt8]
        let coder: RowKeyCoder
        let core: DatabaseCore

        init(bytes: [UInt8], coder: RowKeyCoder, core: DatabaseCore) {
            self.bytes = bytes
            self.coder = coder
            self.core = core
        }
    }

    /// Where a row stands in its block, which is small, or has one row that an engine can hold.
    struct Place: Sendable {
        private let offsets: (start: UInt32, keyEnd: UInt32, rowEnd: UInt32, end: UInt32)

        init(start: Int, keyEnd: Int, rowEnd: Int, end: Int) {
            offsets = (UInt32(start), UInt32(keyEnd), UInt32(rowEnd), UInt32(end))
        }

        var start: Int { Int(offsets.start) }
        var keyEnd: Int { Int(offsets.keyEnd) }
        var rowEnd: Int { Int(offsets.rowEnd) }
        var end: Int { Int(offsets.end) }
    }

    private let block: Block
    private let place: Place

    init(_ block: Block, _ place: Place) {
        self.block = block
        self.place = place
    }

    var core: DatabaseCore { block.core }

    /// The bytes of the row in its block.
    var byteCount: Int { place.end - place.start }

    /// What was emitted as the key.
    var key: JSONValue {
        let bytes = block.bytes
        let rowKey = bytes.span.extracting(place.start..<place.rowEnd)
        return (try? RowKey.emittedKey(in: rowKey, block.coder)) ?? .null
    }

    /// The value that was emitted; nil for none.
    var value: PackedValue? {
        guard place.end > place.rowEnd else { return nil }
        let bytes = block.bytes
        return RowValue.decode(bytes.span.extracting(place.rowEnd..<place.end))
    }

    /// The document that emitted it.
    var documentID: DocumentID? {
        let bytes = block.bytes
        let rowKey = bytes.span.extracting(..<place.rowEnd)
        return try? RowKey.documentID(in: rowKey, at: place.keyEnd)
    }

    /// The bytes of the row's key, which no other row of the index has.
    var rowKey: ArraySlice<UInt8> { block.bytes[place.start..<place.rowEnd] }

    private var bytes: ArraySlice<UInt8> { block.bytes[place.start..<place.end] }

    /// Stops the program where an invariant does not hold; for tests.
    ///
    /// - Parameter isSound: Whether the row is as an index wrote it.
    func checkInvariants(isSound: Bool = true) {
        precondition(place.start < place.keyEnd && place.keyEnd < place.rowEnd, "invariant 1")
        precondition(
            place.rowEnd <= place.end && place.end <= block.bytes.count, "invariant 1")
        guard isSound else { return }
        let bytes = block.bytes
        let rowKey = bytes.span.extracting(place.start..<place.rowEnd)
        let isDecoded = (try? RowKey.emittedKey(in: rowKey, block.coder)) != nil
        precondition(isDecoded && documentID != nil, "invariant 2")
    }

    /// Whether two rows have the same bytes, cut in the same places.
    static func isSame(_ left: IndexedRow, _ right: IndexedRow) -> Bool {
        left.rowKey.count == right.rowKey.count && left.bytes == right.bytes
    }
}

/// Collects the rows of a result into blocks.
struct IndexedRowCollector {
    private static let blockSize = 64 << 10

    private let coder: RowKeyCoder
    private let core: DatabaseCore
    /// Is told what the rows take, whenever a block is full.
    private let willHold: ((_ bytes: Int) throws -> Void)?
    /// The bytes of the blocks that are full.
    private var blockBytes = 0
    private var bytes: [UInt8] = []
    private var places: [IndexedRow.Place] = []
    private var collected: [IndexedRow] = []

    init(
        _ coder: RowKeyCoder, core: DatabaseCore,
        _ willHold: ((_ bytes: Int) throws -> Void)? = nil
    ) {
        self.coder = coder
        self.core = core
        self.willHold = willHold
    }

    /// How many rows there are.
    var count: Int { collected.count + places.count }

    /// Adds a row of an index.
    ///
    /// - Throws: `IndexCorruption` when its key is no key, and what is thrown where the rows take too much memory.
    mutating func append(key: Span<UInt8>, value: Span<UInt8>) throws {
        var keyEnd = coder.start(in: key)
        do { try coder.skip(key, at: &keyEnd) } catch {
            throw IndexCorruption("A row's key is damaged.")
        }
        guard keyEnd < key.count else {
            throw IndexCorruption("A row's key has no document ID.")
        }
        let start = bytes.count
        bytes.append(copying: key)
        bytes.append(copying: value)
        places.append(
            IndexedRow.Place(
                start: start, keyEnd: start + keyEnd, rowEnd: start + key.count, end: bytes.count))
        guard bytes.count >= Self.blockSize else { return }
        closeBlock()
        try willHold?(blockBytes + count * MemoryLayout<QueryRow>.stride)
    }

    /// Returns the rows.
    mutating func finish() -> [IndexedRow] {
        closeBlock()
        return collected
    }

    private mutating func closeBlock() {
        blockBytes += bytes.count
        let block = IndexedRow.Block(bytes: bytes, coder: coder, core: core)
        for place in places { collected.append(IndexedRow(block, place)) }
        bytes = []
        places.removeAll(keepingCapacity: true)
    }
}
