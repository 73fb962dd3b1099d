// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

extension LiveDocument {
    /// Saves a new current revision with the given properties, which replace the old ones.
    ///
    /// ```swift
    /// var properties = document.properties        // with the current `_rev`
    /// properties["check"] = true
    /// try document.putProperties(properties)
    /// ```
    ///
    /// To update a document, the properties must hold as `_rev` the ID of the revision that they were
    /// made from, as those read from the document do; to create one, or to create a deleted one anew,
    /// they hold none. With `_deleted` set to true they delete the document, or make one that begins
    /// with a tombstone; the tombstone keeps the rest. No other key may begin with an underscore; see ``SpecialProperty``.
    ///
    /// - Returns: The new revision.
    /// - Throws: `DatabaseError` with code `.conflict` when `_rev` is not the current revision, or is
    ///   missing while the document exists: read the document and apply the edit again, or use
    ///   `update`. `.documentNotFound` when `_rev` is given and there is no such
    ///   document, `.invalidDocument` for a reserved property or a body over the size limit,
    ///   `.invalidID` for another `_id` or a malformed `_rev`, or as `Database.write(_:)`.
    @discardableResult
    public func putProperties(_ properties: JSONObject) throws -> SavedRevision {
        try revision(of: properties).save()
    }

    /// Stores a revision that was made elsewhere, as `Database.putExistingRevision` does.
    ///
    /// - Parameters:
    ///   - properties: Its body; `_id`, `_rev` and `_deleted` in it are passed over.
    ///   - history: Revision IDs, the new one first, then its ancestors as far as known.
    ///   - isDeletion: Whether the revision is a tombstone.
    /// - Returns: Whether it was new here.
    /// - Throws: As `Database.putExistingRevision`.
    @discardableResult
    public func putExistingRevision(
        _ properties: JSONObject, history: [RevisionID], isDeletion: Bool = false
    ) throws -> Bool {
        try database.putExistingRevision(
            id, properties.body(of: id), history: history, isDeleted: isDeletion)
    }

    /// The revision that properties with special ones among them describe.
    private func revision(of properties: JSONObject) throws -> UnsavedRevision {
        if let given = properties[SpecialProperty.id.rawValue], given != .string(id.text) {
            throw DatabaseError.changedID(id)
        }
        if let given = properties[SpecialProperty.deleted.rawValue], given.bool == nil {
            throw DatabaseError.notBoolean(.deleted, id)
        }
        var parent: RevisionID?
        if let given = properties[SpecialProperty.revision.rawValue] {
            parent = try RevisionID(given.string ?? "").checked(of: id)
        }
        var revision = UnsavedRevision(of: id, in: database, parent: parent)
        revision.properties = properties
        return revision
    }
}

// MARK: - Updating

extension LiveDocument {
    /// Makes an editable revision, in memory, that will follow the current one, with its properties.
    ///
    /// Where there is no such document it begins empty and creates it. For a deleted one it begins
    /// with what the tombstone kept, and saving it restores the document.
    public func makeRevision() -> UnsavedRevision {
        currentRevision?.makeRevision()
            ?? UnsavedRevision(of: id, in: database, parent: nil)
    }

    /// Lets `edit` change the current properties and saves them; begins again as long as another
    /// writer was faster.
    ///
    /// ```swift
    /// try document.update { revision in
    ///     revision["title"] = "New title"
    ///     revision.set(count + 1, forKey: "count")
    /// }
    /// ```
    ///
    /// `edit` may be called several times, each time with the then current properties. It runs
    /// outside any transaction, so it may take its time. It must not change that document in the
    /// database. Where there is no such document it begins empty and creates it; a deleted one is
    /// restored.
    ///
    /// - Returns: The new revision.
    /// - Throws: As `UnsavedRevision.save`, where `.conflict` means that the document was changed during
    ///   each of 1,000 attempts, and whatever `edit` throws, which leaves the document unchanged.
    @discardableResult
    public func update(_ edit: (inout UnsavedRevision) throws -> Void) throws -> SavedRevision {
        try database.checkWritable()
        return try EditAttempts.run(on: id) {
            var revision = try freshRevision()
            try edit(&revision)
            return try EditAttempts.saving { try revision.save() }
        }
    }

    /// As the form without a result, for an edit that may give up.
    ///
    /// - Parameter edit: Returns whether to save; false leaves the document as it is.
    /// - Returns: The new revision; nil when `edit` returned false.
    /// - Throws: As the form without a result.
    @_disfavoredOverload
    @discardableResult
    public func update(_ edit: (inout UnsavedRevision) throws -> Bool) throws -> SavedRevision? {
        try database.checkWritable()
        return try EditAttempts.run(on: id) {
            var revision = try freshRevision()
            guard try edit(&revision) else { return nil }
            return try EditAttempts.saving { try revision.save() }
        }
    }

    /// As `makeRevision()`, but never of something older because reading failed.
    private func freshRevision() throws -> UnsavedRevision {
        try load()
        return makeRevision()
    }
}

// MARK: - Deleting

extension LiveDocument {
    /// Deletes the document as it is shown here: its current revision gets a tombstone as its child,
    /// which replicates.
    ///
    /// To keep some properties in the tombstone, set ``UnsavedRevision/isDeletion`` in
    /// `update` instead. Of a document in conflict this deletes the winner, and the
    /// best of the others becomes current.
    ///
    /// - Returns: The tombstone. It is no error when another writer has deleted the document already.
    /// - Throws: `DatabaseError` with code `.conflict` when another writer has changed the document
    ///   meanwhile, `.documentNotFound` when there is none, or as `Database.write(_:)`.
    @discardableResult
    public func delete() throws -> SavedRevision {
        try load()
        guard let current = currentRevision else {
            throw DatabaseError.documentNotFound(id)
        }
        return try current.delete()
    }

    /// Removes the document without a trace, all revisions, here only; see `Database.purge(_:)`.
    ///
    /// This object is then empty, as one whose ID no document has, and may be saved anew.
    ///
    /// - Returns: Whether there was such a document.
    @discardableResult
    public func purge() throws -> Bool { try database.purge(id) }
}
