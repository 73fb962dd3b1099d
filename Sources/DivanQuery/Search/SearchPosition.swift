// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// Where a page of hits ends: what the last one was sorted by, and its ID.
///
///     [[1.25], "a"]   as base64 that can stand in a URL
package struct SearchPosition: Sendable, Equatable {
    let order: [JSONValue?]
    let id: DocumentID

    init(_ order: [JSONValue?], _ id: DocumentID) {
        self.order = order
        self.id = id
    }

    /// Reads a bookmark.
    ///
    /// - Parameters:
    ///   - text: The bookmark.
    ///   - order: The order of the query.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when it is none, or one of a query in another order.
    package init(_ text: String, _ order: [SearchOrder]) throws {
        let standard = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        guard text.utf8.count <= Self.longest, let bytes = Base64.decode(String(standard)),
            let json = try? JSONParser.parse(bytes.span), let values = json[0]?.array,
            values.count == order.count, let id = json[1]?.string
        else {
            throw DatabaseError(
                .invalidQuery,
                "The bookmark is none of this search; leave it out to begin at the first hit.")
        }
        // In a conditional expression nil would be JSON's null.
        self.order = values.map { value -> JSONValue? in
            if value == .null { return Optional.none }
            return value
        }
        self.id = DocumentID(id)
    }

    /// The bookmark.
    package var text: String {
        let json: JSONValue = [.array(order.map { $0 ?? .null }), .string(id.text)]
        let encoded = Base64.encode(Array(json.description.utf8))
        return String(encoded.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    /// The most bytes of a bookmark: more than those of 32 texts of 256 bytes and an ID, each byte of which JSON may
    /// write in six and base64 makes a third longer.
    private static let longest = 256 << 10
}
