// SPDX-License-Identifier: Apache-2.0

/// Changes of the rows of a store, sorted by key, and the bytes that they are made of.
///
/// A bulk build has hundreds of thousands of edits. So an edit is a few numbers, and many edits are
/// sorted without comparing them: by eight bytes of their keys, byte by byte, by counting, without the
/// bytes that all have in common. Edits that are alike in all eight keep the order in which they came,
/// which is often right; otherwise they are sorted by the next eight.
struct BlockEdits {
    /// At most this many are sorted in place.
    private static let mostInserted = 8
    /// Fewer than this are sorted by comparison.
    private static let leastCounted = 64
    /// This many bytes are sorted by counting; keys that are alike that far are compared.
    private static let mostCounted = 64

    enum Kind: UInt8, Sendable {
        /// Puts a row, in place of any former one.
        case put
        /// Puts a row in place of one that must be there.
        case replace
        /// Removes a row that must be there.
        case remove
        /// Removes a row if it is there.
        case clear
    }

    struct Edit {
        /// The first eight bytes of the key, for sorting.
        var beginning: UInt64
        var start: Int
        var keySize: Int32
        var valueSize: Int32
        var kind: Kind
        /// What the edit is made for: a number that means something to the caller only.
        var source: Int32

        var key: Range<Int> { start..<start + Int(keySize) }
        var value: Range<Int> {
            let keyEnd = start + Int(keySize)
            return keyEnd..<keyEnd + Int(valueSize)
        }
    }

    private(set) var edits: [Edit] = []

    var count: Int { edits.count }

    mutating func reserve(_ count: Int) { edits.reserveCapacity(count) }

    /// Adds an edit whose key, followed by its value, stands in `bytes`.
    mutating func append(
        _ kind: Kind, at start: Int, keySize: Int, valueSize: Int, of bytes: [UInt8],
        source: Int = 0
    ) {
        edits.append(
            Edit(
                beginning: Self.word(start..<start + keySize, bytes), start: start,
                keySize: Int32(keySize),
                valueSize: Int32(valueSize), kind: kind, source: Int32(source)))
    }

    /// Adds an edit whose key and value are appended to `bytes`.
    mutating func append(_ kind: Kind, key: [UInt8], value: [UInt8], to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: key)
        bytes.append(contentsOf: value)
        append(kind, at: start, keySize: key.count, valueSize: value.count, of: bytes)
    }

    /// Sorts by key, unless they are sorted.
    mutating func sort(in bytes: [UInt8]) { sort(edits.indices, from: 0, in: bytes) }

    /// Sorts the edits of a range, whose keys have a number of first bytes in common.
    private mutating func sort(_ range: Range<Int>, from depth: Int, in bytes: [UInt8]) {
        guard !isSorted(range, in: bytes) else { return }
        guard range.count > Self.mostInserted else { return insert(range, in: bytes) }
        guard range.count >= Self.leastCounted, depth < Self.mostCounted else {
            return edits[range].sort { Self.isBefore($0, $1, bytes) }
        }
        let words = sortByWord(range, at: depth, in: bytes)
        var start = 0
        while start < words.count {
            var end = start + 1
            while end < words.count, words[end] == words[start] { end += 1 }
            if end > start + 1 {
                let alike = range.lowerBound + start..<range.lowerBound + end
                sort(alike, from: depth + 8, in: bytes)
            }
            start = end
        }
    }

    /// Sorts a few edits by moving each before those that it precedes.
    private mutating func insert(_ range: Range<Int>, in bytes: [UInt8]) {
        for index in range.dropFirst() {
            var place = index
            while place > range.lowerBound, Self.isBefore(edits[place], edits[place - 1], bytes) {
                edits.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    /// Sorts the edits of a range by eight bytes of their keys, and returns these bytes; edits with
    /// the same ones keep their order.
    private mutating func sortByWord(
        _ range: Range<Int>, at depth: Int, in bytes: [UInt8]
    ) -> [UInt64] {
        var places = range.map { index in
            let edit = edits[index]
            let word = depth == 0 ? edit.beginning : Self.word(edit.key.dropFirst(depth), bytes)
            return (word: word, index: index)
        }
        var differing: UInt64 = 0
        for place in places { differing |= place.word ^ places[0].word }
        var sorted = places
        for shift in stride(from: UInt64(0), to: 64, by: 8) where differing >> shift & 0xFF != 0 {
            // First how many have each byte, then where the next one with it goes.
            var next = [Int](repeating: 0, count: 256)
            for place in places { next[Int(place.word >> shift & 0xFF)] += 1 }
            var total = 0
            for byte in next.indices { (next[byte], total) = (total, total + next[byte]) }
            for place in places {
                let byte = Int(place.word >> shift & 0xFF)
                sorted[next[byte]] = place
                next[byte] += 1
            }
            swap(&places, &sorted)
        }
        sorted = []
        let words = places.map(\.word)
        // Each edit is moved to its place, one circle of places after the other. A copy of all edits would be most of the memory
        // that sorting takes.
        for start in places.indices where places[start].index >= 0 {
            let first = edits[range.lowerBound + start]
            var place = start
            while true {
                let source = places[place].index
                places[place].index = -1
                guard source != range.lowerBound + start else { break }
                edits[range.lowerBound + place] = edits[source]
                place = source - range.lowerBound
            }
            edits[range.lowerBound + place] = first
        }
        return words
    }

    /// The first eight bytes, the highest first; zeros where there are fewer.
    @inline(__always)
    private static func word(_ range: Range<Int>, _ bytes: [UInt8]) -> UInt64 {
        if range.count >= 8, range.upperBound <= bytes.count {
            // SAFETY: the eight bytes are among these.
            return unsafe bytes.span.bytes.unsafeLoadUnaligned(
                fromByteOffset: range.lowerBound, as: UInt64.self
            ).bigEndian
        }
        var word: UInt64 = 0
        for offset in 0..<min(8, range.count) {
            word |= UInt64(bytes[range.lowerBound + offset]) << UInt64(56 - 8 * offset)
        }
        return word
    }

    private func isSorted(_ range: Range<Int>, in bytes: [UInt8]) -> Bool {
        for index in range.dropFirst()
        where Self.isBefore(edits[index], edits[index - 1], bytes) {
            return false
        }
        return true
    }

    @inline(__always)
    private static func isBefore(_ left: Edit, _ right: Edit, _ bytes: [UInt8]) -> Bool {
        if left.beginning != right.beginning { return left.beginning < right.beginning }
        let span = bytes.span
        return compare(span.extracting(left.key), span.extracting(right.key)) < 0
    }
}
