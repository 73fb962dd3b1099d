// SPDX-License-Identifier: Apache-2.0

/// Unsigned integers in as few bytes as they need (LEB128).
///
/// Seven bits a byte, the lowest first; the top bit says that another byte follows. Each number
/// has exactly one encoding: a needless last byte of zero is refused as damage.
///
/// ```
///        0 …    127    0xxxxxxx
///      128 …  16383    1xxxxxxx 0xxxxxxx
///      …
///   2^63   … 2^64-1    nine bytes 1xxxxxxx, then 00000001
/// ```
@usableFromInline
package enum Varint {
    /// The longest encoding: 9 bytes of 7 bits hold 63 bits, so the 64th needs a tenth byte.
    package static let maximumLength = 10

    /// Appends the encoding of a number.
    ///
    /// - Parameters:
    ///   - value: The number.
    ///   - bytes: Where to append.
    @inlinable @inline(__always)
    package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Returns the number whose encoding starts at `offset`, and moves `offset` behind it.
    ///
    /// - Parameters:
    ///   - bytes: Bytes with an encoded number among them, or damaged ones.
    ///   - offset: Where the number starts; unspecified after an error.
    /// - Returns: The number.
    /// - Throws: `ModelCorruption` if the bytes end too early, encode more than 64 bits, or are
    ///   longer than they need to be.
    @inlinable @inline(__always)
    package static func decode(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(ModelCorruption) -> UInt64 {
        // Most numbers are small.
        if offset >= 0, offset < bytes.count, bytes[offset] < 0x80 {
            offset += 1
            return UInt64(bytes[offset - 1])
        }
        return try decodeLong(bytes, at: &offset)
    }

    /// Decodes a number of more than one byte, and refuses damage: the rarer part of
    /// ``decode(_:at:)``.
    @usableFromInline
    package static func decodeLong(
        _ bytes: Span<UInt8>, at offset: inout Int
    ) throws(ModelCorruption) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset >= 0, offset < bytes.count {
            let byte = bytes[offset]
            // The tenth byte has room for one bit only.
            if shift == 63, byte > 1 { break }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 {
                if byte == 0, shift > 0 { break }
                offset += 1
                return value
            }
            offset += 1
            shift += 7
        }
        throw ModelCorruption(offset: offset, expectation: "a variable-length integer")
    }

    /// Returns the number of bytes that ``append(_:to:)`` adds.
    ///
    /// - Parameter value: The number to be encoded.
    /// - Returns: 1 to ``maximumLength``.
    @inlinable @inline(__always)
    package static func length(of value: UInt64) -> Int {
        max(1, (70 - value.leadingZeroBitCount) / 7)
    }
}
