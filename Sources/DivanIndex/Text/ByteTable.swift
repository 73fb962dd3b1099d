// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Byte strings, each once, numbered from 0 in the order in which they came.
///
/// All stand in one array, since a text has millions of words. It does not shrink; it can be emptied.
package struct ByteTable: Sendable {
    private var bytes: [UInt8] = []
    /// Where each ends.
    private var ends: [UInt32] = []
    private var slots = HashSlots()
    private let seed = HashSlots.makeSeed()

    /// Makes an empty table.
    package init() {}

    /// How many strings it has.
    package var count: Int { ends.count }

    /// About how much memory it takes.
    package var size: Int { bytes.count + 4 * ends.count + slots.size }

    /// The string of a number.
    package subscript(number: Int) -> Range<Int> {
        Int(number == 0 ? 0 : ends[number - 1])..<Int(ends[number])
    }

    /// Lends the string of a number.
    package func withBytes<R>(_ number: Int, _ body: (Span<UInt8>) throws -> R) rethrows -> R {
        try body(bytes.span.extracting(self[number]))
    }

    /// Sorts numbers of strings by the strings, in the order of bytes.
    package func sorted(_ numbers: [Int]) -> [Int] {
        // Most differ in their first eight bytes, which are brought together to be compared.
        var keys = numbers.map { (start: start(of: $0), number: $0) }
        keys.sort { left, right in
            if left.start != right.start { return left.start < right.start }
            let (one, other) = (self[left.number], self[right.number])
            return compare(bytes.span.extracting(one), bytes.span.extracting(other)) < 0
        }
        return keys.map(\.number)
    }

    /// The first eight bytes of a string, the first one highest, with zeros behind a shorter one.
    private func start(of number: Int) -> UInt64 {
        let string = self[number]
        var start: UInt64 = 0
        for index in string.prefix(8) { start = start << 8 | UInt64(bytes[index]) }
        return start << UInt64(8 * max(0, 8 - string.count))
    }

    /// Removes all strings.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        slots.removeAll()
    }

    /// The number of a string; nil when it is not there.
    package func number(of string: Span<UInt8>) -> Int? {
        let half = half(of: string)
        let (bytes, mask, slots) = (bytes.span, slots.mask, slots.words.span)
        var index = half & mask
        while slots[index] != 0 {
            if slots[index] >> 32 == half {
                let number = HashSlots.number(slots[index])
                if compare(bytes.extracting(self[number]), string) == 0 { return number }
            }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Adds a string that is not there.
    ///
    /// - Returns: Its number; nil when all would have more than 4 GB.
    package mutating func add(_ string: Span<UInt8>) -> Int? {
        guard string.count <= Int(UInt32.max) - bytes.count else { return nil }
        bytes.append(copying: string)
        ends.append(UInt32(bytes.count))
        slots.add(half(of: string))
        return count - 1
    }

    private func half(of string: Span<UInt8>) -> Int {
        Int(RowRank.hash(string, seed: seed) >> 32)
    }
}
