// SPDX-License-Identifier: Apache-2.0

/// Percent escapes of URLs, by RFC 3986.
///
/// ```swift
/// PercentEncoding.encode("a/b c")      // "a%2Fb%20c"
/// PercentEncoding.decode("a%2Fb%20c")  // "a/b c"
/// ```
package enum PercentEncoding {
    /// Encodes everything but letters, digits and `-._~`, so that the text can be a component of a path,
    /// or a name or value in a query.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.append(byte)
            default:
                encoded += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes escapes.
    ///
    /// - Parameters:
    ///   - text: The encoded text.
    ///   - plusIsSpace: Whether `+` means a space, as in forms and queries.
    /// - Returns: The text; `nil` where an escape is malformed or the bytes are not UTF-8.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        decode(Array(text.utf8)[...], plusIsSpace: plusIsSpace)
    }

    /// Decodes escapes in the bytes of a text. See `decode(_:plusIsSpace:)`.
    package static func decode(_ text: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String? {
        // Most names have none, and are ASCII.
        var all: UInt8 = 0
        var hasEscapes = false
        for byte in text {
            all |= byte
            hasEscapes = hasEscapes || byte == UInt8(ascii: "%")
            hasEscapes = hasEscapes || (plusIsSpace && byte == UInt8(ascii: "+"))
        }
        if !hasEscapes, all < 0x80 { return String(decoding: text, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(value), let low = rest.next().flatMap(value)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Writes names and values as a query or a form: `name=value&name=value`.
    package static func query(_ items: some Sequence<(name: String, value: String)>) -> String {
        items.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x37 + value
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
