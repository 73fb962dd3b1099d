// SPDX-License-Identifier: Apache-2.0

/// The first byte of a packed value, which says its type and often its length or its value.
///
/// ```
///   00...3F   string of 0 to 63 bytes          90...97   integer, 1 to 8 bytes
///   40...7F   integer 0 to 63                  98...9F   negative integer, 1 to 8 bytes
///   80 81 82  null, false, true                A0...A5   decimal, mantissa of 1 to 6 bytes
///   83        double, 8 bytes                  C0...DF   object
///   84 85 86  string, length in 1, 2, 4 bytes  E0...FF   array
///   87 88     big number, length in 1, 4       others    never written
/// ```
///
/// `docs/internal/file-format/packed-values.md` describes every byte.
enum PackedTag {
    /// The first byte of a root: the version of this form.
    static let version: UInt8 = 1

    static let longestShortString = 0x3F
    static let smallInteger: UInt8 = 0x40
    static let largestSmallInteger: UInt64 = 0x3F
    static let null: UInt8 = 0x80
    static let `false`: UInt8 = 0x81
    static let `true`: UInt8 = 0x82
    static let double: UInt8 = 0x83
    static let string8: UInt8 = 0x84
    static let string16: UInt8 = 0x85
    static let string32: UInt8 = 0x86
    /// What the length byte of `string8` counts from: shorter strings have a tag of their own.
    static let string8Base = 64
    static let number8: UInt8 = 0x87
    static let number32: UInt8 = 0x88
    static let positive: UInt8 = 0x90
    static let negative: UInt8 = 0x98
    static let decimal: UInt8 = 0xA0
    static let object: UInt8 = 0xC0
    static let array: UInt8 = 0xE0

    /// Within a container's tag: this bit set, sizes take two bytes.
    static let wideBit: UInt8 = 0x10
    /// Within a container's tag: the count stands in bytes of its own.
    static let explicitCount: UInt8 = 0x0F
    /// Containers have an offset for every sixteenth entry after the first: a step is at most
    /// sixteen entries long, and the table costs at most a quarter byte for each.
    static let stride = 16

    /// The exponents' bias, and the bit for the sign, in the second byte of a decimal.
    static let exponentBias = 22
    static let signBit: UInt8 = 0x80

    /// How many entries the table of a container has.
    @inline(__always)
    static func tableCount(_ count: Int) -> Int { count == 0 ? 0 : (count - 1) / stride }

    /// What stands before a text of more bytes than a tag tells.
    static func head(ofTextOf length: Int) -> [UInt8] {
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
        }
        return if length < 256 + string8Base {
            [string8, UInt8(length - string8Base)]
        } else if length <= 0xFFFF {
            [string16] + bytes(2)
        } else {
            [string32] + bytes(4)
        }
    }

    /// How many bytes hold a magnitude, at least one.
    @inline(__always)
    static func byteCount(_ magnitude: UInt64) -> Int {
        max(1, (71 - magnitude.leadingZeroBitCount) / 8)
    }
}

/// The head of a container, chosen by its count and the size of its content.
struct PackedContainerHead {
    var tag: UInt8
    /// 0, 1, 2 or 4: how wide the size and the table's entries are.
    var width: Int
    /// Whether the count has `width` bytes of its own.
    var hasCount: Bool
    /// Offset table and content, in bytes.
    var size: Int

    /// The bytes before the table.
    @inline(__always)
    var length: Int { 1 + (hasCount ? 2 * width : width) }

    @inline(__always)
    init(base: UInt8, count: Int, content: Int) {
        let table = PackedTag.tableCount(count)
        if count == 0 {
            (tag, width, hasCount, size) = (base, 0, false, 0)
        } else if content + table <= 0xFF {
            hasCount = count > 14
            tag = base | (hasCount ? PackedTag.explicitCount : UInt8(truncatingIfNeeded: count))
            (width, size) = (1, content + table)
        } else if content + 2 * table <= 0xFFFF {
            hasCount = count > 14
            let low = hasCount ? PackedTag.explicitCount : UInt8(truncatingIfNeeded: count)
            tag = base | PackedTag.wideBit | low
            (width, size) = (2, content + 2 * table)
        } else {
            (tag, width, hasCount) = (base | PackedTag.wideBit, 4, true)
            size = content + 4 * table
        }
    }
}
