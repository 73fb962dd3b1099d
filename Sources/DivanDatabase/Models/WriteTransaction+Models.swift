// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanModel
internal import Synchronization

extension WriteTransaction {
    /// Saves a model; see `Database.save(_:)`.
    @discardableResult
    public func save<M: DocumentModel>(_ model: inout M) throws -> Document {
        var next = model
        try next.willSave()
        let (draft, blobs) = try read { try $0.draft(of: next) }
        draft.add(blobs)
        let saved = try save(draft, .failOnConflict).document
        next.identity.revisionID = saved.revisionID
        model = next
        return saved
    }

    /// Deletes the document of a model; see `Database.delete(_:keeping:)`.
    @discardableResult
    public func delete<M: DocumentModel>(_ model: inout M, keeping properties: JSONObject = [:])
        throws -> Bool
    {
        guard let revision = model.revisionID else { return false }
        do {
            try put(model.id, properties, parent: revision, options: .tombstone)
        } catch let error as DatabaseError where error.code == .conflict {
            // Another writer deleted it, which is what the caller wanted.
            guard try document(withID: model.id) == nil else { throw error }
        }
        model.identity.revisionID = nil
        return true
    }
}

extension ReadTransaction {
    /// The document that a save of a model stores, and the blobs that it brings.
    ///
    /// - Throws: `DatabaseError` with code `.conflict` when the revision that the model was made from
    ///   may no longer be edited; `.invalidDocument` when the value does not encode as an object.
    func draft<M: DocumentModel>(of model: M) throws -> (document: MutableDocument, blobs: [Blob]) {
        let (object, blobs) = try ModelCoding.encode(model)
        guard let revision = model.revisionID else {
            return (MutableDocument(object, id: model.id), blobs)
        }
        guard let base = try base(of: model.id, revision) else {
            throw DatabaseError.modelConflict(model.id, revision)
        }
        let draft = base.toMutable()
        draft.setProperties(try ModelCoding.merge(object, of: M.self, over: base))
        return (draft, blobs)
    }

    /// The revision that a model was read from, if it may still be edited; nil when it is gone.
    func base(of id: DocumentID, _ revision: RevisionID) throws -> Document? {
        do {
            let base = try document(withID: id, revision: revision)
            return base?.isDeleted == true ? nil : base
        } catch let error as DatabaseError where error.code == .revisionNotFound { return nil }
    }
}

extension DatabaseError {
    static func modelConflict(_ id: DocumentID, _ revision: RevisionID) -> DatabaseError {
        DatabaseError(
            .conflict,
            "Document '\(id)' has changed since revision \(revision), from which the model was made; "
                + "reload it, apply the edit and save again.",
            documentID: id, revisionID: revision)
    }
}

extension MutableDocument {
    /// Brings the content of blobs that the properties name already.
    func add(_ blobs: [Blob]) {
        guard !blobs.isEmpty else { return }
        withState { $0.addBlobs(blobs) }
    }
}
