// SPDX-License-Identifier: Apache-2.0

// Texts are scanned eight bytes at a time: a row's key ends each text with a zero, and nearly every text
// is ASCII, whose sequences need no check.

extension Span<UInt8> {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    private func word(at offset: Int) -> UInt64 {
        // SAFETY: the callers stay eight bytes before the end.
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
    }

    /// Where the first zero at or after an offset stands; the count of the bytes when there is none.
    package func firstZero(from offset: Int) -> Int {
        var index = offset
        while index + 8 <= count {
            let word = word(at: index)
            // The lowest of these bits is that of the first zero; only bits above it may be wrong.
            let zeros = (word &- Self.ones) & ~word & Self.highBits
            if zeros != 0 { return index + zeros.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count, self[index] != 0 { index += 1 }
        return index
    }

    /// Where the first quote or backslash at or after an offset stands; the count of the bytes when there is none.
    package func firstQuoteOrBackslash(from offset: Int) -> Int {
        var index = offset
        while index + 8 <= count {
            let quotes = word(at: index) ^ (Self.ones &* 0x22)
            let backslashes = word(at: index) ^ (Self.ones &* 0x5C)
            // As above, for each of the two.
            let found =
                ((quotes &- Self.ones) & ~quotes | (backslashes &- Self.ones) & ~backslashes)
                & Self.highBits
            if found != 0 { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count, self[index] != 0x22, self[index] != 0x5C { index += 1 }
        return index
    }

    /// Whether all bytes are ASCII.
    package var isASCII: Bool {
        var index = 0
        var bits: UInt64 = 0
        while index + 8 <= count {
            bits |= word(at: index)
            index += 8
        }
        while index < count {
            bits |= UInt64(self[index])
            index += 1
        }
        return bits & Self.highBits == 0
    }
}

extension String {
    /// The text of bytes, or nil when they are not UTF-8.
    package init?(validUTF8 bytes: Span<UInt8>) {
        // SAFETY: the bytes are copied before the closure returns.
        let text = unsafe bytes.withUnsafeBufferPointer { buffer in
            // Decoding repairs invalid bytes, and ASCII has none; it is several times as fast.
            bytes.isASCII
                ? unsafe String(decoding: buffer, as: UTF8.self)
                : unsafe String(validating: buffer, as: UTF8.self)
        }
        guard let text else { return nil }
        self = text
    }
}
