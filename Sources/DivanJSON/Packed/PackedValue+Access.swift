// SPDX-License-Identifier: Apache-2.0

extension PackedValue {
    /// The types of packed values, with the different kinds of numbers apart.
    public enum Kind: Sendable, Hashable {
        /// Null, or a value that is corrupt.
        case null
        /// True or false.
        case bool
        /// An integer within `Int64`.
        case integer
        /// An integer above `Int64.max`, within `UInt64`.
        case unsigned
        /// A number written with a point or an exponent.
        case double
        /// A number kept as digits.
        case number
        /// A text.
        case string
        /// An array.
        case array
        /// An object.
        case object
    }

    /// The type of the value.
    public var kind: Kind {
        withReader { reader, node in
            guard let node else { return .null }
            switch node.tag {
            case PackedTag.true, PackedTag.false: return .bool
            case PackedTag.double, 0xA0..<0xA6: return .double
            case PackedTag.number8, PackedTag.number32: return .number
            case 0x97: return reader.int64(node) == nil ? .unsigned : .integer
            case 0x40..<0x80, 0x90..<0xA0: return .integer
            case 0xC0..<0xE0: return .object
            case 0xE0...: return .array
            default: return node.isString ? .string : .null
            }
        }
    }

    /// Whether the value is null, or corrupt.
    public var isNull: Bool { kind == .null }

    /// The Boolean, or `nil` for anything else.
    public var bool: Bool? {
        withReader { _, node in
            switch node?.tag {
            case PackedTag.true: true
            case PackedTag.false: false
            default: nil
            }
        }
    }

    /// The integer, or `nil` for anything that is not written as one or does not fit.
    public var int64: Int64? {
        // SAFETY: the reader lives inside the closure.
        unsafe storage.withUnsafeBufferPointer { bytes in
            let reader = unsafe PackedReader(bytes)
            return offset > 1 || reader.hasVersion ? reader.int64(at: offset) : nil
        }
    }

    /// The integer above `Int64.max`, or `nil` for anything else.
    public var unsigned: UInt64? { withReader { reader, node in node.flatMap(reader.unsigned) } }

    /// The nearest `Double` of any number, or `nil` for anything else.
    public var double: Double? { withReader { reader, node in node.flatMap(reader.double) } }

    /// The number kept as digits, or `nil` for anything else.
    public var bigNumber: BigNumber? {
        withReader { reader, node in node.flatMap(reader.bigNumber) }
    }

    /// The text, or `nil` for anything else.
    public var string: String? { withReader { reader, node in node.flatMap(reader.string) } }

    /// A date written in ISO 8601, in milliseconds since 1970; `nil` when this is not such a text.
    public var millisecondsSince1970: Int64? { string.flatMap(ISO8601.parse) }

    /// The number of properties or elements; 0 for anything but an object or an array.
    public var count: Int { withReader { _, node in node?.count ?? 0 } }

    /// A property of an object; `nil` when there is none or this is no object.
    public subscript(key: String) -> PackedValue? {
        // A text that is not in one piece, as those of other languages may be, is copied.
        let found =
            unsafe key.utf8.withContiguousStorageIfAvailable { unsafe place(of: $0) }
            ?? Array(key.utf8).withUnsafeBufferPointer { unsafe place(of: $0) }
        return found < 0 ? nil : PackedValue(storage: storage, offset: found)
    }

    /// Where the value of a property begins; -1 when there is none or this is no object.
    @inline(__always)
    private func place(of key: UnsafeBufferPointer<UInt8>) -> Int {
        // SAFETY: the reader lives inside the closure, and the caller lends the key for that long.
        unsafe storage.withUnsafeBufferPointer { bytes in
            let reader = unsafe PackedReader(bytes)
            guard offset > 1 || reader.hasVersion else { return -1 }
            return unsafe reader.value(of: key, inObjectAt: offset)
        }
    }

    /// An element of an array; `nil` when the index is outside or this is no array.
    public subscript(index: Int) -> PackedValue? {
        withReader { reader, node in
            guard let node, let found = reader.element(index, of: node) else { return nil }
            return PackedValue(storage: storage, offset: found.offset)
        }
    }

    /// Calls a closure for each property of an object, in the order of keys.
    ///
    /// Stops at a corrupt property; does nothing for other values.
    public func forEachProperty(
        _ body: (_ key: String, _ value: PackedValue) throws -> Void
    ) rethrows {
        try withReader { reader, node in
            guard let node else { return }
            try reader.forEachProperty(of: node) { key, value in
                try body(
                    reader.string(key) ?? "",
                    PackedValue(storage: storage, offset: value.offset))
            }
        }
    }

    /// Calls a closure for each element of an array, in order.
    ///
    /// Stops at a corrupt element; does nothing for other values.
    public func forEachElement(_ body: (_ element: PackedValue) throws -> Void) rethrows {
        try withReader { reader, node in
            guard let node else { return }
            try reader.forEachElement(of: node) { element in
                try body(PackedValue(storage: storage, offset: element.offset))
            }
        }
    }

    /// The keys of an object, sorted by UTF-16 code unit; empty for other values.
    public var keys: [String] {
        var keys: [String] = []
        withReader { reader, node in
            guard let node else { return }
            reader.forEachProperty(of: node) { key, _ in keys.append(reader.string(key) ?? "") }
        }
        return keys
    }

    /// The value unpacked, with the keys of objects in sorted order.
    public func jsonValue() -> JSONValue {
        withReader { reader, node in node.map { reader.jsonValue($0) } ?? .null }
    }
}
