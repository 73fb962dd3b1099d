// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// A block of postings: documents that have a term, in the order of their ordinals, how often each has it, and
/// where.
///
///     varint     how many documents have the term; in the head of a term only
///     varint     how many postings the block has
///     varint     how many bytes the documents take
///     documents  for each posting
///         varint   twice what the ordinal is above the one before (above 0 for the first), and 1 more
///                  if the document has the term several times
///         varint   how often, less 2; if several times
///     places     for each posting, and for each time the document has the term
///         varint   what the place is above the one before (above 0 for the first of a document)
///
/// A search reads the documents of a block, and skips over the places unless it looks for a phrase, and
/// then reads those of the documents that have all words only.
///
/// ## Invariants
///
/// `load` refuses what breaks the first and the second, and `areInvariantsKept()` tests all.
///
/// 1. Ordinals ascend, and are above 0.
/// 2. Every document has the term at least once.
/// 3. The places of a document ascend.
struct PostingBlock {
    /// The ordinals of the documents.
    private(set) var ordinals: [UInt64] = []
    /// How often each has the term.
    private(set) var frequencies: [UInt64] = []
    /// How many documents have the term, in a head; else 0.
    private(set) var documentCount: UInt64 = 0
    /// The block as it is stored.
    private(set) var bytes: [UInt8] = []
    /// Where the places begin.
    private(set) var placesStart = 0

    /// More than any position that a text has; beyond it sums could overflow.
    static let largest = UInt64(1) << 48

    var count: Int { ordinals.count }

    mutating func removeAll() {
        ordinals.removeAll(keepingCapacity: true)
        frequencies.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        (documentCount, placesStart) = (0, 0)
    }

    /// Takes a block apart.
    ///
    /// - Throws: ``IndexCorruption``.
    mutating func load(_ block: Span<UInt8>, isHead: Bool) throws {
        removeAll()
        do {
            var offset = 0
            if isHead { documentCount = try Varint.decode(block, at: &offset) }
            let count = try Varint.decode(block, at: &offset)
            let size = try Varint.decode(block, at: &offset)
            guard size <= UInt64(block.count - offset), count <= size else { throw Self.damage }
            placesStart = offset + Int(size)
            try Self.readDocuments(
                block, offset..<placesStart, count: Int(count), &ordinals, &frequencies)
        } catch is ModelCorruption { throw Self.damage }
        bytes.append(copying: block)
    }

    /// Appends the documents of a block, which lie at some of its bytes.
    private static func readDocuments(
        _ block: Span<UInt8>, _ range: Range<Int>, count: Int, _ ordinals: inout [UInt64],
        _ frequencies: inout [UInt64]
    ) throws {
        var (offset, ordinal, total) = (range.lowerBound, UInt64(0), 0)
        try ordinals.append(addingCapacity: count) { ordinals in
            try frequencies.append(addingCapacity: count) { frequencies in
                while offset < range.upperBound {
                    let head = try Varint.decode(block, at: &offset)
                    guard head > 1, !ordinals.isFull else { throw damage }
                    ordinal += head >> 1
                    guard ordinal < largest else { throw damage }
                    ordinals.append(ordinal)
                    // The byte behind is read in any case: a branch that goes now here, now there would cost more.
                    let (several, byte) = (head & 1, offset < block.count ? block[offset] : 0)
                    var frequency = 1 &+ several &* (UInt64(byte) &+ 1)
                    if byte >= 0x80, several != 0 {
                        frequency = try Varint.decode(block, at: &offset) &+ 2
                    } else {
                        offset += Int(several)
                    }
                    // Each place takes a byte at least, and they lie behind.
                    guard frequency > 0, frequency <= UInt64(block.count) else { throw damage }
                    total += Int(frequency)
                    frequencies.append(frequency)
                }
            }
        }
        guard ordinals.count == count, offset == range.upperBound,
            total <= block.count - range.upperBound
        else { throw damage }
    }

    /// How many documents have the term, from the beginning of its head.
    static func documentCount(_ head: Span<UInt8>) throws -> UInt64 {
        var offset = 0
        do { return try Varint.decode(head, at: &offset) } catch { throw damage }
    }

    /// Where a number of varints that begin at an offset end.
    func end(ofPlaces count: UInt64, at offset: Int) throws -> Int {
        var offset = offset
        try Self.pass(count, bytes.span, &offset)
        return offset
    }

    /// Appends the places that begin at an offset, and returns where they end.
    func appendPlaces(_ count: UInt64, at offset: Int, to places: inout [UInt64]) throws -> Int {
        let bytes = bytes.span
        var offset = offset
        try places.append(addingCapacity: min(Int(count), bytes.count)) { places in
            try Self.appendPlaces(count, of: bytes, at: &offset, to: &places)
        }
        return offset
    }

    @inline(__always)
    private static func appendPlaces(
        _ count: UInt64, of bytes: Span<UInt8>, at offset: inout Int,
        to places: inout OutputSpan<UInt64>
    ) throws {
        var place: UInt64 = 0
        if count <= 8, bytes.count - offset >= 8, lastBytes(bytes, offset) == highBits {
            for index in offset..<offset + Int(count) {
                place += UInt64(bytes[index])
                places.append(place)
            }
            offset += Int(count)
            return
        }
        for _ in 0..<count {
            // There is room: each takes a byte at least, of which there are no more.
            do { place &+= try Varint.decode(bytes, at: &offset) } catch { throw damage }
            guard place < largest else { throw damage }
            places.append(place)
        }
    }

    /// Where a reader of places stands: the places of the postings before the index end at the offset.
    struct Position {
        var index = 0
        var offset = 0
    }

    /// The position at which nothing has been read.
    var start: Position { Position(offset: placesStart) }

    /// Passes over the places of the postings before one.
    @inline(__always)
    private static func pass(
        _ frequencies: Span<UInt64>, to next: Int, _ index: inout Int, _ bytes: Span<UInt8>,
        _ offset: inout Int
    ) throws {
        var left: UInt64 = 0
        while index < next {
            left += frequencies[index]
            index += 1
        }
        try pass(left, bytes, &offset)
    }

    /// Passes over a number of varints.
    @inline(__always)
    private static func pass(_ count: UInt64, _ bytes: Span<UInt8>, _ offset: inout Int) throws {
        var left = count
        while left > 0, bytes.count - offset >= 8 {
            var ends = lastBytes(bytes, offset)
            let count = UInt64(ends.nonzeroBitCount)
            guard count >= left else {
                left -= count
                offset += 8
                continue
            }
            if count == 8 {
                offset += Int(left)
            } else {
                for _ in 1..<left { ends &= ends - 1 }
                offset += ends.trailingZeroBitCount / 8 + 1
            }
            return
        }
        while left > 0 {
            guard offset < bytes.count else { throw damage }
            if bytes[offset] < 0x80 { left -= 1 }
            offset += 1
        }
    }

    /// Which of the next eight bytes are the last ones of their numbers: the highest bit of each, the first byte lowest. Mostly
    /// all are, since most numbers take one byte.
    @inline(__always)
    private static func lastBytes(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
        // SAFETY: the callers have seen that the eight bytes from the offset on are inside the span.
        let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return ~word.littleEndian & highBits
    }

    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Whether the block has a posting as it is given.
    ///
    /// - Parameters:
    ///   - ordinal: The document.
    ///   - frequency: How often it has the term.
    ///   - encoded: Its places, as a block has them.
    ///   - position: Not behind the document; goes on behind it when the block has the posting.
    /// - Returns: False when it has another one, or none.
    /// - Throws: ``IndexCorruption``.
    func has(
        _ ordinal: UInt64, _ frequency: UInt64, _ encoded: Span<UInt8>,
        from position: inout Position
    ) throws -> Bool {
        let bytes = bytes.span
        guard let found = try find(ordinal, frequency, from: position),
            encoded.count <= bytes.count - found.offset,
            compare(bytes.extracting(found.offset..<found.offset + encoded.count), encoded) == 0
        else { return false }
        position = Position(index: found.index + 1, offset: found.offset + encoded.count)
        return true
    }

    /// The same for places that take few bytes.
    func has(_ ordinal: UInt64, _ encoded: ShortPlaces, from position: inout Position) throws
        -> Bool
    {
        guard let found = try find(ordinal, encoded.frequency, from: position),
            encoded.size <= bytes.count - found.offset
        else { return false }
        for index in 0..<encoded.size where bytes[found.offset + index] != encoded[index] {
            return false
        }
        position = Position(index: found.index + 1, offset: found.offset + encoded.size)
        return true
    }

    /// Where the places of a posting begin; nil where the block has another one, or none.
    private func find(_ ordinal: UInt64, _ frequency: UInt64, from position: Position) throws
        -> Position?
    {
        let own = ordinals.span
        var (index, offset) = (position.index, position.offset)
        let next = firstIndex(in: own, from: index, notBelow: ordinal)
        guard next < own.count, own[next] == ordinal, frequencies[next] == frequency else {
            return nil
        }
        try Self.pass(frequencies.span, to: next, &index, bytes.span, &offset)
        return Position(index: next, offset: offset)
    }

    /// Appends the places of documents that the block has.
    ///
    /// - Parameters:
    ///   - documents: The ordinals of the documents, ascending.
    ///   - position: Not behind the first of them; goes on behind the last one.
    ///   - places: Grows by the places, document by document.
    ///   - ends: Grows by where those of each document end.
    /// - Throws: ``IndexCorruption``.
    func readPlaces(
        _ documents: Span<UInt64>, from position: inout Position, into places: inout [UInt64],
        _ ends: inout [Int]
    ) throws {
        let (own, frequencies, bytes) = (ordinals.span, frequencies.span, bytes.span)
        var (index, offset) = (position.index, position.offset)
        let start = places.count
        try places.append(addingCapacity: max(0, bytes.count - offset)) { places in
            try ends.append(addingCapacity: documents.count) { ends in
                for document in documents.indices {
                    let next = firstIndex(in: own, from: index, notBelow: documents[document])
                    guard next < own.count else { throw Self.damage }
                    try Self.pass(frequencies, to: next, &index, bytes, &offset)
                    try Self.appendPlaces(
                        frequencies[next], of: bytes, at: &offset, to: &places)
                    ends.append(start + places.count)
                    index = next + 1
                }
            }
        }
        position = Position(index: index, offset: offset)
    }

    private static let damage = IndexCorruption("A block of postings is damaged.")

    /// Whether the invariants hold; for checks of a database.
    func areInvariantsKept() throws -> Bool {
        var (last, offset) = (UInt64(0), placesStart)
        for (ordinal, frequency) in zip(ordinals, frequencies) {
            guard ordinal > last, frequency > 0 else { return false }
            var places: [UInt64] = []
            offset = try appendPlaces(frequency, at: offset, to: &places)
            guard zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }) else { return false }
            last = ordinal
        }
        return offset == bytes.count
    }
}
