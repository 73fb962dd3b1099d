// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Byte strings, each once, numbered from 0 in the order in which they came.
///
/// All stand in one array, since a text has millions of words. It does not shrink; it can be emptied.
package struct ByteTable: Sendable {
    private var bytes: [UInt8] = []
    /// Where each ends.
    private var ends: [Int] = []
    /// The number of a string plus 1, where its hash puts it; 0 where there is none.
    private var slots = [UInt32](repeating: 0, count: 64)
    private let seed: UInt64

    /// Makes an empty table.
    package init() {
        var random = SystemRandomNumberGenerator()
        // Words come from outside: nothing may be known of where their hashes put them.
        seed = random.next()
    }

    /// How many strings it has.
    package var count: Int { ends.count }

    /// About how much memory it takes.
    package var size: Int { bytes.count + 8 * ends.count + 4 * slots.count }

    /// The string of a number.
    package subscript(number: Int) -> Range<Int> {
        (number == 0 ? 0 : ends[number - 1])..<ends[number]
    }

    /// Lends the string of a number.
    package func withBytes<R>(_ number: Int, _ body: (Span<UInt8>) throws -> R) rethrows -> R {
        try body(bytes.span.extracting(self[number]))
    }

    /// Whether one string stands before another in the order of bytes.
    package func precedes(_ left: Int, _ right: Int) -> Bool {
        compare(bytes.span.extracting(self[left]), bytes.span.extracting(self[right])) < 0
    }

    /// Removes all strings.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        slots = [UInt32](repeating: 0, count: 64)
    }

    /// The number of a string; nil when it is not there.
    package func number(of string: Span<UInt8>) -> Int? {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: RowRank.hash(string, seed: seed)) & mask
        let bytes = bytes.span
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            let range = self[number]
            if range.count == string.count, compare(bytes.extracting(range), string) == 0 {
                return number
            }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Adds a string that is not there.
    package mutating func add(_ string: Span<UInt8>) -> Int {
        if 4 * (count + 1) > 3 * slots.count { grow() }
        bytes.append(copying: string)
        ends.append(bytes.count)
        place(count - 1)
        return count - 1
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: 2 * slots.count)
        for number in 0..<count { place(number) }
    }

    private mutating func place(_ number: Int) {
        let mask = slots.count - 1
        let hash = RowRank.hash(bytes.span.extracting(self[number]), seed: seed)
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(number + 1)
    }
}
