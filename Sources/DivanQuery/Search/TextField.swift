// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// The names of fields in a text index of `_find`.
///
///     {"a": {"b.c": 1}, "tags": ["x"]}
///
///     a.b\.c:number          the value
///     tags.[]:string         an element
///     tags.[]:length         the length
///     a:any  a.b\.c:any …    that it is there, as a text in ``names``
package enum TextField {
    /// What a field has.
    package enum Kind: String, Sendable {
        case string, number, boolean, null
        /// The length of an array.
        case length
        /// Anything at all.
        case any

        /// Those that a definition may name.
        static let declared: [Kind] = [.string, .number, .boolean]
    }

    /// The field in which words of all texts are.
    package static let all = "$default"
    /// The field in which the names of a document's fields are.
    package static let names = "$fieldnames"
    /// An element of an array, in the path to it.
    package static let element = "[]"

    /// The name of a field.
    ///
    /// - Parameters:
    ///   - path: The way to the value.
    ///   - kind: What it is.
    /// - Returns: The name, which is that of no other path.
    package static func name(_ path: [String], _ kind: Kind) -> String {
        name(path.map(escaped).joined(separator: "."), kind)
    }

    /// The name of a field by its path as one text, of escaped names.
    ///
    /// Of a long path it has a digest, since names stand in many rows. No other path has the backslash before it.
    static func name(_ path: String, _ kind: Kind) -> String {
        guard path.utf8.count > longestPath else { return path + ":" + kind.rawValue }
        let hasher = OpenSSLDigest.shared.makeHasher(.sha256)
        let bytes = Array(path.utf8)
        hasher.update(bytes.span)
        let digest = hasher.finish().map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        return "\\#" + digest + ":" + kind.rawValue
    }

    /// The most bytes of a path in a name.
    private static let longestPath = 512

    /// A name on the way to a value, in which a dot does not part names.
    static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "\\") })
        else { return name }
        return name.unicodeScalars.reduce(into: "") { escaped, scalar in
            if scalar == "." || scalar == "\\" { escaped += "\\" }
            escaped.unicodeScalars.append(scalar)
        }
    }

    /// The names of a path as clients write it: `a.b\.c` has two.
    package static func path(_ text: String) -> [String] {
        var names: [[UInt8]] = [[]]
        var isEscaped = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                if isEscaped { names[names.count - 1].append(byte) } else { names.append([]) }
                isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            default:
                names[names.count - 1].append(byte)
                isEscaped = false
            }
        }
        return names.map { String(decoding: $0, as: UTF8.self) }
    }
}
