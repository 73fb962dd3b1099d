// SPDX-License-Identifier: Apache-2.0

extension PackedReader {
    /// The integer of a node, if it is one that fits.
    @inline(__always)
    func int64(_ node: PackedNode) -> Int64? { int64(at: node.offset) }

    /// The integer of the value at an offset, if it is one that fits.
    @inline(__always)
    func int64(at offset: Int) -> Int64? {
        guard offset < count else { return nil }
        let tag = byte(at: offset)
        if tag & 0xC0 == PackedTag.smallInteger { return Int64(tag & 0x3F) }
        guard tag & 0xF0 == PackedTag.positive else { return nil }
        let width = Int(tag & 7) + 1
        guard width < count - offset else { return nil }
        guard let magnitude = Int64(exactly: fixed(at: offset + 1, width: width)) else {
            return nil
        }
        return tag & 8 == 0 ? magnitude : ~magnitude
    }

    /// The integer of a node beyond `Int64.max`.
    func unsigned(_ node: PackedNode) -> UInt64? {
        guard node.tag == 0x97 else { return nil }
        let value = fixed(at: node.start, width: 8)
        return value > UInt64(Int64.max) ? value : nil
    }

    /// The decimal of a node that is stored as one.
    @inline(__always)
    func decimal(_ node: PackedNode) -> CompactDecimal? {
        guard (0xA0..<0xA6).contains(node.tag) else { return nil }
        let second = byte(at: node.start)
        let exponent = Int(second & ~PackedTag.signBit) - PackedTag.exponentBias
        return CompactDecimal(
            storedMantissa: fixed(at: node.start + 1, width: node.length - 1),
            exponent: exponent, isNegative: second & PackedTag.signBit != 0)
    }

    /// The double of a node that was written with a point or an exponent.
    @inline(__always)
    func exactDouble(_ node: PackedNode) -> Double? {
        if node.tag == PackedTag.double {
            return Double(bitPattern: fixed(at: node.start, width: 8))
        }
        return decimal(node)?.double
    }

    /// The digits of a big number.
    func bigNumber(_ node: PackedNode) -> BigNumber? {
        guard node.tag == PackedTag.number8 || node.tag == PackedTag.number32 else { return nil }
        // SAFETY: the payload is copied while the reader lives.
        return unsafe BigNumber(String(decoding: payload(node), as: UTF8.self))
    }

    /// The nearest double of any number.
    @inline(__always)
    func double(_ node: PackedNode) -> Double? {
        if let value = int64(node) { return Double(value) }
        if let value = exactDouble(node) { return value }
        return unsigned(node).map { Double($0) } ?? bigNumber(node)?.double
    }

    /// The text of a string; bytes that are no UTF-8 become U+FFFD.
    @inline(__always)
    func string(_ node: PackedNode) -> String? {
        guard node.isString else { return nil }
        // SAFETY: the payload is copied while the reader lives.
        return unsafe String(decoding: payload(node), as: UTF8.self)
    }
}
