// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

extension UnsavedRevision {
    /// Stores the revision as a child of its parent.
    ///
    /// - Parameter allowingConflict: false, the default, refuses to save when the parent is not the
    ///   document's current revision, because another writer was faster or because the parent is
    ///   the losing side of a conflict. true stores it all the same: below a losing leaf it
    ///   continues that branch, below an older revision it makes a new one, and with that a
    ///   conflict. Resolving conflicts needs this.
    /// - Returns: The revision as stored.
    /// - Throws: `DatabaseError` with code `.conflict`, `.documentNotFound` when the document was
    ///   purged, `.revisionNotFound` when the parent's properties could not be read and were not all set anew,
    ///   `.invalidDocument` for a reserved property or a body over the size limit,
    ///   `.invalidID`, or as `Database.write(_:)`.
    @discardableResult
    public func save(allowingConflict: Bool = false) throws -> SavedRevision {
        let content = try content()
        try database.checkWritable()
        try content.pending?.stage(in: database.core.attachments, for: documentID)
        return try database.changeLive(documentID) { context in
            try save(content, allowingConflict, context)
        }
    }

    private func save(_ content: RevisionContent, _ allowingConflict: Bool, _ context: WriteContext)
        throws -> SavedRevision
    {
        let document = try context.operation {
            try context.putCurrent(
                documentID, parent: parentRevisionID, content, allowConflict: allowingConflict)
        }
        return SavedRevision(RevisionContents(document), in: database)
    }

    private func content() throws -> RevisionContent {
        if lacksParentBody, let parentRevisionID {
            throw DatabaseError.parentUnread(documentID, parentRevisionID)
        }
        var stored = stored
        var content = try RevisionContent(
            given: try stored.pack(id: documentID), isDeleted: isDeletion, claims: .passedOver,
            id: documentID)
        if let pending {
            // Additions take the place of what the properties say.
            content.pending = content.pending ?? PendingAttachments()
            content.pending?.contents.merge(pending.contents) { $1 }
            content.pending?.removed.formUnion(pending.removed)
            content.pending?.addBlobs(of: pending.needed(by: content.body))
        }
        return content
    }
}

extension JSONObject {
    /// What is stored of properties that may hold special ones.
    ///
    /// What stands elsewhere (`_id`, `_rev`, `_deleted`) and what peers compute is left out. A wrong
    /// `_id` stays, as does every other reserved key, for the checks before storing to refuse.
    func body(of id: DocumentID) -> JSONObject {
        guard keys.contains(where: SpecialProperty.isReserved) else { return self }
        return JSONObject(
            lazy.filter { key, value in
                guard let special = SpecialProperty(rawValue: key) else { return true }
                return switch special {
                case .id: value != .string(id.text)
                case .revision, .deleted: false
                default: !special.isComputed
                }
            })
    }
}
