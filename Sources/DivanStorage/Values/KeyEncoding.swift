// SPDX-License-Identifier: Apache-2.0

/// Byte strings whose bytewise order is the order of what they encode.
///
/// Keys made of several parts are the parts' encodings one after the other; each part ends itself,
/// so the order is by the first part, then the second, and so on.
///
///      part                   bytes
///      unsigned 32 or 64 bit  4 or 8, big-endian
///      signed 64 bit          8, big-endian, the sign bit inverted
///      byte string            its bytes, 00 as 00 FF; then 00 01
public enum KeyEncoding {
    /// Appends an unsigned 64-bit number, 8 bytes.
    public static func append(_ number: UInt64, to key: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    /// Appends an unsigned 32-bit number, 4 bytes.
    public static func append(_ number: UInt32, to key: inout [UInt8]) {
        for shift in stride(from: 24, through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: number >> UInt32(shift)))
        }
    }

    /// Appends a signed 64-bit number, 8 bytes.
    public static func append(_ number: Int64, to key: inout [UInt8]) {
        append(UInt64(bitPattern: number) ^ 1 << 63, to: &key)
    }

    /// Appends a byte string that another part may follow.
    public static func append(terminated bytes: Span<UInt8>, to key: inout [UInt8]) {
        for position in bytes.indices {
            key.append(bytes[position])
            if bytes[position] == 0 {
                key.append(0xFF)
            }
        }
        key.append(0)
        key.append(1)
    }

    /// Reads an unsigned 64-bit number and moves `offset` past it; `nil` when the key ends before.
    public static func uint64(in key: Span<UInt8>, at offset: inout Int) -> UInt64? {
        guard offset >= 0, key.count - offset >= 8 else {
            return nil
        }
        var number: UInt64 = 0
        for position in offset..<(offset + 8) {
            number = number << 8 | UInt64(key[position])
        }
        offset += 8
        return number
    }

    /// Reads an unsigned 32-bit number and moves `offset` past it; `nil` when the key ends before.
    public static func uint32(in key: Span<UInt8>, at offset: inout Int) -> UInt32? {
        guard offset >= 0, key.count - offset >= 4 else {
            return nil
        }
        var number: UInt32 = 0
        for position in offset..<(offset + 4) {
            number = number << 8 | UInt32(key[position])
        }
        offset += 4
        return number
    }

    /// Reads a signed 64-bit number and moves `offset` past it; `nil` when the key ends before.
    public static func int64(in key: Span<UInt8>, at offset: inout Int) -> Int64? {
        uint64(in: key, at: &offset).map { Int64(bitPattern: $0 ^ 1 << 63) }
    }

    /// Reads a terminated byte string and moves `offset` past it; `nil` when it is malformed.
    public static func terminated(in key: Span<UInt8>, at offset: inout Int) -> [UInt8]? {
        guard offset >= 0 else {
            return nil
        }
        var bytes: [UInt8] = []
        var position = offset
        while position < key.count {
            let byte = key[position]
            position += 1
            if byte != 0 {
                bytes.append(byte)
                continue
            }
            guard position < key.count else {
                return nil
            }
            let escape = key[position]
            position += 1
            switch escape {
            case 0xFF:
                bytes.append(0)
            case 1:
                offset = position
                return bytes
            default:
                return nil
            }
        }
        return nil
    }

    /// Returns the least byte string above every one that begins with `prefix`; `nil` when there is
    /// none, which is when `prefix` is all FF or empty.
    public static func successor(ofPrefix prefix: Span<UInt8>) -> [UInt8]? {
        var end = prefix.count
        while end > 0, prefix[end - 1] == 0xFF {
            end -= 1
        }
        guard end > 0 else {
            return nil
        }
        var successor = [UInt8](copying: prefix.extracting(0..<end))
        successor[end - 1] += 1
        return successor
    }

    /// Returns bytes as lower-case hexadecimal digits, for messages.
    public static func hexadecimal(_ bytes: Span<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for position in bytes.indices {
            text.append(digits[Int(bytes[position] >> 4)])
            text.append(digits[Int(bytes[position] & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension Array where Element == UInt8 {
    /// Makes an array of lent bytes.
    @inlinable
    package init(copying span: Span<UInt8>) {
        // SAFETY: the bytes are initialised and copied before the span's lending ends.
        self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
