// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// The way to a field of a document as selectors, orders and indexes write it on the wire.
///
///     address.zip     the field "zip" of the object "address"
///     a\.b            the field "a.b"
///     \$ref           the field "$ref", which would be an operator in a selector
struct FieldPath: Hashable, Sendable {
    @ByBytes var names: [String]

    /// The value itself: conditions behind `$elemMatch` and its like begin here.
    static let itself = FieldPath(names: [])
    static let documentID = FieldPath(names: ["_id"])

    init(names: [String]) { self.names = names }

    /// Reads a path.
    ///
    /// - Throws: `HTTPFailure` 400 where a name is empty.
    init(_ text: String) throws {
        let names = TextField.path(text)
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw HTTPFailure(
                400, "invalid_field_name", "Invalid field name: \(text.prefix(100))")
        }
        self.names = names
    }

    func appending(_ other: FieldPath) -> FieldPath { FieldPath(names: names + other.names) }

    var isItself: Bool { names.isEmpty }

    /// The path as answers show it.
    var text: String { names.joined(separator: ".") }

    /// The path as the selectors of the database are written.
    var selectorKey: String {
        var bytes: [UInt8] = []
        for (index, name) in names.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ".")) }
            for byte in name.utf8 {
                // The others have no meaning in a name.
                let isSpecial =
                    Self.special.contains(byte) || byte == UInt8(ascii: "$") && bytes.isEmpty
                if isSpecial { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let special: [UInt8] = Array(".[]\\".utf8)
}
