// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel

extension Database {
    // MARK: - Reading

    /// Returns the current revision of a document.
    ///
    /// ```swift
    /// if let task = try database.document(withID: id) { print(task.string(forKey: "title") ?? "") }
    /// ```
    ///
    /// - Returns: nil when there is no such document or it is deleted.
    /// - Throws: `DatabaseError` with code `.invalidID`, `.databaseClosed`, `.io` or `.corrupted`.
    public func document(withID id: DocumentID) throws -> Document? {
        let id = try id.checked()
        try checkOpen()
        return try core.read { try $0.document(id) }
    }

    /// Returns a given revision of a document, current or not.
    ///
    /// - Returns: nil when the document does not exist.
    /// - Throws: `DatabaseError` with code `.revisionNotFound` when the document has no such revision
    ///   or its body was compacted away.
    public func document(withID id: DocumentID, revision: RevisionID) throws -> Document? {
        try read { try $0.document(withID: id, revision: revision) }
    }

    /// Whether a document exists and is not deleted.
    public func contains(_ id: DocumentID) throws -> Bool { try read { try $0.contains(id) } }

    // MARK: - Saving

    /// Saves a document as a new revision.
    ///
    /// ```swift
    /// try database.save(note)                     // the last one to save wins
    /// try database.save(note, .failOnConflict)    // throws .conflict if it was saved meanwhile
    /// ```
    ///
    /// A document made from a revision is saved on top of it. If another writer has saved it since,
    /// `control` decides. A new document whose ID exists is always a `.conflict`; one whose ID was
    /// deleted is created anew and continues the tombstone's history. Saving a document that was not
    /// edited does nothing.
    ///
    /// - Returns: The document as stored, and whether another writer's edit was overridden.
    /// - Throws: `DatabaseError` with code `.conflict`, `.invalidID`, `.invalidDocument` for a
    ///   reserved key or a body over the size limit, or as `write(_:)`.
    @discardableResult
    public func save(_ document: MutableDocument, _ control: ConcurrencyControl = .lastWriteWins)
        throws -> SaveResult
    {
        let isStaged = try stage(document)
        defer { if isStaged { document.releaseContent() } }
        return try jointOperation { try $0.save(document, control) }
    }

    /// Reads the content of added attachments before waiting for the writer.
    ///
    /// - Returns: Whether there was any.
    private func stage(_ document: MutableDocument) throws -> Bool {
        guard document.hasPendingContent, !core.isInTransaction else { return false }
        try checkWritable()
        try document.stage(in: core.attachments)
        return true
    }

    /// Saves a document, asking `handler` when it has changed since it was read.
    ///
    /// The handler gets the document to save and the current revision (nil when that is deleted). It
    /// edits the document so that it holds what should be stored and returns true, or returns false
    /// to leave the database as it is. It runs inside the write transaction, so what it sees is current.
    ///
    /// - Returns: nil when the handler returned false.
    @discardableResult
    public func save(
        _ document: MutableDocument,
        conflictHandler handler: (_ mine: MutableDocument, _ theirs: Document?) throws -> Bool
    ) throws -> SaveResult? {
        let isStaged = try stage(document)
        defer { if isStaged { document.releaseContent() } }
        return try operation { try $0.save(document, conflictHandler: handler) }
    }

    /// Reads a document, lets `edit` change it, and saves it; begins again as long as another
    /// writer was faster.
    ///
    /// ```swift
    /// try database.update(id) { $0["done"] = true }
    /// ```
    ///
    /// `edit` runs outside the transaction, so it may take its time; it may be called several times,
    /// each time with the then current document. It must not change that document in the database.
    ///
    /// - Throws: `DatabaseError` with code `.documentNotFound`, `.conflict` when the document was changed
    ///   during each of 1,000 attempts, as `save(_:_:)`, and whatever `edit` throws, which leaves the
    ///   document unchanged.
    @discardableResult
    public func update(_ id: DocumentID, _ edit: (MutableDocument) throws -> Void) throws
        -> Document
    {
        try checkWritable()
        return try EditAttempts.run(on: id) {
            guard let document = try document(withID: id) else {
                throw DatabaseError.documentNotFound(try id.checked())
            }
            let copy = document.toMutable()
            try edit(copy)
            return try EditAttempts.saving { try save(copy, .failOnConflict).document }
        }
    }

    // MARK: - Deleting

    /// Deletes a document: its current revision gets a tombstone as its child, which replicates.
    ///
    /// Deleting a deleted document succeeds and changes nothing.
    ///
    /// - Returns: The tombstone.
    /// - Throws: `DatabaseError` with code `.documentNotFound` when there never was such a document,
    ///   or as `write(_:)`.
    @discardableResult
    public func delete(_ id: DocumentID) throws -> Document {
        try jointOperation { try $0.delete(id) }
    }

    /// Deletes a document as it was read.
    ///
    /// - Throws: also `.conflict` with `.failOnConflict` when another writer has changed it since.
    @discardableResult
    public func delete(_ document: Document, _ control: ConcurrencyControl = .lastWriteWins)
        throws -> Document
    {
        try jointOperation { try $0.delete(document, control) }
    }

    /// Removes a document without a trace: all revisions, here only.
    ///
    /// Unlike a deletion this does not replicate, and the document comes back when a replication
    /// brings it again.
    ///
    /// - Returns: Whether there was such a document.
    @discardableResult
    public func purge(_ id: DocumentID) throws -> Bool { try jointOperation { try $0.purge(id) } }

    /// Removes a document without a trace, whatever has become of it since it was read.
    ///
    /// - Returns: Whether there was still such a document.
    @discardableResult
    public func purge(_ document: Document) throws -> Bool { try purge(document.id) }

    /// Removes single leaf revisions, with the ancestors that no other leaf has.
    ///
    /// - Returns: The revisions removed; those that are no leaves are left alone.
    @discardableResult
    public func purge(_ id: DocumentID, revisions: [RevisionID]) throws -> [RevisionID] {
        try jointOperation { try $0.purge(id, revisions: revisions) }
    }
}
