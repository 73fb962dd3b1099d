// SPDX-License-Identifier: Apache-2.0

/// Packs values that are in memory.
///
/// It writes from the last byte to the first, so that the size of a container is known when its
/// head is written, and nothing is moved or measured twice; in the end the bytes are turned around.
/// Text is packed by ``PackedTextParser``, without values in between.
struct PackedEncoder {
    /// The packed bytes, last one first.
    private var reversed: [UInt8] = []

    /// The packed form of a value, as a root.
    static func root(_ value: JSONValue) -> [UInt8] {
        var encoder = PackedEncoder()
        encoder.append(value)
        encoder.reversed.append(PackedTag.version)
        encoder.reversed.reverse()
        return encoder.reversed
    }

    private mutating func append(_ value: JSONValue) {
        switch value {
        case .null: reversed.append(PackedTag.null)
        case .bool(let value): reversed.append(value ? PackedTag.true : PackedTag.false)
        case .integer(let value):
            if value < 0 {
                append(magnitude: UInt64(~value), tag: PackedTag.negative)
            } else {
                append(positive: UInt64(value))
            }
        case .unsigned(let value): append(positive: value)
        case .double(let value): append(value)
        case .number(let value):
            append(text: value.text)
            let length = value.text.utf8.count
            append(length: length, tag8: PackedTag.number8, tag32: PackedTag.number32)
        case .string(let value): append(string: value)
        case .array(let elements): append(elements)
        case .object(let properties): append(properties)
        }
    }

    private mutating func append(positive value: UInt64) {
        if value <= PackedTag.largestSmallInteger {
            reversed.append(PackedTag.smallInteger | UInt8(truncatingIfNeeded: value))
        } else {
            append(magnitude: value, tag: PackedTag.positive)
        }
    }

    private mutating func append(magnitude: UInt64, tag: UInt8) {
        let length = PackedTag.byteCount(magnitude)
        append(fixed: magnitude, width: length)
        reversed.append(tag + UInt8(length - 1))
    }

    private mutating func append(_ value: Double) {
        guard value.isFinite else {
            reversed.append(PackedTag.null)
            return
        }
        guard let decimal = CompactDecimal(value) else {
            append(fixed: value.bitPattern, width: 8)
            reversed.append(PackedTag.double)
            return
        }
        let length = PackedTag.byteCount(decimal.mantissa)
        append(fixed: decimal.mantissa, width: length)
        reversed.append(decimal.packedExponent)
        reversed.append(PackedTag.decimal + UInt8(length - 1))
    }

    private mutating func append(string: String) {
        append(text: string)
        let length = string.utf8.count
        if length <= PackedTag.longestShortString {
            reversed.append(UInt8(length))
        } else if length < 256 + PackedTag.string8Base {
            reversed.append(UInt8(length - PackedTag.string8Base))
            reversed.append(PackedTag.string8)
        } else if length <= 0xFFFF {
            append(fixed: UInt64(length), width: 2)
            reversed.append(PackedTag.string16)
        } else {
            append(fixed: UInt64(length), width: 4)
            reversed.append(PackedTag.string32)
        }
    }

    private mutating func append(text: String) {
        reversed.append(contentsOf: text.utf8.reversed())
    }

    private mutating func append(length: Int, tag8: UInt8, tag32: UInt8) {
        append(fixed: UInt64(length), width: length < 256 ? 1 : 4)
        reversed.append(length < 256 ? tag8 : tag32)
    }

    /// Appends a little-endian number.
    private mutating func append(fixed value: UInt64, width: Int) {
        for index in (0..<width).reversed() {
            reversed.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
        }
    }

    private mutating func append(_ elements: [JSONValue]) {
        let end = reversed.count
        var marks: [Int] = []
        for (index, element) in elements.enumerated().reversed() {
            append(element)
            if index % PackedTag.stride == 0 { marks.append(reversed.count) }
        }
        finish(PackedTag.array, count: elements.count, contentEnd: end, marks: marks)
    }

    private mutating func append(_ properties: JSONObject) {
        let end = reversed.count
        var marks: [Int] = []
        for (place, index) in properties.sortedIndices.enumerated().reversed() {
            append(properties.values[index])
            append(string: properties.keys[index])
            if place % PackedTag.stride == 0 { marks.append(reversed.count) }
        }
        finish(PackedTag.object, count: properties.count, contentEnd: end, marks: marks)
    }

    /// Appends the offset table and head of a container whose content is written.
    ///
    /// The marks say where every sixteenth entry begins, the last one first, as `reversed.count`.
    private mutating func finish(_ base: UInt8, count: Int, contentEnd: Int, marks: [Int]) {
        let content = reversed.count - contentEnd
        precondition(content < Int32.max, "A packed value holds less than 2 GiB.")
        let head = PackedContainerHead(base: base, count: count, content: content)
        let start = reversed.count
        // The first entry stands at offset 0, which needs no mark.
        for mark in marks.dropLast() {
            append(fixed: UInt64(start - mark), width: head.width)
        }
        append(fixed: UInt64(head.size), width: head.width)
        if head.hasCount { append(fixed: UInt64(count), width: head.width) }
        reversed.append(head.tag)
    }
}

extension CompactDecimal {
    /// The exponent and sign as one byte.
    @inline(__always)
    var packedExponent: UInt8 {
        UInt8(truncatingIfNeeded: exponent + PackedTag.exponentBias)
            | (isNegative ? PackedTag.signBit : 0)
    }
}
