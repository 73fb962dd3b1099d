// SPDX-License-Identifier: Apache-2.0

/// Looks at one property of borrowed packed bytes, for scans over many documents.
///
/// Nothing is allocated, retained or copied. The bytes are those of a root that is an object.
extension PackedValue {
    /// The integer of a property; `nil` when it is absent, no integer, or too large.
    public static func int64(in packed: Span<UInt8>, key: String) -> Int64? {
        withProperty(key, in: packed) { reader, node in reader.int64(node) }
    }

    /// The nearest double of a property that is any number; `nil` otherwise.
    public static func double(in packed: Span<UInt8>, key: String) -> Double? {
        withProperty(key, in: packed) { reader, node in reader.double(node) }
    }

    /// The Boolean of a property; `nil` when it is absent or something else.
    public static func bool(in packed: Span<UInt8>, key: String) -> Bool? {
        withProperty(key, in: packed) { _, node in
            switch node.tag {
            case PackedTag.true: true
            case PackedTag.false: false
            default: nil
            }
        }
    }

    /// Whether a property is a text with exactly these bytes.
    public static func equals(in packed: Span<UInt8>, key: String, _ text: String) -> Bool {
        withProperty(key, in: packed) { reader, node in
            guard node.isString, node.length == text.utf8.count else { return false }
            var text = text
            // SAFETY: the bytes are compared within the closure.
            return text.withUTF8 { unsafe reader.isEqual(node, $0) }
        } ?? false
    }

    /// Lends the UTF-8 bytes of a property that is a text.
    ///
    /// - Returns: Whether there was one; if not, the closure was not called.
    public static func withString(
        in packed: Span<UInt8>, key: String, _ body: (Span<UInt8>) -> Void
    ) -> Bool {
        withProperty(key, in: packed) { reader, node in
            guard node.isString else { return false }
            // SAFETY: the payload is borrowed while the closure runs.
            unsafe body(reader.payload(node).span)
            return true
        } ?? false
    }

    /// A copy of a property as a packed value of its own; `nil` when it is absent.
    public static func value(in packed: Span<UInt8>, key: String) -> PackedValue? {
        withProperty(key, in: packed) { reader, node in
            let start = node.offset
            var bytes: [UInt8] = [PackedTag.version]
            bytes.reserveCapacity(node.end - start + 1)
            for index in start..<node.end { bytes.append(reader.byte(at: index)) }
            return PackedValue(bytes: bytes)
        }
    }

    @inline(__always)
    private static func withProperty<R>(
        _ key: String, in packed: Span<UInt8>, _ body: (PackedReader, PackedNode) -> R?
    ) -> R? {
        // SAFETY: the reader and the key's bytes are used within these closures.
        unsafe packed.withUnsafeBufferPointer { buffer in
            let reader = unsafe PackedReader(buffer)
            guard let root = reader.root else { return nil }
            var key = key
            return key.withUTF8 { name in
                guard let node = unsafe reader.property(name, of: root) else { return nil }
                return body(reader, node)
            }
        }
    }
}
