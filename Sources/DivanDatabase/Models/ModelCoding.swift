// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// Models to properties and back.
enum ModelCoding {
    /// Whether a model is being coded as a document.
    ///
    /// Its identity is then no property. Nor is that of a model inside it, which is a part of the document.
    @TaskLocal static var isActive = false

    /// A model's own properties, its type included, and the blobs in them.
    static func encode<M: DocumentModel>(_ model: M) throws -> (object: JSONObject, blobs: [Blob]) {
        var (object, blobs) = try $isActive.withValue(true) {
            try BlobCoding.collecting { try MutableDocument.object(model, id: model.id) }
        }
        if let type = M.documentType { object[M.typeKey] = .string(type) }
        return (object, blobs)
    }

    static func decode<M: DocumentModel>(_ type: M.Type, from document: Document) throws -> M {
        guard isType(type, document) else {
            throw DatabaseError(
                .invalidDocument,
                "Document '\(document.id)' is not of the type of a \(type), by its property "
                    + "'\(M.typeKey)'.",
                documentID: document.id, revisionID: document.revisionID)
        }
        var model = try properties(type, of: document)
        model.identity = ModelIdentity(id: document.id, revisionID: document.revisionID)
        model.didLoad()
        return model
    }

    /// A model as its document has it, before the app's code has seen it.
    private static func properties<M: DocumentModel>(_ type: M.Type, of document: Document) throws
        -> M
    {
        try $isActive.withValue(true) { try document.decode(type) }
    }

    static func isType<M: DocumentModel>(_ type: M.Type, _ document: Document) -> Bool {
        M.documentType.map { $0.hasSameBytes(as: document.string(forKey: M.typeKey)) } ?? true
    }

    /// What an update of `base` stores: the model's properties, and those that its type does not name.
    static func merge<M: DocumentModel>(_ object: JSONObject, of type: M.Type, over base: Document)
        throws -> JSONObject
    {
        // An optional that is nil now was named when the base had it. What `didLoad` makes of it is an edit like any.
        let former = try? encode(properties(type, of: base)).object
        let named = former.map { NameSet($0.map(\.key)) } ?? []
        var merged = object
        for (key, value) in base.properties where merged[key] == nil && !named.contains(key) {
            merged[key] = value
        }
        return merged
    }
}
