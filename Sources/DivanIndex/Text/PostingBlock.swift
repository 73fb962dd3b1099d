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
            ordinals.reserveCapacity(Int(count))
            frequencies.reserveCapacity(Int(count))
            var ordinal: UInt64 = 0
            while offset < placesStart {
                let head = try Varint.decode(block, at: &offset)
                guard head > 1 else { throw Self.damage }
                ordinal += head >> 1
                guard ordinal < Self.largest else { throw Self.damage }
                ordinals.append(ordinal)
                var frequency: UInt64 = 1
                if head & 1 != 0 { frequency = try Varint.decode(block, at: &offset) &+ 2 }
                guard frequency > 0, frequency <= UInt64(block.count) else { throw Self.damage }
                frequencies.append(frequency)
            }
            guard ordinals.count == Int(count), offset == placesStart else { throw Self.damage }
        } catch is ModelCorruption { throw Self.damage }
        bytes.append(copying: block)
    }

    /// How many documents have the term, from the beginning of its head.
    static func documentCount(_ head: Span<UInt8>) throws -> UInt64 {
        var offset = 0
        do { return try Varint.decode(head, at: &offset) } catch { throw damage }
    }

    /// Where a number of varints that begin at an offset end.
    func end(ofPlaces count: UInt64, at offset: Int) throws -> Int {
        var (offset, left) = (offset, count)
        let bytes = bytes.span
        while left > 0 {
            guard offset < bytes.count else { throw Self.damage }
            if bytes[offset] < 0x80 { left -= 1 }
            offset += 1
        }
        return offset
    }

    /// Appends the places that begin at an offset, and returns where they end.
    func appendPlaces(_ count: UInt64, at offset: Int, to places: inout [UInt64]) throws -> Int {
        var (offset, place) = (offset, UInt64(0))
        let bytes = bytes.span
        for _ in 0..<count {
            do { place &+= try Varint.decode(bytes, at: &offset) } catch { throw Self.damage }
            guard place < Self.largest else { throw Self.damage }
            places.append(place)
        }
        return offset
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
