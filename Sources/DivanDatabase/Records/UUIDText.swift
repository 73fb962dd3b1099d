// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// Canonical lower-case UUID text (8-4-4-4-12) to sixteen bytes and back.
///
/// Generated document IDs have this form; a revision row stores such an ID in 17 bytes, not 37. Both
/// directions are in the path of every insert.
enum UUIDText {
    static let length = 36

    /// The text for 128 bits.
    static func text(_ high: UInt64, _ low: UInt64) -> String { HexadecimalText.uuid(high, low) }

    /// Appends the text for 128 bits.
    static func append(_ high: UInt64, _ low: UInt64, to text: inout [UInt8]) {
        HexadecimalText.appendUUID(high, low, to: &text)
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
