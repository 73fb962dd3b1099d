// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanModel
internal import DivanStorage

// The rules by which edits are accepted; see DESIGN's "Saving" in docs/concurrency.md.
extension WriteContext {
    /// How a stale edit is treated.
    enum Staleness {
        /// The edit is placed on the current winner and overrides it.
        case override
        /// The edit is refused.
        case refuse
        /// The closure merges the edit with the winner and returns what to save, or nil to give up.
        case resolve((Document?) throws -> RevisionContent?)
    }

    /// Saves an edit made from `base`, a revision read earlier, or of a new document.
    ///
    /// A caller that has just read the document's record passes it as `known`, which saves a look-up.
    func save(
        _ id: DocumentID, base: RevisionID?, _ content: RevisionContent, staleness: Staleness,
        known: DocumentRecord? = nil
    ) throws -> (document: Document, overrode: Bool)? {
        let open = try openTransaction()
        let reserved = try check(content, of: id, limit: open.core.options.maximumDocumentSize)
        try checkCarried(reserved, id, base: base, origin: content.origin)
        if base == nil, let document = try createNew(id, content) { return (document, false) }
        let snapshot = open.snapshot
        let record = try known ?? snapshot.record(id)
        let winner = record?.tree.winner
        if let base, let node = record?.tree.node(base), node.isLeaf {
            let document = try addEdit(id, content, record: record, parent: base)
            return (document, false)
        }
        // A deleted document may be created anew: the tombstone becomes the parent.
        if base == nil, let winner, winner.isTombstone {
            let document = try addEdit(id, content, record: record, parent: winner.id)
            return (document, false)
        }
        switch staleness {
        case .refuse:
            throw DatabaseError.conflict(id, parent: base)
        case .override:
            // Creating what exists is never an override: two documents would become one.
            guard base != nil else { throw DatabaseError.conflict(id, parent: nil) }
            let document = try addEdit(id, content, record: record, parent: winner?.id)
            return (document, true)
        case .resolve(let merge):
            let theirs = try winner.flatMap {
                $0.isTombstone ? nil : try snapshot.document(id, node: $0)
            }
            guard let merged = try merge(theirs) else { return nil }
            // The handler is the app's code: what it decided about must still be what is stored.
            let current = try snapshot.record(id)
            guard current?.tree == record?.tree else {
                throw DatabaseError.conflict(id, parent: winner?.id)
            }
            try check(merged, of: id, limit: snapshot.core.options.maximumDocumentSize)
            let document = try addEdit(id, merged, record: current, parent: winner?.id)
            return (document, true)
        }
    }

    /// The outcome of an edit whose parent was edited already, when it makes the very revision that is there.
    package enum Repetition {
        /// It succeeds while that revision is a leaf, so that a caller that does not know whether the first try
        /// succeeded may try again.
        case succeeds
        /// It is refused like any other: of several callers that make the same edit, one succeeds, and the
        /// revision can be a lock.
        case conflicts
    }

    /// Adds a revision below exactly `parent`: the rule of replicators and REST.
    func put(
        _ id: DocumentID, parent: RevisionID?, _ content: RevisionContent, allowConflict: Bool,
        repetition: Repetition = .succeeds
    ) throws -> Document {
        let (_, snapshot) = try transaction()
        try check(content, of: id, limit: snapshot.core.options.maximumDocumentSize)
        var record = try snapshot.record(id)
        if let parent {
            if allowConflict {
                record = try record.map { try completing($0, of: id, for: [parent]) }
            }
            guard let record else { throw DatabaseError.documentNotFound(id) }
            guard let node = record.tree.node(parent) else {
                throw DatabaseError.conflict(id, parent: parent)
            }
            if case .conflicts = repetition {
                let isDeleted = content.isDeleted && record.tree.winner?.isTombstone == true
                guard node.isLeaf, !isDeleted else {
                    throw DatabaseError.conflict(id, parent: parent)
                }
            }
            return try addEdit(
                id, content, record: record, parent: parent, allowConflict: allowConflict)
        }
        // A document may begin with a tombstone, so that it is deleted wherever it goes.
        guard let winner = record?.tree.winner else {
            return try addEdit(id, content, record: record, parent: nil)
        }
        guard winner.isTombstone, !content.isDeleted else {
            throw DatabaseError.conflict(id, parent: nil)
        }
        return try addEdit(id, content, record: record, parent: winner.id)
    }

    /// Deletes a document as the caller saw it, at `base`, or whatever is current when that is nil.
    ///
    /// Deleting a deleted one succeeds and changes nothing.
    func delete(_ id: DocumentID, base: RevisionID?, refuseStale: Bool) throws -> Document {
        let (_, snapshot) = try transaction()
        guard let record = try snapshot.record(id), let winner = record.tree.winner else {
            throw DatabaseError.documentNotFound(id)
        }
        guard !winner.isTombstone else { return try snapshot.document(id, node: winner) }
        let isBaseLeaf = base.flatMap { record.tree.node($0)?.isLeaf } ?? false
        if base != nil && !isBaseLeaf && refuseStale {
            throw DatabaseError.conflict(id, parent: base)
        }
        let parent = isBaseLeaf ? base : winner.id
        let content = RevisionContent(body: PackedValue(.object([:])), isDeleted: true)
        return try addEdit(id, content, record: record, parent: parent)
    }

    /// Stores a revision that was made elsewhere, or what a known one lacks.
    func putExisting(
        _ id: DocumentID, _ history: RevisionHistory, _ content: RevisionContent,
        isDeferring: Bool = false
    ) throws -> RevisionArrival {
        let (_, snapshot) = try transaction()
        try check(content, of: id, limit: snapshot.core.options.maximumDocumentSize)
        guard try !addExisting(id, history, content, isDeferring: isDeferring) else { return .new }
        return .known(supplied: try supplyMissing(content, of: id, history.newest))
    }

    // MARK: - Purging

    /// Removes a document without a trace; false when there is none.
    func purge(_ id: DocumentID) throws -> Bool {
        let (_, snapshot) = try transaction()
        guard let record = try snapshot.record(id) else { return false }
        try purge(id, record)
        return true
    }

    /// Removes a document whose record was just read.
    func purge(_ id: DocumentID, _ record: DocumentRecord) throws {
        let (writer, snapshot) = try transaction()
        beginWrites()
        let sequences = record.tree.sequences
        try removeRevisions(sequences, of: id, leaving: RevisionTree())
        // The document's place may be a pointer, which no node knows.
        if !sequences.contains(record.updateSequence) {
            try removeRevision(record.updateSequence, writer, snapshot)
        }
        if let time = record.expiration { try removeExpiration(ExpirationKey(time, id)) }
        // A tree that is whole now may have left blocks where a former release put it together.
        if record.tree.mayHaveOlder || record.tree.nodes.count > 1 { try removeOlder(of: id) }
        _ = try id.text.withSpan { key in
            try writer.remove(key: key, in: snapshot.core.stores.documents)
        }
        count(record, by: -1)
        try noteConflict(id, was: record.tree.isConflicted, is: false)
        try recordPurge(id, record.tree.leaves.map(\.id), whole: true, writer, snapshot)
    }

    /// Removes single leaves with the ancestors that no other leaf has; returns what was removed.
    func purge(_ id: DocumentID, leaves: [RevisionID]) throws -> [RevisionID] {
        let (writer, snapshot) = try transaction()
        guard let record = try snapshot.record(id) else { return [] }
        // The older revisions that only these leaves descend from are removed, too.
        var tree = try snapshot.whole(record.tree, of: id)
        let hasOlder = tree.nodes.count > record.tree.nodes.count
        var purged = tree.purge(leaves: leaves)
        guard !purged.purged.isEmpty else { return [] }
        guard let winner = tree.winner else {
            _ = try purge(id)
            return purged.purged
        }
        beginWrites()
        if hasOlder { try removeOlder(of: id) }
        purged.sequences += try separate(&tree, of: id)
        try removeRevisions(purged.sequences, of: id, leaving: tree)
        // The row at the document's place may now be out of date; a pointer holds the new state.
        state.lastSequence += 1
        let updated = DocumentRecord(
            tree: tree, updateSequence: state.lastSequence, expiration: record.expiration)
        try vacate(record.updateSequence, in: tree, writer, snapshot)
        try writePointer(state.lastSequence, id, winner)
        try writeRecord(id, old: record, new: updated)
        try recordPurge(id, purged.purged, whole: false, writer, snapshot)
        return purged.purged
    }

    private func recordPurge(
        _ id: DocumentID, _ revisions: [RevisionID], whole: Bool, _ writer: any StorageWriter,
        _ snapshot: Snapshot
    ) throws {
        state.lastPurge += 1
        let purge = PurgeRecord(documentID: id, revisions: revisions, isWholeDocument: whole)
        try withRow {
            purge.encode(into: &$0)
        } lent: {
            try writer.set($0, forKey: Int64(state.lastPurge), in: snapshot.core.stores.purges)
        }
        touch(id)
    }

    // MARK: - Local documents and settings

    /// Replaces a local document; nil removes it. There are no revisions to conflict with.
    package func putLocal(_ name: String, _ body: PackedValue?, revision: UInt64? = nil) throws {
        let (writer, snapshot) = try transaction()
        let old = try snapshot.localDocument(name)
        try name.withSpan { key in
            guard let body else {
                _ = try writer.remove(key: key, in: snapshot.core.stores.local)
                return
            }
            let new = LocalRecord(revision: revision ?? (old?.revision ?? 0) + 1, body: body)
            try withRow { row in
                try DatabaseCore.decoding(nil) { try new.encode(into: &row) }
            } lent: {
                try writer.set($0, forKey: key, in: snapshot.core.stores.local)
            }
        }
    }

    func set(_ setting: Setting, _ value: UInt64) throws {
        let (writer, snapshot) = try transaction()
        var bytes: [UInt8] = []
        Varint.append(value, to: &bytes)
        try writer.set(
            bytes.span, forKey: setting.key.span, in: snapshot.core.stores.info)
    }
}
