// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What names the content of an attachment: the SHA-1 of its stored bytes.
///
///     in a body     sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=
///     on disk       aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d
///     in a row      the 20 bytes
///
/// The same content has the same key, so it is kept once. The key depends neither on the attachment's name nor on
/// the document.
package struct AttachmentKey: Hashable, Sendable {
    static let byteCount = 20
    static let prefix = "sha1-"

    private let high: UInt64
    private let middle: UInt64
    private let low: UInt32

    /// Makes a key of the first 20 bytes from an offset on; nil when there are fewer.
    package init?(_ bytes: Span<UInt8>, at offset: Int = 0) {
        guard offset >= 0, bytes.count - offset >= Self.byteCount else { return nil }
        func word(_ start: Int, _ count: Int) -> UInt64 {
            (0..<count).reduce(0) { $0 << 8 | UInt64(bytes[offset + start + $1]) }
        }
        high = word(0, 8)
        middle = word(8, 8)
        low = UInt32(truncatingIfNeeded: word(16, 4))
    }

    /// Reads the digest of a stub or a blob; nil for another algorithm or what is none at all.
    init?(digest: String) {
        guard let digits = digest.afterBytePrefix(Self.prefix),
            let bytes = Base64.decode(digits),
            bytes.count == Self.byteCount
        else { return nil }
        self.init(bytes.span)
    }

    /// Reads a file's name; nil for a name that is none of an attachment's.
    init?(fileName: String) {
        let digits = Array(fileName.utf8)
        guard digits.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in 0..<Self.byteCount {
            guard let left = Self.value(digits[2 * index]),
                let right = Self.value(digits[2 * index + 1])
            else { return nil }
            bytes.append(left << 4 | right)
        }
        self.init(bytes.span)
    }

    /// The 20 bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount + 8)
        bytes.append(bigEndian64: high)
        bytes.append(bigEndian64: middle)
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: low >> shift))
        }
        return bytes
    }

    /// The key as bodies have it.
    package var digest: String { Self.prefix + Base64.encode(bytes) }

    /// The name of the file with the content: 40 lower-case hexadecimal digits.
    package var fileName: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * Self.byteCount)
        for byte in bytes {
            for nibble in [byte >> 4, byte & 15] { digits.append(Self.digit(nibble)) }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? 0x30 + nibble : 0x57 + nibble
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }
}
