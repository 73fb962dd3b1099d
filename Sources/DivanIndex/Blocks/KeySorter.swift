// SPDX-License-Identifier: Apache-2.0

/// Sorts keys that stand in one array of bytes, each known by a number.
///
/// ```swift
/// var sorter = KeySorter()
/// for row in rows.indices { sorter.append(row, rows[row].key, of: bytes) }
/// sorter.sort(in: bytes) { rows[$0].key }
/// for place in sorter.places { write(rows[place.index]) }
/// ```
///
/// A bulk build has hundreds of thousands of keys. So they are sorted without comparing them: by eight bytes, byte by byte, by
/// counting, without the bytes that all have in common. Keys that are alike in all eight keep the order in which they came, which
/// is often right; otherwise they are sorted by the next eight. Only two numbers are moved for each key.
struct KeySorter {
    /// At most this many are sorted in place.
    private static let mostInserted = 8
    /// Fewer than this are sorted by comparison.
    private static let leastCounted = 64
    /// This many bytes are sorted by counting; keys that are alike that far are compared.
    private static let mostCounted = 64

    struct Place: Sendable {
        /// Eight bytes of the key; which ones depends on how far the keys have been sorted.
        fileprivate var word: UInt64
        /// The number that the caller knows the key by.
        var index: Int
    }

    private(set) var places: [Place] = []
    /// Where the places are moved to and fro.
    private var spare: [Place] = []

    mutating func reserve(_ count: Int) { places.reserveCapacity(count) }

    /// Adds a key that stands in `bytes`.
    mutating func append(_ index: Int, _ key: Range<Int>, of bytes: [UInt8]) {
        places.append(Place(word: Self.word(key, bytes.span), index: index))
    }

    /// Sorts by key.
    ///
    /// - Parameters:
    ///   - bytes: The bytes in which the keys stand.
    ///   - key: Where the key of an index stands.
    mutating func sort(in bytes: [UInt8], key: (_ index: Int) -> Range<Int>) {
        sort(places.indices, from: 0, in: bytes.span, key)
        spare = []
    }

    /// Sorts the places of a range, whose words begin at a depth and whose keys have all bytes before that in common.
    private mutating func sort(
        _ range: Range<Int>, from depth: Int, in bytes: Span<UInt8>, _ key: (Int) -> Range<Int>
    ) {
        guard range.count >= Self.leastCounted, depth < Self.mostCounted else {
            return sortByComparing(range, from: depth, in: bytes, key)
        }
        if !areWordsSorted(range) { sortByWord(range) }
        var start = range.lowerBound
        while start < range.upperBound {
            var end = start + 1
            while end < range.upperBound, places[end].word == places[start].word { end += 1 }
            if end > start + 1 {
                for place in start..<end {
                    places[place].word = Self.word(
                        key(places[place].index).dropFirst(depth + 8), bytes)
                }
                sort(start..<end, from: depth + 8, in: bytes, key)
            }
            start = end
        }
    }

    /// Sorts few places, or such whose keys are alike for long.
    private mutating func sortByComparing(
        _ range: Range<Int>, from depth: Int, in bytes: Span<UInt8>, _ key: (Int) -> Range<Int>
    ) {
        guard range.count <= Self.mostInserted else {
            return places[range].sort { Self.isBefore($0, $1, depth, bytes, key) }
        }
        for index in range.dropFirst() {
            var place = index
            while place > range.lowerBound,
                Self.isBefore(places[place], places[place - 1], depth, bytes, key)
            {
                places.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    private func areWordsSorted(_ range: Range<Int>) -> Bool {
        range.dropFirst().allSatisfy { places[$0 - 1].word <= places[$0].word }
    }

    /// Sorts the places of a range by their words; those with the same one keep their order.
    private mutating func sortByWord(_ range: Range<Int>) {
        if spare.count < range.count {
            spare = Array(repeating: Place(word: 0, index: 0), count: range.count)
        }
        var (isMoved, differing) = (false, UInt64(0))
        for place in range { differing |= places[place].word ^ places[range.lowerBound].word }
        for shift in stride(from: UInt64(0), to: 64, by: 8) where differing >> shift & 0xFF != 0 {
            if isMoved {
                Self.move(spare, 0, to: &places, range.lowerBound, range.count, by: shift)
            } else {
                Self.move(places, range.lowerBound, to: &spare, 0, range.count, by: shift)
            }
            isMoved.toggle()
        }
        guard isMoved else { return }
        for offset in 0..<range.count { places[range.lowerBound + offset] = spare[offset] }
    }

    /// Moves a number of places, sorted by one byte of their words.
    private static func move(
        _ source: [Place], _ start: Int, to list: inout [Place], _ targetStart: Int,
        _ count: Int, by shift: UInt64
    ) {
        let places = source.span
        // First how many have each byte, then where the next one with it goes.
        var counts = [Int](repeating: 0, count: 256)
        var next = counts.mutableSpan
        var target = list.mutableSpan
        for place in start..<start + count { next[Int(places[place].word >> shift & 0xFF)] += 1 }
        var total = targetStart
        for byte in next.indices { (next[byte], total) = (total, total + next[byte]) }
        for place in start..<start + count {
            let byte = Int(places[place].word >> shift & 0xFF)
            target[next[byte]] = places[place]
            next[byte] += 1
        }
    }

    @inline(__always)
    private static func isBefore(
        _ left: Place, _ right: Place, _ depth: Int, _ bytes: Span<UInt8>,
        _ key: (Int) -> Range<Int>
    ) -> Bool {
        if left.word != right.word { return left.word < right.word }
        let (left, right) = (key(left.index), key(right.index))
        let order = compare(
            bytes.extracting(left.dropFirst(depth)), bytes.extracting(right.dropFirst(depth)))
        // A word has zeros where a key has no bytes any more.
        return order == 0 ? left.count < right.count : order < 0
    }

    /// The first eight bytes, the highest first; zeros where there are fewer.
    @inline(__always)
    private static func word(_ range: Range<Int>, _ bytes: Span<UInt8>) -> UInt64 {
        if range.count >= 8, range.upperBound <= bytes.count {
            // SAFETY: the eight bytes are among these.
            return unsafe bytes.bytes.unsafeLoadUnaligned(
                fromByteOffset: range.lowerBound, as: UInt64.self
            ).bigEndian
        }
        var word: UInt64 = 0
        for offset in 0..<min(8, range.count) {
            word |= UInt64(bytes[range.lowerBound + offset]) << UInt64(56 - 8 * offset)
        }
        return word
    }
}
