// SPDX-License-Identifier: Apache-2.0

// Bytes in bulk. With `HexadecimalText.swift` this is the module's fence: no other file has an
// unsafe expression.

extension Span<UInt8> {
    /// Returns the eight bytes at `offset` as a big-endian number, or `nil` beyond the end.
    @inline(__always)
    func bigEndianWord(at offset: Int) -> UInt64? {
        guard offset >= 0, offset <= count - 8 else { return nil }
        // SAFETY: the guard above keeps all eight bytes inside the span.
        return unsafe withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            return unsafe UInt64(
                bigEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
    }
}

extension [UInt8] {
    /// Appends the eight bytes of `high` and the eight of `low`, the highest of each first.
    @inline(__always)
    package mutating func appendBigEndian(_ high: UInt64, _ low: UInt64) {
        // SAFETY: the buffer lives for the call, and its bytes are copied.
        unsafe Swift.withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) {
            unsafe append(contentsOf: $0)
        }
    }
}

extension String {
    /// Copies bytes of UTF-8; what is none becomes U+FFFD.
    init(copying utf8: Span<UInt8>) {
        // SAFETY: the buffer lives for the call, and its bytes are copied.
        self = unsafe utf8.withUnsafeBufferPointer {
            unsafe String(decoding: $0, as: UTF8.self)
        }
    }

    /// Calls `body` with the bytes of the text, which are copied only if they are not at hand.
    @inline(__always)
    func withUTF8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // SAFETY: the buffer lives for the call; callers compare, hash or copy its bytes.
        let result = unsafe utf8.withContiguousStorageIfAvailable {
            unsafe body(UnsafeRawBufferPointer($0))
        }
        if let result { return result }
        return unsafe Array(utf8).withUnsafeBytes { unsafe body($0) }
    }

    /// Whether both texts have the same bytes, which is stricter than `==`.
    func hasSameBytes(as other: String) -> Bool {
        unsafe withUTF8Bytes { left in
            unsafe other.withUTF8Bytes { right in
                guard left.count == right.count else { return false }
                // SAFETY: both indices are below the common count.
                for index in 0..<left.count where unsafe left[index] != right[index] {
                    return false
                }
                return true
            }
        }
    }

    /// Whether the UTF-8 of the string stands before that of another, a shorter one first.
    func precedesBytes(of other: String) -> Bool {
        unsafe withUTF8Bytes { left in
            unsafe other.withUTF8Bytes { right in
                // SAFETY: the index is below both counts.
                for index in 0..<min(left.count, right.count)
                where unsafe left[index] != right[index] {
                    return unsafe left[index] < right[index]
                }
                return left.count < right.count
            }
        }
    }

    /// Whether the text contains the character NUL.
    var containsNUL: Bool {
        unsafe withUTF8Bytes { bytes in
            // Eight bytes at a time: x - 1 borrows into a byte's top bit where that byte was 0, and
            // `& ~x` leaves that bit out where it was set before.
            var offset = 0
            while offset + 8 <= bytes.count {
                // SAFETY: eight bytes are left.
                let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 {
                    return true
                }
                offset += 8
            }
            // SAFETY: the range ends with the bytes.
            return unsafe bytes[offset...].contains(0)
        }
    }

    /// Feeds the bytes of the text to `hasher`, with an end mark that no UTF-8 contains, so that
    /// texts hashed one after the other cannot run together.
    func hashBytes(into hasher: inout Hasher) {
        // SAFETY: the hasher reads the buffer during the call.
        unsafe withUTF8Bytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(UInt8(0xff))
    }
}
