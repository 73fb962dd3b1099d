// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// A bookmark as text: where a page ended, and of which query it is.
///
/// Base64, with `-` and `_` so that it can stand in a URL, of a JSON array:
/// fingerprint of selector and order, kind of position, name of an index, position.
struct FindBookmark {
    let fingerprint: String
    let position: QueryPosition

    init(_ position: QueryPosition, fingerprint: String) {
        self.position = position
        self.fingerprint = fingerprint
    }

    /// Reads a bookmark of a query.
    ///
    /// - Throws: `.invalidQuery` when it is none, or one of another query.
    init(_ text: String, fingerprint: String) throws {
        let standard = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        guard let bytes = Base64.decode(String(standard)),
            let json = try? JSONParser.parse(bytes.span),
            fingerprint.hasSameBytes(as: json[0]?.string),
            let kind = json[1]?.string, let name = json[2]?.string,
            let position = json[3]?.string.flatMap({ Base64.decode($0) })
        else { throw DatabaseError.bookmark }
        self.fingerprint = fingerprint
        switch kind {
        case "id": self.position = QueryPosition(kind: .documents, bytes: position)
        case "index": self.position = QueryPosition(kind: .index(name), bytes: position)
        case "sorted": self.position = QueryPosition(kind: .sorted, bytes: position)
        default: throw DatabaseError.bookmark
        }
    }

    var text: String {
        var (kind, name) = ("sorted", "")
        switch position.kind {
        case .documents: kind = "id"
        case .index(let index): (kind, name) = ("index", index)
        case .sorted: break
        }
        let json: JSONValue = [
            .string(fingerprint), .string(kind), .string(name),
            .string(Base64.encode(position.bytes)),
        ]
        let encoded = Base64.encode(Array(json.description.utf8))
        return String(encoded.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    /// A short text that differs between queries whose pages do not go together (FNV-1a).
    static func fingerprint(_ parts: [String]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        // As JSON, so that no two lists of parts have the same text.
        for byte in JSONValue.array(parts.map { .string($0) }).description.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return String(hash, radix: 36)
    }
}
