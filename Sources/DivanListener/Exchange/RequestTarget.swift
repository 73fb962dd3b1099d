// SPDX-License-Identifier: Apache-2.0

/// What a request's target names: the components of its path, and its query.
///
/// ```swift
/// let target = try RequestTarget("/notes/a%2Fb?rev=1-x")
/// target.components      // ["notes", "a/b"]
/// ```
///
/// The path is split at its slashes before anything is decoded, so an encoded slash belongs to the
/// name that it stands in. Empty components count for nothing: `/db/` is `/db`. A plus sign in the
/// path is a plus sign, in the query a space.
package struct RequestTarget: Sendable, Equatable {
    /// The decoded components of the path.
    package var components: [String]
    /// The query.
    package var query: QueryParameters

    /// Decodes a target, also one in absolute form (`http://host/path`).
    ///
    /// - Throws: `HTTPFailure` 400 when an escape is malformed or does not decode to UTF-8.
    package init(_ raw: String) throws {
        var rest = Substring(raw)
        if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
        for scheme in ["http://", "https://"] where rest.hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
            rest = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        let mark = rest.firstIndex(of: "?")
        let path = mark.map { rest[..<$0] } ?? rest
        components = try path.split(separator: "/").map {
            guard let name = PercentCoding.decode($0, plusIsSpace: false) else {
                throw HTTPFailure.badRequest("The path is not encoded as a URL's.")
            }
            return name
        }
        query = try QueryParameters(mark.map { rest[rest.index(after: $0)...] } ?? "")
    }
}

/// Percent escapes, by RFC 3986.
package enum PercentCoding {
    /// Decodes escapes; nil where one is malformed or the bytes are no UTF-8, or contain NUL.
    package static func decode(_ text: Substring, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Encodes everything but letters, digits and `-._~`, as a component of a path.
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return encoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
