// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
package import DivanStorage

// Adding revisions. Every function checks everything before it writes anything, so that a refusal
// inside a batch leaves the batch as it was.
//
// What one edit writes, for a document without conflicts:
//
//     revisions    + new sequence: IDs, body          (append)
//     documents    ~ the document's tree              (one row rewritten)
//     superseded   + old sequence: dead               (only an update)
//
extension WriteContext {
    /// The open transaction; the writer queue guarantees there is one.
    func openTransaction() throws -> Open {
        guard let open = current else {
            throw StorageError(.misuse, "No write transaction is open.")
        }
        return open
    }

    /// The open transaction in its two parts.
    package func transaction() throws -> (writer: any StorageWriter, snapshot: Snapshot) {
        let open = try openTransaction()
        return (open.writer, open.snapshot)
    }

    /// Keys with an underscore that bodies made elsewhere may hold: attachments, the mark of a revision
    /// that its reader may no longer see, and what CouchDB keeps in documents about replications.
    private static let reservedInBodies: NameSet = [
        "_attachments", "_removed", "_access", "_replication_id", "_replication_state",
        "_replication_state_time", "_replication_state_reason", "_replication_stats",
    ]

    /// Checks a body against the rules for documents and the size limit, and in a partitioned database the ID.
    ///
    /// - Returns: The reserved keys that replicated revisions may hold, and an app may not set.
    @discardableResult
    package func check(_ content: RevisionContent, of id: DocumentID, limit: Int) throws -> [String]
    {
        if try openTransaction().core.isPartitioned {
            do { try id.validateInPartition() } catch { throw DatabaseError.invalidID(id, error) }
        }
        guard content.body.isObject else { throw DatabaseError.notAnObject(id) }
        let reserved = content.body.reservedKeys
        if let key = reserved.first(where: { !Self.reservedInBodies.contains($0) }) {
            throw DatabaseError.reservedKey(key, id)
        }
        let size = content.body.byteCount
        let limit = min(limit, LargeBody.maximumLength)
        guard size <= limit else { throw DatabaseError.tooLarge(id, bytes: size, limit: limit) }
        return reserved
    }

    /// Refuses reserved keys in an app's edit, except those that came with the revision it edits, and attachments that came
    /// with a document of another database.
    func checkCarried(
        _ reserved: [String], _ id: DocumentID, base: RevisionID?, origin: UInt32 = 0
    ) throws {
        guard !reserved.isEmpty else { return }
        let (_, snapshot) = try transaction()
        let isForeign = origin != 0 && origin != snapshot.core.attachments.number
        let reserved = isForeign ? reserved.filter { $0 != "_attachments" } : reserved
        guard let first = reserved.first else { return }
        guard let base, let edited = try? snapshot.document(id, revision: base) else {
            throw DatabaseError.reservedKey(first, id)
        }
        if let key = reserved.first(where: { edited.body[$0] == nil }) {
            throw DatabaseError.reservedKey(key, id)
        }
    }

    /// Creates a document that is expected not to exist; nil when a row for its ID does.
    ///
    /// Trying the insertion saves new documents a look-up, a fifth of the cost of a batched insert.
    func createNew(_ id: DocumentID, _ content: RevisionContent) throws -> Document? {
        let open = try openTransaction()
        let content = try resolve(content, of: id, AttachmentRules(generation: 1, parent: [:]))
        let revision = revisionID(of: content, parent: nil, core: open.core)
        if !open.core.hasNoValidations {
            // Nothing may be written before the validation functions have been asked, so the
            // look-up is not saved.
            guard case .none = try open.snapshot.head(id) else { return nil }
            try validate(
                nil,
                Candidate(
                    id: id, revision: revision, content: content, ancestors: [], isLocal: true))
        }
        let sequence = state.lastSequence + 1
        let isDeleted = content.isDeleted
        let isNew = try withRow {
            DocumentRecord.encode(
                only: revision, isTombstone: isDeleted, sequence: sequence, into: &$0)
        } lent: { row in
            try id.text.withSpan { key in
                try open.writer.insert(row, forKey: key, in: open.core.stores.documents)
            }
        }
        guard isNew else { return nil }
        beginWrites()
        state.lastSequence = sequence
        if isDeleted { state.deletedDocuments += 1 } else { state.liveDocuments += 1 }
        try writeRevision(
            sequence, id, revision, content, consultDocument: false, open.writer, open.core)
        touch(id)
        return Document(
            id: id, revisionID: revision, sequence: sequence, isDeleted: isDeleted,
            body: content.body, store: open.core.attachments.number)
    }

    /// Adds an edit below `parent`, which must be a leaf unless `allowConflict` says otherwise.
    func addEdit(
        _ id: DocumentID, _ content: RevisionContent, record: DocumentRecord?,
        parent: RevisionID?, allowConflict: Bool = false
    ) throws -> Document {
        let (_, snapshot) = try transaction()
        let content = try resolve(
            content, of: id,
            AttachmentRules(
                generation: (parent?.generation ?? 0) + 1,
                parent: snapshot.stubs(id, parent.flatMap { record?.tree.node($0) })))
        let revision = revisionID(of: content, parent: parent, core: snapshot.core)
        // The same edit may have been made elsewhere, long ago.
        let record = try record.map { try completing($0, of: id, for: [revision]) }
        var updated = record ?? DocumentRecord(tree: RevisionTree(), updateSequence: 0)
        let sequence = state.lastSequence + 1
        let isNew: Bool
        do {
            isNew = try updated.tree.insert(
                revision, parent: parent, isTombstone: content.isDeleted, sequence: sequence,
                allowConflict: allowConflict)
        } catch .invalidGeneration {
            throw DatabaseError.lastGeneration(id, parent)
        } catch {
            throw DatabaseError.conflict(id, parent: parent)
        }
        guard isNew else {
            // If it is made again after another edit of that revision, it is a stale edit.
            let isSuperseded = [parent, revision].allSatisfy {
                $0.flatMap { record?.tree.node($0)?.isLeaf } == false
            }
            guard allowConflict || !isSuperseded else {
                throw DatabaseError.conflict(id, parent: parent)
            }
            return try addKnown(id, revision, content, record: record, parent: parent)
        }
        try validate(
            record,
            Candidate(
                id: id, revision: revision, content: content,
                ancestors: parent.map { [$0] } ?? [], isLocal: true))
        // What is made anew is another document, which does not go when the deleted one was to go.
        let former = content.isDeleted || record?.tree.isDeleted != true ? nil : record?.expiration
        if former != nil { updated.expiration = nil }
        try store(id, revision, content, sequence, old: record, new: &updated)
        if let former { try removeExpiration(ExpirationKey(former, id)) }
        return Document(
            id: id, revisionID: revision, sequence: sequence, isDeleted: content.isDeleted,
            body: content.body, store: snapshot.core.attachments.number)
    }

    /// Adds an edit that makes a revision which is here already: the same edit of the same parent.
    ///
    /// Usually nothing is left to do. But where the revision came from elsewhere or its parent was
    /// stemmed, the tree may not know whose child it is; now it learns that, and the parent stops
    /// being a leaf. Without this a conflict with such a parent could never be resolved.
    private func addKnown(
        _ id: DocumentID, _ revision: RevisionID, _ content: RevisionContent,
        record: DocumentRecord?, parent: RevisionID?
    ) throws -> Document {
        let (_, snapshot) = try transaction()
        guard let record, let node = record.tree.node(revision) else {
            throw DatabaseError.conflict(id, parent: parent)
        }
        if let parent {
            var linked = record
            linked.tree.insert(
                existing: try RevisionHistory([revision, parent]), isTombstone: node.isTombstone,
                sequence: nil)
            if linked.tree != record.tree {
                try store(id, link: revision, old: record, new: &linked)
            }
        }
        return Document(
            id: id, revisionID: revision, sequence: node.sequence ?? 0,
            isDeleted: content.isDeleted, body: content.body,
            store: snapshot.core.attachments.number)
    }

    /// Adds a revision made elsewhere, with its history; false when it is already here.
    ///
    /// Attachments whose content is not here are refused, unless `allowsMissing`, or `isDeferring` and their
    /// stubs tell what to fetch later.
    package func addExisting(
        _ id: DocumentID, _ history: RevisionHistory, _ content: RevisionContent,
        allowsMissing: Bool = false, isDeferring: Bool = false
    ) throws -> Bool {
        let (_, snapshot) = try transaction()
        let record = try snapshot.record(id)
        var updated = record ?? DocumentRecord(tree: RevisionTree(), updateSequence: 0)
        let sequence = state.lastSequence + 1
        var history = history
        if record != nil {
            guard let met = try meet(history, updated.tree, of: id) else { return false }
            (updated.tree, history) = met
        }
        guard
            updated.tree.insert(
                existing: history, isTombstone: content.isDeleted, sequence: sequence)
        else { return false }
        func rules() throws -> AttachmentRules {
            let nearest = try snapshot.nearestStubs(id, history, in: record?.tree)
            return AttachmentRules(
                generation: history.newest.generation, isExisting: true,
                allowsMissing: allowsMissing, isDeferring: isDeferring, parent: nearest?.stubs,
                ancestorGeneration: nearest?.generation ?? 0)
        }
        let content = try resolve(content, of: id, rules())
        try validate(
            record,
            Candidate(
                id: id, revision: history.newest, content: content,
                ancestors: history.ids.dropFirst(), isLocal: false))
        try store(id, history.newest, content, sequence, old: record, new: &updated)
        return true
    }

    // MARK: - Storing

    /// Writes a new revision and its document's record, and keeps marks and counters right.
    private func store(
        _ id: DocumentID, _ revision: RevisionID, _ content: RevisionContent,
        _ sequence: SequenceNumber, old: DocumentRecord?, new: inout DocumentRecord
    ) throws {
        let (writer, snapshot) = try transaction()
        try replace(id, revision, old: old, new: &new) { tree in
            let consult = tree.leaves.count > 1 || tree.winner?.id != revision
            try writeRevision(
                sequence, id, revision, content, consultDocument: consult, writer, snapshot.core)
        }
    }

    /// Writes a document's record after a known revision learnt its parent. The feed gets a pointer.
    private func store(
        _ id: DocumentID, link revision: RevisionID, old: DocumentRecord, new: inout DocumentRecord
    ) throws {
        let sequence = state.lastSequence + 1
        try replace(id, revision, old: old, new: &new) { tree in
            if let winner = tree.winner { try writePointer(sequence, id, winner) }
        }
    }

    /// Gives a document a new place in the feed though its revisions stay as they are.
    func republish(_ id: DocumentID) throws {
        let (_, snapshot) = try transaction()
        guard let record = try snapshot.record(id), let winner = record.tree.winner else { return }
        var updated = record
        try store(id, link: winner.id, old: record, new: &updated)
    }

    /// Gives a document its next place in the feed with a new tree, in which `revision` is new.
    private func replace(
        _ id: DocumentID, _ revision: RevisionID, old: DocumentRecord?, new: inout DocumentRecord,
        writeRow: (RevisionTree) throws -> Void
    ) throws {
        let (writer, snapshot) = try transaction()
        beginWrites()
        state.lastSequence += 1
        new.updateSequence = state.lastSequence
        // Taken before the older part is removed, which may cut a branch where another one still
        // joins it.
        let ancestors = new.tree.history(of: revision).dropFirst()
        let bodies = try separate(&new.tree, of: id)
        try writeRow(new.tree)
        // These rows are removed first: a removed row needs no mark.
        let last = state.lastSequence
        try removeRevisions(bodies.filter { $0 != last }, of: id, leaving: new.tree)
        if let old { try markSuperseded(ancestors, old: old, new: new, writer, snapshot) }
        try writeRecord(id, old: old, new: new)
    }
}
