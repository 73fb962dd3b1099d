// SPDX-License-Identifier: Apache-2.0

internal import CChecksum

/// The checksum that ends every stored value.
///
///      offset      size  meaning
///      0           n     the value as it was set
///      n           4     CRC-32C of store name, key, value; little-endian
///
/// An integer key counts as its 8 bytes in big-endian order. Name and key are covered so that a
/// value which a damaged page hands out under another key, or for another store, is refused too.
package enum ValueChecksum {
    /// The bytes a checksum takes.
    package static let size = 4

    /// The checksum of a store's name, from which those of its values continue.
    package static func seed(of name: StoreName) -> UInt32 {
        let bytes = Array(name.name.utf8)
        return continued(0, over: bytes.span)
    }

    /// Continues a checksum over a byte-string key.
    @inline(__always)
    package static func seed(_ seed: UInt32, key: Span<UInt8>) -> UInt32 {
        continued(seed, over: key)
    }

    /// Continues a checksum over an integer key.
    @inline(__always)
    package static func seed(_ seed: UInt32, key: Int64) -> UInt32 {
        var bigEndian = key.bigEndian
        // SAFETY: the pointer to the 8 bytes of the local variable is used inside the call only.
        return unsafe withUnsafeBytes(of: &bigEndian) { bytes in
            unsafe divan_crc32c(seed, bytes.baseAddress, bytes.count)
        }
    }

    /// Continues a checksum over any bytes.
    @inline(__always)
    package static func continued(_ checksum: UInt32, over bytes: Span<UInt8>) -> UInt32 {
        // SAFETY: the span lends its bytes for the length of the call, which reads `count` of them.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe divan_crc32c(checksum, buffer.baseAddress, buffer.count)
        }
    }

    /// Returns the length of the value inside `stored`, or `nil` when the checksum does not match.
    ///
    /// - Parameters:
    ///   - stored: A value with its checksum.
    ///   - keyed: The checksum of store name and key.
    /// - Returns: The length, or `nil`.
    @inline(__always)
    package static func verifiedLength(of stored: Span<UInt8>, keyed: UInt32) -> Int? {
        let length = stored.count - size
        guard length >= 0 else {
            return nil
        }
        let value = stored.extracting(0..<length)
        let expected =
            UInt32(stored[length]) | UInt32(stored[length + 1]) << 8
            | UInt32(stored[length + 2]) << 16 | UInt32(stored[length + 3]) << 24
        return continued(keyed, over: value) == expected ? length : nil
    }
}
