// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

extension Database {
    /// Adds a revision below exactly the given parent: the strict form of saving.
    ///
    /// ```swift
    /// try database.put("task-1", ["done": true], parent: task.revisionID)
    /// ```
    ///
    /// The same edit of the same parent once more makes the same revision, so it succeeds and changes nothing, as long
    /// as nothing was made from that revision: a caller that does not know whether an edit was saved can try it again.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - properties: The whole new body.
    ///   - parent: The leaf that is edited; nil to create the document, or to create it anew when it
    ///     is deleted.
    ///   - options: Whether the new revision is a tombstone, and whether `parent` may be any revision.
    ///   - attachments: Content of attachments, by name; see `docs/attachments.md` for what
    ///     `_attachments` in `properties` may say.
    /// - Returns: The document as stored.
    /// - Throws: `DatabaseError` with code `.conflict` when `parent` is not a leaf (or nil while the
    ///   document exists), `.documentNotFound`, `.invalidDocument`, or as `write(_:)`.
    @discardableResult
    public func put(
        _ id: DocumentID, _ properties: JSONObject, parent: RevisionID?, options: PutOptions = [],
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Document {
        let content = try WriteTransaction.content(
            id, properties, options.contains(.tombstone), attachments, .passedOver)
        try stage(content, for: id)
        return try jointOperation {
            try $0.put(
                id, content, parent: parent, allowConflict: options.contains(.allowConflict))
        }
    }

    /// Stores a revision that was made elsewhere, as replication does.
    ///
    /// It becomes a leaf at the end of its history; where that history is not the current one, the
    /// document is then in conflict. Storing a revision twice changes nothing, but that contents of attachments
    /// which the database lacks are taken from the second time.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - properties: Its body.
    ///   - history: Revision IDs, the new one first, then its ancestors as far as known.
    ///   - isDeleted: Whether the revision is a tombstone.
    ///   - attachments: Content of attachments that comes apart from the body, by name.
    /// - Returns: Whether it was new here.
    /// - Throws: `DatabaseError` with code `.invalidID` when an ID is malformed or the generations do
    ///   not count down by one, `.invalidDocument`, or as `write(_:)`.
    @discardableResult
    public func putExistingRevision(
        _ id: DocumentID, _ properties: JSONObject, history: [RevisionID], isDeleted: Bool = false,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Bool {
        let content = try WriteTransaction.content(
            id, properties, isDeleted, attachments, .verified)
        try stage(content, for: id)
        return try jointOperation {
            try $0.putExistingRevision(id, content, history: history).isNew
        }
    }

    /// Reads the content of attachments before waiting for the writer.
    func stage(_ content: RevisionContent, for id: DocumentID) throws {
        guard let pending = content.pending, !core.isInTransaction else { return }
        try checkWritable()
        try pending.stage(in: core.attachments, for: id)
    }

    /// Returns the revision tree of a document, deleted or not; nil when there is none.
    ///
    /// It holds all revisions that are known, up to ``revisionLimit`` of each branch: of the older ones only the ID.
    public func revisionTree(of id: DocumentID) throws -> RevisionTree? {
        try read { try $0.revisionTree(of: id) }
    }

    /// Returns the IDs of a document's current revision and its ancestors, newest first: up to
    /// ``revisionLimit`` of them.
    public func revisionHistory(of id: DocumentID) throws -> [RevisionID] {
        guard let tree = try revisionTree(of: id), let winner = tree.winner else { return [] }
        return tree.history(of: winner.id)
    }

    /// Returns the live leaf revisions of a document, the current one first.
    ///
    /// More than one means that the document is in conflict.
    public func conflictingRevisions(of id: DocumentID) throws -> [Document] {
        try leafRevisions(of: id).filter { !$0.isDeleted }
    }

    /// Returns all leaf revisions of a document, tombstones included, the current one first.
    public func leafRevisions(of id: DocumentID) throws -> [Document] {
        let id = try id.checked()
        try checkOpen()
        return try core.read { snapshot in
            guard let record = try snapshot.record(id) else { return [] }
            return try record.tree.leaves.map { try snapshot.document(id, node: $0) }
        }
    }

    /// Whether any document is in conflict. Costs one look-up, whatever the size of the database.
    public func hasConflicts() throws -> Bool {
        try checkOpen()
        return try core.read { try $0.state().conflictedDocuments > 0 }
    }

    /// How many revisions of each branch of a document are kept with their bodies; 20 unless set.
    ///
    /// Each new revision prunes older ones: their bodies, their attachments and whether they were tombstones.
    /// Their IDs stay, see ``revisionLimit``. Compaction drops the bodies of all revisions that are not leaves.
    /// Setting it applies to later revisions and is kept with the database; other processes follow it from their
    /// next transaction on.
    public var revisionBodyLimit: Int {
        get throws {
            try checkOpen()
            return try core.read { Int(clamping: try $0.state().revisionBodyLimit) }
        }
    }

    /// How many revision IDs of each branch of a document are kept; 1,000 unless set.
    ///
    /// They distinguish an edit of an old revision from a document that only has the same ID. A device that
    /// edits a document more often than this between two replications makes a conflict at the other end, and
    /// what is deleted there meanwhile comes back. The IDs cost 20 bytes each, and are read only where
    /// histories are compared; CouchDB calls the limit `_revs_limit`.
    ///
    /// Setting it applies to later revisions and is kept with the database; other processes follow it from their
    /// next transaction on. Where it is lower than ``revisionBodyLimit``, it bounds that, too.
    public var revisionLimit: Int {
        get throws {
            try checkOpen()
            return try core.read { try $0.revisionLimit() }
        }
    }

    /// Sets ``revisionLimit``.
    ///
    /// - Parameter limit: At least 1; the highest is 2,147,483,647, for which every higher number stands, too. So
    ///   `.max` keeps all.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for less than 1, or as `write(_:)`.
    public func setRevisionLimit(_ limit: Int) throws {
        try DatabaseError.check(keeping: limit, "revision IDs of a branch")
        try operation {
            $0.context.state.revisionLimit = DatabaseState.nearest(UInt64(limit))
        }
    }

    /// How many of the newest purges compaction keeps in its list; 10,000 unless set.
    ///
    /// A peer or an index that asks for changes since an older one cannot be told what was purged, and reads
    /// all documents again.
    public var purgeHistoryLimit: Int {
        get throws {
            try checkOpen()
            return try core.read {
                Int(clamping: try $0.setting(.keptPurges) ?? PurgeRecord.keptUnlessSet)
            }
        }
    }

    /// Sets `purgeHistoryLimit`, which is kept with the database.
    ///
    /// - Parameter limit: At least 1.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for less than 1, or as `write(_:)`.
    public func setPurgeHistoryLimit(_ limit: Int) throws {
        try DatabaseError.check(keeping: limit, "purges")
        try operation { try $0.context.set(.keptPurges, UInt64(limit)) }
    }

    /// Sets ``revisionBodyLimit``.
    ///
    /// - Parameter limit: At least 1; the highest is 2,147,483,647, for which every higher number stands, too. So
    ///   `.max` keeps all.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for less than 1, or as `write(_:)`.
    public func setRevisionBodyLimit(_ limit: Int) throws {
        try DatabaseError.check(keeping: limit, "revisions with their bodies")
        try operation {
            $0.context.state.revisionBodyLimit = DatabaseState.nearest(UInt64(limit))
        }
    }
}
