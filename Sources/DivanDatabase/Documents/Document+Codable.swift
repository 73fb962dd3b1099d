// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel

extension Document {
    /// Decodes the properties as a value of the app's own type.
    ///
    /// ```swift
    /// struct Todo: Codable { var title: String; var due: Date? }
    /// let todo = try database.document(withID: id)?.decode(Todo.self)
    /// ```
    ///
    /// Dates are read from ISO-8601 strings. Properties the type does not name are ignored.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` that wraps the `DecodingError`.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        do {
            return try BlobCoding.$store.withValue(store) {
                try JSONValueDecoder().decode(type, from: body.jsonValue())
            }
        } catch {
            throw DatabaseError(
                .invalidDocument,
                "Document '\(id)' does not have the properties of a \(type); see the cause for which.",
                documentID: id, revisionID: revisionID, underlying: error)
        }
    }
}

extension MutableDocument {
    /// A new document with the properties of a value of the app's own type.
    ///
    /// ```swift
    /// try database.save(MutableDocument(encoding: Todo(title: "Buy milk")))
    /// ```
    ///
    /// Dates become ISO-8601 strings with milliseconds.
    ///
    /// - Parameters:
    ///   - value: The value; it must encode as an object.
    ///   - id: The document's ID; nil for a generated one.
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it does not encode as an object.
    public convenience init(encoding value: some Encodable, id: DocumentID? = nil) throws {
        let (object, blobs) = try BlobCoding.collecting { try Self.object(value, id: id) }
        self.init(object, id: id)
        add(blobs)
    }

    /// Replaces all properties by those of a value.
    ///
    /// - Throws: As `init(encoding:id:)`; the properties are then unchanged.
    public func setProperties(encoding value: some Encodable) throws {
        let (object, blobs) = try BlobCoding.collecting { try Self.object(value, id: id) }
        setProperties(object)
        add(blobs)
    }

    static func object(_ value: some Encodable, id: DocumentID?) throws -> JSONObject {
        do {
            if case .object(let object) = try JSONValueEncoder().encode(value) { return object }
        } catch {
            throw DatabaseError(
                .invalidDocument,
                "A value of type \(type(of: value)) cannot be encoded; see the cause for why.",
                documentID: id, underlying: error)
        }
        throw DatabaseError(
            .invalidDocument,
            "A value of type \(type(of: value)) does not encode as a JSON object; use a struct or "
                + "class with properties.", documentID: id)
    }
}
