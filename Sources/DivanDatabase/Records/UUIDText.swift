// SPDX-License-Identifier: Apache-2.0

/// Canonical lower-case UUID text (8-4-4-4-12) to sixteen bytes and back.
///
/// Generated document IDs have this form; a revision row stores such an ID in 17 bytes, not 37. Both
/// directions are in the path of every insert, hence the words instead of bytes.
enum UUIDText {
    static let length = 36

    /// The text for 128 bits.
    static func text(_ high: UInt64, _ low: UInt64) -> String {
        // SAFETY: the buffer has room for `length` bytes, and exactly those are written.
        unsafe String(unsafeUninitializedCapacity: length) { buffer in
            let digits = (
                spread(UInt32(truncatingIfNeeded: high >> 32)),
                spread(UInt32(truncatingIfNeeded: high)),
                spread(UInt32(truncatingIfNeeded: low >> 32)),
                spread(UInt32(truncatingIfNeeded: low))
            )
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            unsafe bytes.storeBytes(of: digits.0.bigEndian, toByteOffset: 0, as: UInt64.self)
            unsafe bytes.storeBytes(
                of: UInt32(truncatingIfNeeded: digits.1 >> 32).bigEndian, toByteOffset: 9,
                as: UInt32.self)
            unsafe bytes.storeBytes(
                of: UInt32(truncatingIfNeeded: digits.1).bigEndian, toByteOffset: 14,
                as: UInt32.self)
            unsafe bytes.storeBytes(
                of: UInt32(truncatingIfNeeded: digits.2 >> 32).bigEndian, toByteOffset: 19,
                as: UInt32.self)
            unsafe bytes.storeBytes(
                of: UInt32(truncatingIfNeeded: digits.2).bigEndian, toByteOffset: 24,
                as: UInt32.self)
            unsafe bytes.storeBytes(of: digits.3.bigEndian, toByteOffset: 28, as: UInt64.self)
            for position in [8, 13, 18, 23] { unsafe buffer[position] = UInt8(ascii: "-") }
            return length
        }
    }

    /// The 128 bits of canonical lower-case text, or nil for any other text.
    static func bits(of text: Span<UInt8>) -> (high: UInt64, low: UInt64)? {
        guard text.count == length, text[8] == 0x2D, text[13] == 0x2D, text[18] == 0x2D,
            text[23] == 0x2D
        else { return nil }
        guard let a = digits(text, 0..<8), let b = digits(text, 9..<13),
            let c = digits(text, 14..<18), let d = digits(text, 19..<23),
            let e = digits(text, 24..<36)
        else { return nil }
        return (a << 32 | b << 16 | c, d << 48 | e)
    }

    /// Eight hexadecimal digits, one in each byte, the highest first.
    @inline(__always)
    private static func spread(_ word: UInt32) -> UInt64 {
        // Each step doubles the distance between halves until every nibble has a byte of its own.
        var nibbles = UInt64(word)
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        // 0x30 for a digit; 0x27 more for a letter, whose nibble carries into bit 4 when 6 is added.
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }

    @inline(__always)
    private static func digits(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
        var word: UInt64 = 0
        var wrong: UInt8 = 0
        for position in range {
            let value = values[Int(text[position])]
            wrong |= value
            word = word << 4 | UInt64(value & 15)
        }
        return wrong & 0x80 == 0 ? word : nil
    }

    /// The value of each byte as a lower-case hexadecimal digit; 0x80 for all others.
    private static let values: [UInt8] = (0...255).map { (byte: UInt8) in
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x61 + 10
        default: 0x80
        }
    }
}
