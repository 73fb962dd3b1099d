// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Bytes of JSON's grammar.
enum JSONByte {
    static let lineFeed = UInt8(ascii: "\n")
    static let comma = UInt8(ascii: ",")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")
}

/// JSON text under construction: what answers with many rows are written with, value by value.
///
/// It knows no grammar: who appends says where commas and braces stand.
struct JSONText: Sendable {
    var bytes: [UInt8] = []
    /// What a long document in it has reserved, until it is taken.
    var memory: MemoryReservation?

    /// Appends text as it is.
    mutating func raw(_ text: StaticString) {
        // SAFETY: a static string's bytes live as long as the process.
        unsafe bytes.append(
            contentsOf: UnsafeBufferPointer(
                start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a number.
    mutating func number(_ value: UInt64) { bytes.append(contentsOf: "\(value)".utf8) }

    /// Appends a text as a JSON string.
    mutating func string(_ text: String) {
        // IDs and revisions rarely hold anything to escape.
        guard Self.isPlain(text) else {
            JSONWriter.append(.string(text), to: &bytes)
            return
        }
        bytes.append(0x22)
        bytes.append(contentsOf: text.utf8)
        bytes.append(0x22)
    }

    /// Whether a text stands in JSON as it is.
    private static func isPlain(_ text: String) -> Bool {
        let text = text.utf8
        let bytes = text.span
        for index in bytes.indices {
            let byte = bytes[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { return false }
        }
        return true
    }

    /// Appends a value.
    mutating func value(_ value: JSONValue) { JSONWriter.append(value, to: &bytes) }

    /// Takes out what has been written, once it is a piece worth sending.
    mutating func take() -> [UInt8] {
        let taken = bytes
        bytes = []
        memory = nil
        return taken
    }
}
