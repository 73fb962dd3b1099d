// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// A header value with parameters, such as `multipart/related; boundary="a b"`.
///
/// ```swift
/// let type = HeaderParameters("multipart/related; boundary=\"a b\"")
/// type.value                   // "multipart/related"
/// type["boundary"]             // "a b"
/// ```
///
/// The value and the names of parameters are in lower case, parameters as they were written. Quoted
/// parameters may hold `;` and escaped quotes. `name*=UTF-8''…` (RFC 5987) is decoded, and goes before a
/// plain `name=`. What cannot be read is passed over, as browsers do.
package struct HeaderParameters: Sendable, Hashable {
    /// What stands before the first semicolon, in lower case.
    package let value: String
    private var parameters: NameMap<String> = [:]

    /// Reads a header value.
    package init(_ text: String) {
        var parts = Self.split(text).makeIterator()
        value = Self.trimmed(parts.next() ?? [])
            .lowercased()
        while let part = parts.next() {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = Self.trimmed(part[..<equals]).lowercased()
            let text = Self.unquoted(Self.trimmed(part[(equals + 1)...]))
            if let plain = name.beforeByteSuffix("*"), let decoded = Self.extended(text) {
                parameters[plain] = decoded
            } else if parameters[name] == nil {
                parameters[name] = text
            }
        }
    }

    /// The value of a parameter, by its name in lower case.
    package subscript(name: String) -> String? { parameters[name] }

    /// Splits at semicolons outside quotes.
    private static func split(_ text: String) -> [ArraySlice<UInt8>] {
        let bytes = Array(text.utf8)
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        var isQuoted = false
        var position = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted: position += 1
            case UInt8(ascii: ";") where !isQuoted:
                parts.append(bytes[start..<position])
                start = position + 1
            default: break
            }
            position += 1
        }
        parts.append(bytes[start...])
        return parts
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        let isWhite: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = bytes.firstIndex(where: { !isWhite($0) }),
            let last = bytes.lastIndex(where: { !isWhite($0) })
        else { return "" }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }

    private static func unquoted(_ text: String) -> String {
        // By bytes: a combining mark after the quote makes one character with it.
        let quote = UInt8(ascii: "\"")
        guard text.utf8.count >= 2, text.utf8.first == quote, text.utf8.last == quote else {
            return text
        }
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8.dropFirst().dropLast() {
            if !isEscaped && byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                bytes.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes `UTF-8'language'percent-encoded`.
    private static func extended(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return PercentEncoding.decode(parts[2])
    }
}

extension HeaderParameters {
    /// The `Content-Disposition` of an attachment in a multipart body.
    ///
    /// A name with control characters cannot stand in a header. Then none does, and the place of the part
    /// among the others tells whose it is, as it does for CouchDB in any case.
    package static func disposition(ofAttachment name: String) -> String {
        name.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            ? "attachment" : "attachment; filename=\(quoted(name))"
    }

    /// Writes a text as a quoted string, for a header value.
    package static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\r", "\n", "\0": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
