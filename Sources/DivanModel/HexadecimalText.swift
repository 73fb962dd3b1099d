// SPDX-License-Identifier: Apache-2.0

/// 128-bit numbers as 32 lower-case hexadecimal digits, and as 16 bytes.
///
/// With `ByteAccess.swift` this is the module's fence: no other file has an unsafe expression.
@usableFromInline
package enum HexadecimalText {
    /// The number of digits.
    static let length = 32

    /// Eight digits, one in each byte, the highest first.
    @inlinable @inline(__always)
    package static func digits(_ word: UInt32) -> UInt64 {
        // Each step doubles the distance between halves until every nibble has a byte of its own.
        var nibbles = UInt64(word)
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        // 0x30 for a digit; 0x27 more for a letter, whose nibble carries into bit 4 when 6 is added.
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }

    /// The digits of `high` and `low` in the order of memory.
    @inline(__always)
    private static func words(_ high: UInt64, _ low: UInt64) -> (UInt64, UInt64, UInt64, UInt64) {
        (
            digits(UInt32(truncatingIfNeeded: high >> 32)).bigEndian,
            digits(UInt32(truncatingIfNeeded: high)).bigEndian,
            digits(UInt32(truncatingIfNeeded: low >> 32)).bigEndian,
            digits(UInt32(truncatingIfNeeded: low)).bigEndian
        )
    }

    /// Returns the digits of `high` and `low`.
    static func text(high: UInt64, low: UInt64) -> String {
        // SAFETY: exactly `length` bytes are initialised, all of them ASCII.
        unsafe String(unsafeUninitializedCapacity: length) { buffer in
            unsafe UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: words(high, low), as: (UInt64, UInt64, UInt64, UInt64).self)
            return length
        }
    }

    /// Returns the decimal `number`, a hyphen, and the digits of `high` and `low`.
    static func text(_ number: UInt64, high: UInt64, low: UInt64) -> String {
        var start = 2
        var bound: UInt64 = 10
        while number >= bound, start < 21 {
            start += 1
            bound = start < 21 ? bound * 10 : bound
        }
        let whole = start + length
        // SAFETY: exactly `whole` bytes are initialised, all of them ASCII.
        return unsafe String(unsafeUninitializedCapacity: whole) { buffer in
            unsafe UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: words(high, low), toByteOffset: start,
                as: (UInt64, UInt64, UInt64, UInt64).self)
            unsafe buffer[start - 1] = UInt8(ascii: "-")
            var rest = number
            for place in (0..<start - 1).reversed() {
                unsafe buffer[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            return whole
        }
    }

    /// Appends the digits of `high` and `low`.
    static func append(high: UInt64, low: UInt64, to bytes: inout [UInt8]) {
        // SAFETY: the buffer lives for the call, and its bytes are copied.
        unsafe withUnsafeBytes(of: words(high, low)) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Returns `high` and `low` as the text of a UUID: 8-4-4-4-12 digits.
    package static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        // SAFETY: all 36 bytes are initialised, and all of them are ASCII.
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            unsafe writeUUID(high, low, to: UnsafeMutableRawBufferPointer(buffer))
            return 36
        }
    }

    /// Appends `high` and `low` as the text of a UUID.
    package static func appendUUID(_ high: UInt64, _ low: UInt64, to bytes: inout [UInt8]) {
        // SAFETY: the buffer has 36 bytes, all of them are initialised, and they are copied.
        unsafe withUnsafeTemporaryAllocation(byteCount: 36, alignment: 8) { buffer in
            unsafe writeUUID(high, low, to: buffer)
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(buffer))
        }
    }

    /// The number that the text of a UUID spells, or nil for any other text.
    package static func uuid(_ text: Span<UInt8>) -> (high: UInt64, low: UInt64)? {
        let hyphen = UInt8(ascii: "-")
        guard text.count == 36, text[8] == hyphen, text[13] == hyphen, text[18] == hyphen,
            text[23] == hyphen
        else { return nil }
        // Two groups of four digits each, between which a hyphen stands.
        func digits(_ first: Int, _ second: Int) -> UInt64? {
            guard let first = text.bigEndianWord(at: first),
                let second = text.bigEndianWord(at: second - 4)
            else { return nil }
            return first & 0xFFFF_FFFF_0000_0000 | second & 0xFFFF_FFFF
        }
        guard let first = text.bigEndianWord(at: 0).flatMap(word),
            let second = digits(9, 14).flatMap(word), let third = digits(19, 24).flatMap(word),
            let last = text.bigEndianWord(at: 28).flatMap(word)
        else { return nil }
        return (UInt64(first) << 32 | UInt64(second), UInt64(third) << 32 | UInt64(last))
    }

    /// Appends two digits.
    package static func append(pair: UInt8, to bytes: inout [UInt8]) {
        let both = digits(UInt32(pair))
        bytes.append(UInt8(truncatingIfNeeded: both >> 8))
        bytes.append(UInt8(truncatingIfNeeded: both))
    }

    /// Writes 36 bytes: 32 digits and the 4 hyphens between.
    @inline(__always)
    private static func writeUUID(
        _ high: UInt64, _ low: UInt64, to bytes: UnsafeMutableRawBufferPointer
    ) {
        let first = digits(UInt32(truncatingIfNeeded: high >> 32))
        let second = digits(UInt32(truncatingIfNeeded: high))
        let third = digits(UInt32(truncatingIfNeeded: low >> 32))
        let last = digits(UInt32(truncatingIfNeeded: low))
        // SAFETY: each caller brings 36 bytes.
        unsafe bytes.storeBytes(of: first.bigEndian, as: UInt64.self)
        for (place, half) in [
            (9, second >> 32), (14, second), (19, third >> 32), (24, third),
        ] {
            unsafe bytes.storeBytes(
                of: UInt32(truncatingIfNeeded: half).bigEndian, toByteOffset: place,
                as: UInt32.self)
        }
        unsafe bytes.storeBytes(of: last.bigEndian, toByteOffset: 28, as: UInt64.self)
        for hyphen in [8, 13, 18, 23] { unsafe bytes[hyphen] = UInt8(ascii: "-") }
    }

    /// Returns the number that `digits` spells, or `nil` unless they are 32 lower-case digits.
    static func parse(_ digits: Substring.UTF8View) -> (high: UInt64, low: UInt64)? {
        // SAFETY: the bytes are read within the call, each load within the 32 that there are.
        let found = unsafe digits.withContiguousStorageIfAvailable {
            buffer -> (high: UInt64, low: UInt64)? in
            guard buffer.count == length else { return nil }
            let bytes = UnsafeRawBufferPointer(buffer)
            func half(_ place: Int) -> UInt64? {
                let first = unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                let second = unsafe bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self)
                guard let high = word(first.bigEndian), let low = word(second.bigEndian) else {
                    return nil
                }
                return UInt64(high) << 32 | UInt64(low)
            }
            guard let high = half(0), let low = half(16) else { return nil }
            return (high, low)
        }
        // Text that is stored in another way is made contiguous, and read again.
        guard let found else { return parse(Substring(String(Substring(digits))).utf8) }
        return found
    }

    /// The number that eight digits spell, the first one highest; nil for anything but digits.
    @inline(__always)
    private static func word(_ digits: UInt64) -> UInt32? {
        // Letters have bit 6, and their low nibbles are 9 below their values.
        let letters = (digits >> 6) & 0x0101_0101_0101_0101
        var nibbles = ((digits & 0x0F0F_0F0F_0F0F_0F0F) &+ letters &* 9) & 0x0F0F_0F0F_0F0F_0F0F
        nibbles = (nibbles | nibbles >> 4) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles >> 8) & 0x0000_FFFF_0000_FFFF
        nibbles |= nibbles >> 16
        let word = UInt32(truncatingIfNeeded: nibbles)
        // A character that was no digit does not come back unchanged.
        return Self.digits(word) == digits ? word : nil
    }
}
