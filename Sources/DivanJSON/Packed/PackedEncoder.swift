// SPDX-License-Identifier: Apache-2.0

/// Packs values that are in memory.
///
/// It writes from the last byte to the first, so that the size of a container is known when its
/// head is written, and nothing is moved or measured twice. ``PackedTextParser`` packs text,
/// without values in between.
struct PackedEncoder: ~Copyable {
    private var sink = BackwardSink(capacity: 512)

    /// The packed form of a value, as a root.
    static func root(_ value: JSONValue) -> [UInt8] {
        var encoder = PackedEncoder()
        encoder.prepend(value)
        encoder.sink.prepend(PackedTag.version)
        // SAFETY: the bytes are copied.
        return unsafe encoder.sink.withBytes { unsafe Array($0) }
    }

    /// Appends a property as it stands inside an object: its key, then its value.
    mutating func append(_ key: String, _ value: JSONValue, to content: inout [UInt8]) {
        sink.removeAll()
        prepend(value)
        prepend(string: key)
        // SAFETY: the bytes are copied.
        unsafe sink.withBytes { unsafe content.append(contentsOf: $0) }
    }

    private mutating func prepend(_ value: JSONValue) {
        switch value {
        case .null: sink.prepend(PackedTag.null)
        case .bool(let value): sink.prepend(value ? PackedTag.true : PackedTag.false)
        case .integer(let value):
            if value < 0 {
                prepend(magnitude: UInt64(~value), tag: PackedTag.negative)
            } else {
                prepend(positive: UInt64(value))
            }
        case .unsigned(let value): prepend(positive: value)
        case .double(let value): prepend(value)
        case .number(let value):
            sink.prepend(value.text)
            let length = value.text.utf8.count
            prepend(length: length, tag8: PackedTag.number8, tag32: PackedTag.number32)
        case .string(let value): prepend(string: value)
        case .array(let elements): prepend(elements)
        case .object(let properties): prepend(properties)
        }
    }

    private mutating func prepend(positive value: UInt64) {
        if value <= PackedTag.largestSmallInteger {
            sink.prepend(PackedTag.smallInteger | UInt8(truncatingIfNeeded: value))
        } else {
            prepend(magnitude: value, tag: PackedTag.positive)
        }
    }

    private mutating func prepend(magnitude: UInt64, tag: UInt8) {
        let length = PackedTag.byteCount(magnitude)
        sink.prepend(fixed: magnitude, width: length)
        sink.prepend(tag + UInt8(length - 1))
    }

    private mutating func prepend(_ value: Double) {
        guard value.isFinite else {
            sink.prepend(PackedTag.null)
            return
        }
        guard let decimal = CompactDecimal(value) else {
            sink.prepend(fixed: value.bitPattern, width: 8)
            sink.prepend(PackedTag.double)
            return
        }
        let length = PackedTag.byteCount(decimal.mantissa)
        sink.prepend(fixed: decimal.mantissa, width: length)
        sink.prepend(decimal.packedExponent)
        sink.prepend(PackedTag.decimal + UInt8(length - 1))
    }

    private mutating func prepend(string: String) {
        sink.prepend(string)
        let length = string.utf8.count
        if length <= PackedTag.longestShortString {
            sink.prepend(UInt8(length))
        } else if length < 256 + PackedTag.string8Base {
            sink.prepend(UInt8(length - PackedTag.string8Base))
            sink.prepend(PackedTag.string8)
        } else if length <= 0xFFFF {
            sink.prepend(fixed: UInt64(length), width: 2)
            sink.prepend(PackedTag.string16)
        } else {
            sink.prepend(fixed: UInt64(length), width: 4)
            sink.prepend(PackedTag.string32)
        }
    }

    private mutating func prepend(length: Int, tag8: UInt8, tag32: UInt8) {
        sink.prepend(fixed: UInt64(length), width: length < 256 ? 1 : 4)
        sink.prepend(length < 256 ? tag8 : tag32)
    }

    private mutating func prepend(_ elements: [JSONValue]) {
        let end = sink.count
        var marks: [Int] = []
        for (index, element) in elements.enumerated().reversed() {
            prepend(element)
            if index % PackedTag.stride == 0 { marks.append(sink.count) }
        }
        finish(PackedTag.array, count: elements.count, contentEnd: end, marks: marks)
    }

    private mutating func prepend(_ properties: JSONObject) {
        let end = sink.count
        var marks: [Int] = []
        for (place, index) in properties.sortedIndices.enumerated().reversed() {
            prepend(properties.values[index])
            prepend(string: properties.keys[index])
            if place % PackedTag.stride == 0 { marks.append(sink.count) }
        }
        finish(PackedTag.object, count: properties.count, contentEnd: end, marks: marks)
    }

    /// Writes the offset table and head of a container whose content is written.
    ///
    /// The marks say where every sixteenth entry begins, the last one first, as `sink.count`.
    private mutating func finish(_ base: UInt8, count: Int, contentEnd: Int, marks: [Int]) {
        let content = sink.count - contentEnd
        precondition(content < Int32.max, "A packed value holds less than 2 GiB.")
        let head = PackedContainerHead(base: base, count: count, content: content)
        let start = sink.count
        // The first entry stands at offset 0, which needs no mark.
        for mark in marks.dropLast() {
            sink.prepend(fixed: UInt64(start - mark), width: head.width)
        }
        sink.prepend(fixed: UInt64(head.size), width: head.width)
        if head.hasCount { sink.prepend(fixed: UInt64(count), width: head.width) }
        sink.prepend(head.tag)
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
