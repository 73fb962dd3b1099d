// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// Packs rows, given in order, into blocks and hands these on.
///
/// Rows wait until their number is known: the rows of one place in the store are spread evenly, so
/// that a block that grew too large becomes two halves and not a full one and a small rest. At the
/// end of the store blocks are filled, since rows that come in order are added there. Filled is not
/// full: a block may grow by a third before it is split.
struct BlockPacker<Target: BlockTarget> {
    /// The most bytes that wait, so that a bulk build streams.
    private static var largestWait: Int { 64 << 10 }

    private(set) var target: Target
    /// The key of the first block to come.
    private var blockKey: [UInt8]
    private var bytes: [UInt8] = []
    private var places: [PackedRow] = []
    /// The bytes of the waiting rows.
    private(set) var size = 0
    /// How many blocks were written.
    private(set) var written = 0

    init(_ blockKey: [UInt8], _ target: Target) {
        self.blockKey = blockKey
        self.target = target
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
        if value.count > 0 { bytes.append(copying: value) }
        let place = PackedRow(
            start: start, keyEnd: start + key.count, end: bytes.count, shared: shared)
        places.append(place)
        size += place.size
    }

    /// Whether what waits fits into one block.
    var fitsOneBlock: Bool { blockKey.count + size <= BlockEditor.largestBlock }

    /// Whether enough rows wait that some should be written.
    var isFull: Bool { bytes.count > Self.largestWait }

    /// Hands on full blocks and keeps the last rows waiting.
    mutating func flush() throws { try pack(target: BlockEditor.filledBlock, keeping: true) }

    /// Hands on all rows.
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
        let (key, block) = (blockKey, block(of: rows))
        try target.set(block.span, forKey: key.span)
        written += 1
        guard rows.upperBound < places.count else { return }
        // The next block's key: as much of its first row's as tells it from the row before.
        let next = places[rows.upperBound]
        let keySize = min(next.shared + 1, next.keyEnd - next.start)
        blockKey = [UInt8](copying: bytes.span.extracting(next.start..<next.start + keySize))
        places[rows.upperBound].share(keySize)
        size += places[rows.upperBound].size - next.size
    }

    /// The block that some rows make: see ``BlockRows``.
    private func block(of rows: Range<Int>) -> [UInt8] {
        let (places, bytes) = (places[rows], bytes)
        let size = places.reduce(0) { $0 + $1.size }
        // SAFETY: the rows lie in `bytes`, and take what their sizes add up to; nothing outlives the closures.
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { block, count in
            unsafe bytes.withUnsafeBytes { bytes in
                for place in places {
                    let start = place.start + place.shared
                    unsafe Self.append(place.shared, to: block, at: &count)
                    unsafe Self.append(place.keyEnd - start, to: block, at: &count)
                    unsafe Self.append(bytes[start..<place.keyEnd], to: block, at: &count)
                    unsafe Self.append(place.end - place.keyEnd, to: block, at: &count)
                    unsafe Self.append(bytes[place.keyEnd..<place.end], to: block, at: &count)
                }
            }
        }
    }

    /// Writes a number as `Varint` does.
    @inline(__always)
    private static func append(
        _ number: Int, to block: UnsafeMutableBufferPointer<UInt8>, at count: inout Int
    ) {
        var rest = number
        while rest >= 0x80 {
            // SAFETY: the buffer checks its bounds where it is debugged, and the size was counted.
            unsafe block[count] = UInt8(truncatingIfNeeded: rest) | 0x80
            count += 1
            rest >>= 7
        }
        unsafe block[count] = UInt8(truncatingIfNeeded: rest)
        count += 1
    }

    @inline(__always)
    private static func append(
        _ bytes: Slice<UnsafeRawBufferPointer>, to block: UnsafeMutableBufferPointer<UInt8>,
        at count: inout Int
    ) {
        // SAFETY: as above; the buffers do not overlap, since the block is new.
        let target = unsafe UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(block)[count...])
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes))
        unsafe count += bytes.count
    }
}

/// A row that waits to be packed.
private struct PackedRow {
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
