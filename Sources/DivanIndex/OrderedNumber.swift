// SPDX-License-Identifier: Apache-2.0

/// Unsigned numbers in bytes that sort as the numbers do.
///
///     0 … 247     the number, in one byte
///     others      247 plus how many bytes follow, then these: big-endian, without leading zeros
enum OrderedNumber {
    private static let largestShort: UInt64 = 0xF7

    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        guard number > largestShort else { return bytes.append(UInt8(number)) }
        let size = (number.bitWidth - number.leadingZeroBitCount + 7) / 8
        bytes.append(UInt8(Int(largestShort) + size))
        for shift in stride(from: 8 * (size - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    /// How many bytes follow the first byte of a number.
    static func countOfMore(after first: UInt8) -> Int { max(0, Int(first) - Int(largestShort)) }

    /// Reads the number at an offset, and moves the offset behind it.
    ///
    /// - Throws: ``IndexCorruption`` when the bytes end too early, or have a form that is not the shortest.
    static func decode(_ bytes: Span<UInt8>, at offset: inout Int) throws(IndexCorruption) -> UInt64
    {
        guard offset < bytes.count else { throw damage }
        let first = bytes[offset]
        let size = countOfMore(after: first)
        guard size > 0 else {
            offset += 1
            return UInt64(first)
        }
        guard size < bytes.count - offset else { throw damage }
        var number: UInt64 = 0
        for place in offset + 1...offset + size { number = number << 8 | UInt64(bytes[place]) }
        guard number > largestShort, bytes[offset + 1] != 0 else { throw damage }
        offset += size + 1
        return number
    }

    private static let damage = IndexCorruption("A number in a key is damaged.")
}
