// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

extension Document {
    /// The document as a value of the app's own type, with its ID and revision.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it does not have the properties of
    ///   the type, or says that it is of another one.
    public func model<M: DocumentModel>(_ type: M.Type = M.self) throws -> M {
        try ModelCoding.decode(type, from: self)
    }
}

extension LiveDocument {
    /// What the document is now, as a value of the app's own type; nil when it does not exist.
    ///
    /// It is read and observed like any property, so what shows it is drawn again when the document
    /// has changed.
    ///
    /// - Throws: As `Document.model(_:)`.
    public func model<M: DocumentModel>(_ type: M.Type = M.self) throws -> M? {
        guard let revision = currentRevision, !revision.isDeletion else { return nil }
        return try revision.contents.document.model(type)
    }
}

// Verbs for models. Each of them ends in a verb for documents.
extension Database {
    // MARK: - Reading

    /// Returns a document as a value of the app's own type; nil when there is none.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it does not have the properties of
    ///   the type or says that it is of another one, or as `document(withID:)`.
    public func model<M: DocumentModel>(_ type: M.Type = M.self, withID id: DocumentID) throws -> M?
    {
        try document(withID: id)?.model(type)
    }

    /// Returns all documents of a type that declares its `documentType`, in the order of last change.
    ///
    /// It looks at every document of the database; a view or an index is faster where there are many.
    ///
    /// - Parameters:
    ///   - type: The type.
    ///   - isIncluded: Says which are wanted; all unless given.
    /// - Returns: The models, in that order.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the type declares no `documentType`,
    ///   or as `model(_:withID:)`.
    public func models<M: DocumentModel>(
        _ type: M.Type = M.self, where isIncluded: (M) throws -> Bool = { _ in true }
    ) throws -> [M] {
        try selected(type) { _ in true }.filter(isIncluded)
    }

    /// Returns the models that refer to another one: the other side of a relation.
    ///
    /// ```swift
    /// let todos = try database.models(Todo.self, referringTo: list, by: "list")
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the models to find.
    ///   - other: What they refer to.
    ///   - key: The property with a reference, or an array of references.
    /// - Returns: The models, in the order of last change.
    /// - Throws: As `models(_:where:)`.
    public func models<M: DocumentModel>(
        _ type: M.Type = M.self, referringTo other: some DocumentModel, by key: String
    ) throws -> [M] {
        let id = other.id
        return try selected(type) { document in
            let value = document[key].value
            return id.text.hasSameBytes(as: value?.string)
                || value?.array?.contains { id.text.hasSameBytes(as: $0.string) } == true
        }
    }

    /// The models of those documents of a type that a condition holds for.
    private func selected<M: DocumentModel>(
        _ type: M.Type, _ isWanted: (Document) -> Bool
    ) throws -> [M] {
        let name = try M.requiredDocumentType()
        return try read { transaction in
            var models: [M] = []
            try transaction.scan { scanned in
                guard name.hasSameBytes(as: try scanned.string(forKey: M.typeKey)) else { return }
                let document = try scanned.document()
                if isWanted(document) { models.append(try document.model(type)) }
            }
            return models
        }
    }

    // MARK: - Writing

    /// Saves a model: creates its document, or makes a new revision of it.
    ///
    /// The model gets the new revision. Unlike `save(_:_:)` of a `MutableDocument` nothing is ever
    /// overridden: if another writer has saved the document since this value was read or saved, that
    /// is a conflict. Read it anew, or use `update(_:withID:_:)`, which does both.
    ///
    /// - Returns: The document as stored.
    /// - Throws: `DatabaseError` with code `.conflict` when the document has changed, or a new one's ID
    ///   exists; `.invalidDocument` when the value does not encode as an object; what `willSave()`
    ///   throws; or as `write(_:)`. The model is then unchanged.
    @discardableResult
    public func save<M: DocumentModel>(_ model: inout M) throws -> Document {
        var copy = model
        let document = try operation { try $0.save(&copy) }
        model = copy
        return document
    }

    /// Saves models in one transaction: all of them or, when one cannot be saved, none.
    ///
    /// - Throws: As for one. All models are then unchanged.
    public func save<M: DocumentModel>(_ models: inout [M]) throws {
        var copies = models
        try write { transaction in
            for index in copies.indices { try transaction.save(&copies[index]) }
        }
        models = copies
    }

    /// Reads a model, lets `edit` change it, and saves it, in one transaction.
    ///
    /// - Returns: The model as saved; nil when there is no such document.
    /// - Throws: As `model(_:withID:)` and `save(_:)`, and what `edit` throws, which leaves the
    ///   document unchanged.
    @discardableResult
    public func update<M: DocumentModel>(
        _ type: M.Type = M.self, withID id: DocumentID, _ edit: (inout M) throws -> Void
    ) throws -> M? {
        try write { transaction in
            guard var model = try transaction.document(withID: id)?.model(type) else { return nil }
            try edit(&model)
            try transaction.save(&model)
            return model
        }
    }

    /// Deletes the document of a model.
    ///
    /// The model then has no revision, so saving it again creates the document anew.
    ///
    /// - Parameters:
    ///   - model: The model.
    ///   - properties: What the tombstone keeps; nothing unless given.
    /// - Returns: False when the model was never saved, so there was nothing to delete.
    /// - Throws: `DatabaseError` with code `.conflict` when another writer has changed the document
    ///   since (a deletion by another writer is no conflict), or as `write(_:)`.
    @discardableResult
    public func delete<M: DocumentModel>(_ model: inout M, keeping properties: JSONObject = [:])
        throws -> Bool
    {
        var copy = model
        let isDeleted = try operation { try $0.delete(&copy, keeping: properties) }
        model = copy
        return isDeleted
    }

    /// Replaces a model by what its document is now, which undoes edits that were not saved.
    ///
    /// - Returns: False, with the model unchanged, when there is no such document.
    /// - Throws: As `model(_:withID:)`.
    @discardableResult
    public func reload<M: DocumentModel>(_ model: inout M) throws -> Bool {
        guard let current = try self.model(M.self, withID: model.id) else { return false }
        model = current
        return true
    }
}

extension DocumentModel {
    /// What tells the documents of this type from others.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the type does not say.
    package static func requiredDocumentType() throws -> String {
        if let documentType { return documentType }
        throw DatabaseError(
            .invalidQuery,
            "\(Self.self) declares no documentType, so its documents cannot be told; declare one.")
    }
}
