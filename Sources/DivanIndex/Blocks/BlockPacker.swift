// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// Packs rows, given in order, into blocks and writes these.
///
/// Rows wait until it is known how many there are: those of one place in the store are spread evenly,
/// so that a block that grew too large becomes two halves and not a full one and a scrap. At the end
/// of the store blocks are filled, since rows that come in order are added there. Filled is not full:
/// a block may grow by a third before it is split.
struct BlockPacker {
    /// So many bytes wait at most, so that a bulk build streams.
    private static let largestWait = 64 << 10

    private struct Place {
        var start: Int
        var keyEnd: Int
        var end: Int
        /// How many bytes of the key are those of the key before.
        private(set) var shared: Int
        /// What the row takes in a block.
        private(set) var size: Int

        init(start: Int, keyEnd: Int, end: Int, shared: Int) {
            (self.start, self.keyEnd, self.end) = (start, keyEnd, end)
            (self.shared, size) = (shared, 0)
            share(shared)
        }

        mutating func share(_ count: Int) {
            shared = count
            size =
                Varint.length(of: UInt64(count)) + Varint.length(of: UInt64(keyEnd - start - count))
                + Varint.length(of: UInt64(end - keyEnd)) + end - start - count
        }
    }

    private let store: Store
    private let writer: any StorageWriter
    /// The key of the first block to come.
    private var blockKey: [UInt8]
    private var bytes: [UInt8] = []
    private var places: [Place] = []
    /// What the waiting rows take.
    private(set) var size = 0
    /// How many blocks were written.
    private(set) var written = 0

    init(_ blockKey: [UInt8], _ store: Store, _ writer: any StorageWriter) {
        self.blockKey = blockKey
        self.store = store
        self.writer = writer
    }

    var isEmpty: Bool { places.isEmpty }

    /// Adds the next row.
    mutating func append(key: Span<UInt8>, value: Span<UInt8>) throws {
        let start = bytes.count
        var shared = 0
        if let last = places.last {
            shared = commonPrefix(bytes.span.extracting(last.start..<last.keyEnd), key)
        } else {
            shared = commonPrefix(blockKey.span, key)
        }
        bytes.append(copying: key)
        bytes.append(copying: value)
        let place = Place(
            start: start, keyEnd: start + key.count, end: bytes.count, shared: shared)
        places.append(place)
        size += place.size
    }

    /// Whether what waits fits into one block.
    var fitsOneBlock: Bool { blockKey.count + size <= BlockEditor.largestBlock }

    /// Whether so much waits that some should be written.
    var isFull: Bool { bytes.count > Self.largestWait }

    /// Writes full blocks and keeps the last rows waiting.
    mutating func flush() throws { try pack(target: BlockEditor.filledBlock, keeping: true) }

    /// Writes all rows.
    mutating func finish(isAtEnd: Bool) throws {
        // Where all fits into one block, it does not matter how full that is.
        if fitsOneBlock, !isEmpty { return try write(places.indices) }
        let limit = BlockEditor.filledBlock
        // Each block repeats the beginning of its first key, so a little less than the limit counts.
        let count = (size + limit - 65) / (limit - 64)
        try pack(target: isAtEnd ? limit : size / max(1, count) + 1, keeping: false)
    }

    private mutating func pack(target: Int, keeping: Bool) throws {
        let largest = BlockEditor.filledBlock
        // A row must be left from which the next block's key is made.
        let stop = keeping ? places.count - 1 : places.count
        var first = 0
        var waiting = size
        while first < stop, !keeping || waiting > 2 * largest {
            var end = first
            var packed = 0
            // The row that reaches the target is in, unless it breaks the limit.
            repeat {
                packed += places[end].size
                end += 1
            } while end < stop && packed < target
                && blockKey.count + packed + places[end].size <= largest
            waiting -= packed
            try write(first..<end)
            first = end
        }
        dropRows(before: first)
    }

    /// Forgets written rows and moves the others to the front.
    private mutating func dropRows(before first: Int) {
        let offset = first < places.count ? places[first].start : bytes.count
        bytes.removeFirst(offset)
        places.removeFirst(first)
        size = 0
        for index in places.indices {
            places[index].start -= offset
            places[index].keyEnd -= offset
            places[index].end -= offset
            size += places[index].size
        }
    }

    private mutating func write(_ rows: Range<Int>) throws {
        var block: [UInt8] = []
        block.reserveCapacity(BlockEditor.largestBlock)
        for row in rows {
            let place = places[row]
            Varint.append(UInt64(place.shared), to: &block)
            Varint.append(UInt64(place.keyEnd - place.start - place.shared), to: &block)
            block.append(copying: bytes.span.extracting(place.start + place.shared..<place.keyEnd))
            Varint.append(UInt64(place.end - place.keyEnd), to: &block)
            block.append(copying: bytes.span.extracting(place.keyEnd..<place.end))
        }
        try writer.set(block.span, forKey: blockKey.span, in: store)
        written += 1
        guard rows.upperBound < places.count else { return }
        // The next block's key: as much of its first row's as tells it from the row before.
        let next = places[rows.upperBound]
        let keySize = min(next.shared + 1, next.keyEnd - next.start)
        blockKey = [UInt8](copying: bytes.span.extracting(next.start..<next.start + keySize))
        places[rows.upperBound].share(keySize)
        size += places[rows.upperBound].size - next.size
    }
}

/// How many bytes two keys begin with in common.
func commonPrefix(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
    let shared = min(left.count, right.count)
    var index = 0
    while index + 8 <= shared {
        // SAFETY: the eight bytes from `index` on are inside both spans.
        let difference =
            unsafe (left.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            ^ right.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)).littleEndian
        if difference != 0 { return index + difference.trailingZeroBitCount / 8 }
        index += 8
    }
    while index < shared, left[index] == right[index] { index += 1 }
    return index
}
