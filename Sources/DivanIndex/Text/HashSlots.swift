// SPDX-License-Identifier: Apache-2.0

/// Where hashes put numbered strings, in a table that keeps these itself.
///
/// A slot is half of a string's hash above its number plus 1; 0 where there is none. Strings that another half tells apart are not
/// looked at, and slots that grow hash nothing again. A table looks from the slot of a half on, until it comes to a free one:
///
/// ```swift
/// var index = half & slots.mask
/// while words[index] != 0 {
///     if words[index] >> 32 == half, isSame(HashSlots.number(words[index])) { return … }
///     index = (index + 1) & slots.mask
/// }
/// ```
struct HashSlots: Sendable {
    private static let fewest = 64

    private(set) var words = [UInt64](repeating: 0, count: fewest)
    private var count = 0

    var mask: Int { words.count - 1 }
    var size: Int { 8 * words.count }

    /// A number by which a table's hashes differ from those of others. Words come from outside: nothing may be known of where
    /// their hashes put them.
    static func makeSeed() -> UInt64 {
        var random = SystemRandomNumberGenerator()
        return random.next()
    }

    @inline(__always)
    static func number(_ word: UInt64) -> Int { Int(word & 0xFFFF_FFFF) - 1 }

    /// Adds the next number, under half of a hash.
    mutating func add(_ half: Int) {
        if 5 * (count + 1) > 4 * words.count { grow() }
        count += 1
        Self.put(UInt64(half) << 32 | UInt64(count), in: &words)
    }

    mutating func removeAll() { self = HashSlots() }

    private mutating func grow() {
        var grown = [UInt64](repeating: 0, count: 2 * words.count)
        for word in words where word != 0 { Self.put(word, in: &grown) }
        words = grown
    }

    private static func put(_ word: UInt64, in words: inout [UInt64]) {
        var index = Int(word >> 32) & (words.count - 1)
        while words[index] != 0 { index = (index + 1) & (words.count - 1) }
        words[index] = word
    }
}
