// SPDX-License-Identifier: Apache-2.0

/// Bytes as text, in the base64 of RFC 4648 with its standard alphabet and padding.
///
/// ```swift
/// Base64.encode([1, 2, 3, 4])        // "AQIDBA=="
/// Base64.decode("AQIDBA==")          // [1, 2, 3, 4]
/// ```
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// The value of each character, 0xFF for those outside of the alphabet.
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    /// The base64 text of bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the base64 text of bytes.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        var place = text.count
        // Where nothing else stands, it is padding.
        text.append(contentsOf: repeatElement(0x3D, count: (bytes.count + 2) / 3 * 4))
        let (bytes, alphabet) = (bytes.span, alphabet)
        let characters = alphabet.span
        var characterPlaces = text.mutableSpan
        var index = 0
        while index + 3 <= bytes.count {
            let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
            characterPlaces[place] = characters[group >> 18]
            characterPlaces[place + 1] = characters[group >> 12 & 63]
            characterPlaces[place + 2] = characters[group >> 6 & 63]
            characterPlaces[place + 3] = characters[group & 63]
            index += 3
            place += 4
        }
        guard index < bytes.count else { return }
        let isPair = index + 1 < bytes.count
        let group = Int(bytes[index]) << 16 | (isPair ? Int(bytes[index + 1]) << 8 : 0)
        characterPlaces[place] = characters[group >> 18]
        characterPlaces[place + 1] = characters[group >> 12 & 63]
        if isPair { characterPlaces[place + 2] = characters[group >> 6 & 63] }
    }

    /// The bytes of a base64 text; `nil` if it is none.
    ///
    /// Padding, line breaks and leftover bits are taken strictly: the text must be just what
    /// ``encode(_:)`` writes.
    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8).span) }

    /// The bytes of a base64 text in UTF-8; `nil` if it is none.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var padding = 0
        while padding < min(2, text.count), text[text.count - 1 - padding] == 0x3D { padding += 1 }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 - padding)
        let table = values
        let values = table.span
        var places = bytes.mutableSpan
        /// The bits of all values: the highest one is set by what is no character.
        var seen: UInt8 = 0
        var (index, place) = (0, 0)
        while index < text.count - (padding > 0 ? 4 : 0) {
            let (first, second) = (values[Int(text[index])], values[Int(text[index + 1])])
            let (third, fourth) = (values[Int(text[index + 2])], values[Int(text[index + 3])])
            seen |= first | second | third | fourth
            places[place] = first << 2 | second >> 4
            places[place + 1] = second << 4 | third >> 2
            places[place + 2] = third << 6 | fourth
            index += 4
            place += 3
        }
        if padding > 0 {
            let (first, second) = (values[Int(text[index])], values[Int(text[index + 1])])
            let third = padding == 1 ? values[Int(text[index + 2])] : 0
            seen |= first | second | third
            places[place] = first << 2 | second >> 4
            if padding == 1 { places[place + 1] = second << 4 | third >> 2 }
            guard (padding == 1 ? third & 0x03 : second & 0x0F) == 0 else { return nil }
        }
        return seen < 64 ? bytes : nil
    }
}

extension PackedValue {
    /// The bytes whose base64 this text is; `nil` for anything else.
    package var base64Bytes: [UInt8]? {
        withReader { reader, node in
            guard let node, node.isString else { return nil }
            // SAFETY: the span ends before the closure that the bytes are lent to does.
            return unsafe Base64.decode(reader.payload(node).span)
        }
    }
}
