// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

// Ending conflicts. All revisions that a resolution makes are added to the tree at once and its row
// is written once, so that a document with 10,000 leaves takes no longer than it must.
extension WriteContext {
    /// One revision that a resolution makes, over a leaf.
    struct LeafEdit {
        var parent: RevisionID
        var content: RevisionContent
    }

    /// Carries a decision out, if the document's live leaves are those it was made about.
    ///
    /// - Returns: What now stands for the document.
    func resolve(_ conflict: Conflict, _ resolution: ConflictResolution) throws -> Document {
        let (_, snapshot) = try transaction()
        let id = conflict.winner.id
        guard let record = try snapshot.record(id) else { throw DatabaseError.documentNotFound(id) }
        let live = record.tree.leaves.filter { !$0.isTombstone }.map(\.id)
        guard live == conflict.leaves.map(\.revisionID) else {
            throw DatabaseError.conflict(id, parent: conflict.winner.revisionID)
        }
        var edits: [LeafEdit] = []
        let tombstone = RevisionContent(body: .emptyObject, isDeleted: true)
        switch resolution {
        case .delete:
            edits = live.map { LeafEdit(parent: $0, content: tombstone) }
        case .keep(let document):
            guard document.id == id, live.contains(document.revisionID) else {
                throw DatabaseError.noLiveLeaf(id, document.revisionID)
            }
            edits = live.filter { $0 != document.revisionID }
                .map { LeafEdit(parent: $0, content: tombstone) }
        case .save(let properties):
            let body = try conflict.body(of: properties)
            let merged = RevisionContent(body: body, isDeleted: false)
            try check(merged, of: id, limit: snapshot.core.options.maximumDocumentSize)
            let content = try resolve(
                merged, of: id,
                AttachmentRules(
                    generation: live[0].generation + 1, isMerge: true,
                    parent: snapshot.stubs(id, record.tree.node(live[0]))))
            edits = live.dropFirst().map { LeafEdit(parent: $0, content: tombstone) }
            if content.body != conflict.winner.body {
                edits.append(LeafEdit(parent: live[0], content: content))
            }
        }
        let winner = try addEdits(id, edits, record: record)
        return try snapshot.document(id, node: winner)
    }

    /// Adds revisions over leaves of one document; the last one gets its place in the feed.
    ///
    /// - Returns: The winner among the leaves that there are then.
    private func addEdits(_ id: DocumentID, _ edits: [LeafEdit], record: DocumentRecord) throws
        -> RevisionTree.Node
    {
        let (writer, snapshot) = try transaction()
        let record = try completing(
            record, of: id,
            for: edits.map { revisionID(of: $0.content, parent: $0.parent, core: snapshot.core) })
        let plan = plan(edits, over: record, core: snapshot.core)
        var new = record
        do { try new.tree.insert(plan.edits) } catch .invalidGeneration(let revision) {
            throw DatabaseError.lastGeneration(id, revision)
        } catch {
            throw DatabaseError.conflict(id, parent: record.tree.winner?.id)
        }

        for row in plan.rows {
            try validate(
                record,
                Candidate(
                    id: id, revision: row.revision, content: row.content, ancestors: [row.parent],
                    isLocal: true))
        }

        beginWrites()
        state.lastSequence = plan.lastSequence
        new.updateSequence = plan.lastSequence
        let bodies = try separate(&new.tree, of: id)
        guard let winner = new.tree.winner else { throw DatabaseError.documentNotFound(id) }
        for row in plan.rows {
            // There are tombstones beside the winner, so no row alone tells how the document stands.
            try writeRevision(
                row.sequence, id, row.revision, row.content, consultDocument: true, writer,
                snapshot.core)
        }
        if plan.rows.isEmpty { try writePointer(plan.lastSequence, id, winner) }
        try removeRevisions(bodies, of: id, leaving: new.tree)
        try mark(plan, old: record, new: new, writer, snapshot)
        try writeRecord(id, old: record, new: new)
        return winner
    }

    private struct Row {
        var sequence: SequenceNumber
        var revision: RevisionID
        var parent: RevisionID
        var content: RevisionContent
    }

    /// What edits over leaves store.
    private struct EditPlan {
        var edits: [RevisionTree.Edit] = []
        var rows: [Row] = []
        var lastSequence: SequenceNumber
    }

    /// Gives each edit its revision ID, and a sequence where the revision is new here: it may have
    /// come from another device already.
    private func plan(_ edits: [LeafEdit], over record: DocumentRecord, core: DatabaseCore)
        -> EditPlan
    {
        let known = Set(record.tree.nodes.lazy.map(\.id))
        var plan = EditPlan(lastSequence: state.lastSequence)
        for edit in edits {
            let revision = revisionID(of: edit.content, parent: edit.parent, core: core)
            var sequence: SequenceNumber?
            if !known.contains(revision) {
                plan.lastSequence += 1
                sequence = plan.lastSequence
                plan.rows.append(
                    Row(
                        sequence: plan.lastSequence, revision: revision, parent: edit.parent,
                        content: edit.content))
            }
            plan.edits.append(
                RevisionTree.Edit(
                    id: revision, parent: edit.parent, isTombstone: edit.content.isDeleted,
                    sequence: sequence))
        }
        if plan.rows.isEmpty { plan.lastSequence += 1 }
        return plan
    }

    /// Marks what the edits put out of the feed: their parents, and the new rows before the last.
    private func mark(
        _ plan: EditPlan, old: DocumentRecord, new: DocumentRecord, _ writer: any StorageWriter,
        _ snapshot: Snapshot
    ) throws {
        let parents = Set(plan.edits.lazy.map(\.parent))
        for node in new.tree.nodes where !node.isLeaf && parents.contains(node.id) {
            if let sequence = node.sequence { try mark(sequence, .dead, writer, snapshot) }
        }
        for row in plan.rows where row.sequence != plan.lastSequence {
            try mark(row.sequence, .shadowed, writer, snapshot)
        }
        try vacate(old.updateSequence, in: new.tree, writer, snapshot)
    }
}

extension Conflict {
    private static let attachments = "_attachments"

    /// The body that saving properties makes: with the winner's attachments where they say nothing.
    ///
    /// - Throws: `.invalidDocument` when they cannot be stored, or name an attachment that no
    ///   revision of the conflict has.
    fileprivate func body(of properties: JSONObject) throws -> PackedValue {
        var properties = properties
        if let own = properties[Self.attachments] {
            try checkAttachments(own)
            if own.object?.isEmpty ?? false { properties[Self.attachments] = nil }
        } else if let stubs = winner.body[Self.attachments] {
            properties[Self.attachments] = stubs.jsonValue()
        }
        let value = JSONValue.object(properties)
        try value.checkStorable(id: id)
        return PackedValue(value)
    }

    private func checkAttachments(_ stubs: JSONValue) throws {
        guard let object = stubs.object else {
            throw DatabaseError.reservedKey(Self.attachments, winner.id)
        }
        let revisions = leaves + (ancestor.map { [$0] } ?? [])
        for (name, stub) in object {
            let isKnown = revisions.contains { document in
                guard let known = document.body[Self.attachments]?[name] else { return false }
                return (known["digest"]?.string).hasSameBytes(as: stub["digest"]?.string)
            }
            guard isKnown else { throw DatabaseError.foreignAttachment(name, winner.id) }
        }
    }
}
