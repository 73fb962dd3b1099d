// SPDX-License-Identifier: Apache-2.0

/// Sorts the numbers of one document after the other.
///
/// A text has some hundred words, whose numbers differ in a few bytes: a pass for each of these, which counts and then
/// moves, takes less than comparing.
package struct NumberSorter: Sendable {
    /// Fewer are compared: a pass looks at all 256 values of a byte.
    private static let fewest = 64

    private var spare: [UInt64] = []
    /// How many numbers have each value of a byte, and then where the next one goes.
    private var places = [Int](repeating: 0, count: 256)

    /// About how much memory it takes.
    package var size: Int { 8 * (spare.count + places.count) }

    /// Makes a sorter.
    package init() {}

    /// Sorts numbers.
    ///
    /// - Parameters:
    ///   - numbers: The numbers.
    ///   - bits: The numbers are in order already as far as those differ in fewer bits than these only.
    package mutating func sort(_ numbers: inout [UInt64], below bits: UInt64 = 0) {
        guard numbers.count >= Self.fewest else { return numbers.sort() }
        var (all, common) = (UInt64(0), UInt64.max)
        for number in numbers { (all, common) = (all | number, common & number) }
        let differing = all & ~common
        if spare.count < numbers.count {
            spare = [UInt64](repeating: 0, count: numbers.count + numbers.count / 2)
        }
        var shift = bits
        while shift < 64, differing >> shift != 0 {
            if (differing >> shift) & 0xFF != 0 {
                Self.pass(&numbers, by: shift, &places, &spare)
            }
            shift += 8
        }
    }

    /// Sorts by one byte, and leaves numbers that agree in it in their order.
    private static func pass(
        _ list: inout [UInt64], by shift: UInt64, _ counts: inout [Int], _ spare: inout [UInt64]
    ) {
        var numbers = list.mutableSpan
        var places = counts.mutableSpan
        var target = spare.mutableSpan
        for value in places.indices { places[value] = 0 }
        for index in numbers.indices { places[Int((numbers[index] >> shift) & 0xFF)] += 1 }
        var next = 0
        for value in places.indices { (places[value], next) = (next, next + places[value]) }
        for index in numbers.indices {
            let value = Int((numbers[index] >> shift) & 0xFF)
            target[places[value]] = numbers[index]
            places[value] += 1
        }
        for index in numbers.indices { numbers[index] = target[index] }
    }
}
