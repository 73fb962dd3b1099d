// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// The header fields of a message, in order, with names that are compared without regard to case.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers["content-type"] = "application/json"     // replaces every field of this name
/// headers.add("Set-Cookie", "AuthSession=…")       // adds one more
/// headers["ACCEPT"]                                // "application/json"
/// ```
///
/// Carriage returns, line feeds and NUL in a value would begin a new field on the wire, so each becomes a
/// space; white space around a value is dropped. `description` hides the values of fields that carry
/// credentials, so headers may be logged.
package struct HTTPHeaders: Sendable {
    /// One header field.
    package struct Field: Sendable, Hashable {
        /// The name as it was written.
        @ByBytes package private(set) var name: String
        /// The value.
        @ByBytes package private(set) var value: String

        /// Makes a field; see ``HTTPHeaders`` for what becomes of the value.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = HTTPHeaders.cleaned(value)
        }
    }

    private var fields: [Field] = []

    /// Makes an empty list.
    package init() {}

    /// Makes a list of fields.
    package init(_ fields: some Sequence<(name: String, value: String)>) {
        for (name, value) in fields { add(name, value) }
    }

    /// The value of the first field of this name.
    ///
    /// Setting a value replaces all fields of this name, in the place of the first; setting `nil` removes them.
    package subscript(name: String) -> String? {
        get { fields.first { Self.isSame($0.name, name) }?.value }
        set {
            guard let place = fields.firstIndex(where: { Self.isSame($0.name, name) }) else {
                if let newValue { add(name, newValue) }
                return
            }
            fields.removeAll { Self.isSame($0.name, name) }
            if let newValue { fields.insert(Field(name, newValue), at: place) }
        }
    }

    /// The values of all fields of this name, in order.
    package func values(of name: String) -> [String] {
        fields.filter { Self.isSame($0.name, name) }.map(\.value)
    }

    /// Adds a field after those that are there.
    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name, value))
    }

    /// Sets every field of `others`, in the place of fields of the same names.
    package mutating func merge(_ others: HTTPHeaders) {
        for name in Set(others.fields.map { $0.name.lowercased() }) { self[name] = nil }
        fields += others.fields
    }

    /// Adds a field given as `Name: value`, as it stands in a message; `false` when it is none, or no UTF-8.
    ///
    /// A line that begins with white space continues the field before it. Bytes that are no UTF-8 are not replaced by
    /// others, or two values would become the same one: the whole field is left out.
    package mutating func add(line: some Collection<UInt8>) -> Bool {
        if let first = line.first, first == 0x20 || first == 0x09 {
            guard let last = fields.popLast(), let text = String(validating: line, as: UTF8.self)
            else { return false }
            fields.append(Field(last.name, "\(last.value) \(Field("", text).value)"))
            return true
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = String(validating: line[..<colon], as: UTF8.self), Self.isName(name),
            let value = String(validating: line[line.index(after: colon)...], as: UTF8.self)
        else { return false }
        add(name, value)
        return true
    }

    /// Whether a text can be the name of a field: a token, by RFC 9110.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Whether a byte may stand in a token.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    /// Whether two names are equal but for the case of ASCII letters.
    static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        let (leftBytes, rightBytes) = (left.span, right.span)
        for index in leftBytes.indices where lowered(leftBytes[index]) != lowered(rightBytes[index])
        {
            return false
        }
        return true
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte + 0x20 : byte
    }

    private static func cleaned(_ value: String) -> String {
        guard !isClean(value) else { return value }
        let bytes = value.utf8
        guard let first = bytes.firstIndex(where: { !isWhite($0) }),
            let last = bytes.lastIndex(where: { !isWhite($0) })
        else { return "" }
        let kept = value[first...last]
        guard kept.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
            return String(kept)
        }
        let spaced = kept.utf8.map { $0 == 0x0D || $0 == 0x0A || $0 == 0 ? 0x20 : $0 }
        return String(decoding: spaced, as: UTF8.self)
    }

    /// Whether a value may stay as it is, as nearly all may.
    private static func isClean(_ value: String) -> Bool {
        let value = value.utf8
        let bytes = value.span
        guard !bytes.isEmpty else { return true }
        guard !isWhite(bytes[0]), !isWhite(bytes[bytes.count - 1]) else { return false }
        for index in bytes.indices where bytes[index] < 0x20 {
            let byte = bytes[index]
            if byte == 0x0D || byte == 0x0A || byte == 0 { return false }
        }
        return true
    }

    private static func isWhite(_ byte: UInt8) -> Bool {
        byte <= 0x20 && byte != 0x0B && byte != 0x0C
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The place of the first field.
    package var startIndex: Int { 0 }
    /// The place after the last field.
    package var endIndex: Int { fields.count }

    /// The field at a place.
    package subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Makes a list of fields from names and values.
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(name, value) }
    }
}

extension HTTPHeaders: Hashable {
    /// Whether two lists hold the same fields in the same order; the case of names does not count.
    package static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy {
                isSame($0.name, $1.name) && $0.value.hasSameBytes(as: $1.value)
            }
    }

    /// Hashes what counts for equality.
    package func hash(into hasher: inout Hasher) {
        for field in fields {
            hasher.combine(field.name.lowercased())
            hasher.combine(field.value)
        }
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// The names of fields whose values are secrets.
    static let secretNames: NameSet = [
        "authorization", "cookie", "set-cookie", "proxy-authorization", "x-auth-couchdb-token",
    ]

    /// One `Name: value` a line, without credentials.
    package var description: String {
        fields.map { field in
            let isSecret = Self.secretNames.contains(field.name.lowercased())
            return "\(field.name): \(isSecret ? "(hidden)" : field.value)"
        }.joined(separator: "\n")
    }
}
