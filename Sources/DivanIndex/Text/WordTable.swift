// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// A number for each of many words.
///
/// A text has millions of words, most of them short. A word of up to seven bytes is one number of eight, with its length as
/// the highest byte, so that it is compared at once. The bytes of longer words stand in one array. Words that are frequent
/// come early, and their entries lie together: what is sparse, since hashes say where it is, takes eight bytes.
package struct WordTable: Sendable {
    private static let longest = 7
    /// The highest byte of the key of a longer word, whose other bytes say where it lies.
    private static let isLong: UInt64 = 0xFF << 56
    /// The most bytes of a longer word that is kept, as many as its key can say.
    private static let mostBytes = 1 << 24 - 1

    private var slots = HashSlots()
    private var keys: [UInt64] = []
    private var values: [UInt32] = []
    /// The longer words.
    private var bytes: [UInt8] = []
    private let seed = HashSlots.makeSeed()

    /// Makes an empty table.
    package init() {}

    /// How many words it has.
    package var count: Int { keys.count }

    /// About how much memory it takes.
    package var size: Int { bytes.count + slots.size + 12 * keys.count }

    /// Removes all words.
    package mutating func removeAll() {
        slots.removeAll()
        keys.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// The number of the word that is a range of a text; nil when it has none.
    package func value(of range: Range<Int>, in text: Span<UInt8>) -> UInt32? {
        let (mask, slots, keys) = (slots.mask, slots.words.span, keys.span)
        let key = range.count <= Self.longest ? Self.key(of: range, in: text) : Self.isLong
        let half = half(key, range, in: text)
        var index = half & mask
        while slots[index] != 0 {
            if slots[index] >> 32 == half {
                let number = HashSlots.number(slots[index])
                let isSame =
                    key == Self.isLong
                    ? isLongWord(keys[number], text.extracting(range)) : keys[number] == key
                if isSame { return values[number] }
            }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Gives a number to a word that has none.
    ///
    /// - Returns: False when the word is too long, or there are too many.
    package mutating func add(_ range: Range<Int>, in text: Span<UInt8>, _ value: UInt32) -> Bool {
        guard range.count <= Self.mostBytes, bytes.count < UInt32.max, count < UInt32.max - 1
        else { return false }
        var key = range.count <= Self.longest ? Self.key(of: range, in: text) : Self.isLong
        let half = half(key, range, in: text)
        if key == Self.isLong {
            key |= UInt64(bytes.count) << 24 | UInt64(range.count)
            bytes.append(copying: text.extracting(range))
        }
        keys.append(key)
        values.append(value)
        slots.add(half)
        return true
    }

    private func isLongWord(_ key: UInt64, _ word: Span<UInt8>) -> Bool {
        guard key >= Self.isLong, key & UInt64(Self.mostBytes) == UInt64(word.count)
        else { return false }
        let start = Int(key >> 24 & 0xFFFF_FFFF)
        return compare(bytes.span.extracting(start..<start + word.count), word) == 0
    }

    // MARK: - Keys

    /// Half of a hash.
    @inline(__always)
    private func half(_ key: UInt64, _ range: Range<Int>, in text: Span<UInt8>) -> Int {
        guard key != Self.isLong else {
            return Int(RowRank.hash(text.extracting(range), seed: seed) >> 32)
        }
        let product = (key ^ seed).multipliedFullWidth(by: 0xFF51_AFD7_ED55_8CCD)
        return Int((product.high ^ product.low) >> 32)
    }

    /// The bytes of a short word, the first one lowest, and its length.
    @inline(__always)
    private static func key(of range: Range<Int>, in text: Span<UInt8>) -> UInt64 {
        let length = UInt64(range.count) << 56
        guard range.lowerBound + 8 <= text.count else {
            // At the end of the text.
            var word: UInt64 = 0
            for index in range.reversed() { word = word << 8 | UInt64(text[index]) }
            return length | word
        }
        // SAFETY: the eight bytes from the beginning of the word on are inside the span.
        let word = unsafe text.bytes.unsafeLoadUnaligned(
            fromByteOffset: range.lowerBound, as: UInt64.self)
        return length | UInt64(littleEndian: word) & (1 << UInt64(8 * range.count) - 1)
    }
}
