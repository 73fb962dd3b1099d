// SPDX-License-Identifier: Apache-2.0

/// 128-bit numbers as 32 lower-case hexadecimal digits, and as 16 bytes.
///
/// With `ByteAccess.swift` this is the module's fence: no other file has an unsafe expression.
enum HexadecimalText {
    /// The number of digits.
    static let length = 32

    /// The digit at `index`, counted from the left of the 16 of `word`.
    @inline(__always)
    private static func digit(_ index: Int, of word: UInt64) -> UInt8 {
        let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - index * 4)) & 0xf
        return nibble < 10 ? 0x30 + nibble : 0x57 + nibble
    }

    /// Returns the digits of `high` and `low`, preceded by `prefix`, which must be ASCII.
    static func text(prefix: String = "", high: UInt64, low: UInt64) -> String {
        let start = prefix.utf8.count
        // SAFETY: exactly `start + length` bytes are initialised, all of them ASCII.
        return unsafe String(unsafeUninitializedCapacity: start + length) { buffer in
            for (index, byte) in prefix.utf8.enumerated() { unsafe buffer[index] = byte }
            for index in 0..<16 {
                unsafe buffer[start + index] = digit(index, of: high)
                unsafe buffer[start + 16 + index] = digit(index, of: low)
            }
            return start + length
        }
    }

    /// Appends the digits of `high` and `low`.
    static func append(high: UInt64, low: UInt64, to bytes: inout [UInt8]) {
        for index in 0..<length {
            bytes.append(digit(index % 16, of: index < 16 ? high : low))
        }
    }

    /// Returns `high` and `low` as the text of a UUID: 8-4-4-4-12 digits.
    static func uuid(high: UInt64, low: UInt64) -> String {
        // SAFETY: 36 bytes are initialised, all of them ASCII: 32 digits and the 4 hyphens between.
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            var place = 0
            for index in 0..<length {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    unsafe buffer[place] = UInt8(ascii: "-")
                    place += 1
                }
                unsafe buffer[place] = digit(index % 16, of: index < 16 ? high : low)
                place += 1
            }
            return place
        }
    }

    /// Returns the number that `digits` spells, or `nil` unless they are 32 lower-case digits.
    static func parse(_ digits: Substring.UTF8View) -> (high: UInt64, low: UInt64)? {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for digit in digits {
            let nibble: UInt8
            switch digit {
            case 0x30...0x39: nibble = digit - 0x30
            case 0x61...0x66: nibble = digit - 0x57
            default: return nil
            }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(nibble)
            count += 1
            if count > length { return nil }
        }
        return count == length ? (high, low) : nil
    }
}
