// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// What an edit stores: checked before the first write.
struct RevisionContent {
    var body: PackedValue
    var isDeleted: Bool
}

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
    func transaction() throws -> (writer: any StorageWriter, snapshot: Snapshot) {
        guard let writer, let snapshot else {
            throw StorageError(.misuse, "No write transaction is open.")
        }
        return (writer, snapshot)
    }

    /// Checks a body against the rules for documents and the size limit.
    ///
    /// - Returns: The reserved keys that replicated revisions may hold, and an app may not set.
    @discardableResult
    func check(_ content: RevisionContent, of id: DocumentID, limit: Int) throws -> [String] {
        guard content.body.kind == .object else { throw DatabaseError.notAnObject(id) }
        let reserved = content.body.reservedKeys
        if let key = reserved.first(where: { $0 != "_attachments" && $0 != "_removed" }) {
            throw DatabaseError.reservedKey(key, id)
        }
        let size = content.body.bytes.count
        guard size <= limit else { throw DatabaseError.tooLarge(id, bytes: size, limit: limit) }
        return reserved
    }

    /// Refuses reserved keys in an app's edit, but for those that came with the revision it edits.
    func checkCarried(_ reserved: [String], _ id: DocumentID, base: RevisionID?) throws {
        guard let first = reserved.first else { return }
        let (_, snapshot) = try transaction()
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
        let (writer, snapshot) = try transaction()
        let revision = revisionID(of: content, parent: nil, core: snapshot.core)
        let sequence = state.lastSequence + 1
        row.removeAll(keepingCapacity: true)
        let isDeleted = content.isDeleted
        DocumentRecord.encode(
            only: revision, isTombstone: isDeleted, sequence: sequence, into: &row)
        let isNew = try withRow { row in
            try id.text.withSpan { key in
                try writer.insert(row, forKey: key, in: snapshot.core.stores.documents)
            }
        }
        guard isNew else { return nil }
        beginWrites()
        state.lastSequence = sequence
        if isDeleted { state.deletedDocuments += 1 } else { state.liveDocuments += 1 }
        try writeRevision(
            sequence, id, revision, content, consultDocument: false, writer, snapshot.core)
        touch(id)
        return Document(
            documentID: id, revisionID: revision, sequence: sequence, isDeleted: isDeleted,
            body: content.body)
    }

    /// Adds an edit below `parent`, which must be a leaf unless `allowConflict` says otherwise.
    func addEdit(
        _ id: DocumentID, _ content: RevisionContent, record: DocumentRecord?,
        parent: RevisionID?, allowConflict: Bool = false
    ) throws -> Document {
        let (_, snapshot) = try transaction()
        let revision = revisionID(of: content, parent: parent, core: snapshot.core)
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
        // The same edit of the same revision, made before: same ID, nothing to store.
        guard isNew else {
            guard let node = updated.tree.node(revision) else {
                throw DatabaseError.conflict(id, parent: parent)
            }
            return Document(
                documentID: id, revisionID: revision, sequence: node.sequence ?? 0,
                isDeleted: content.isDeleted, body: content.body)
        }
        try store(id, revision, content, sequence, old: record, new: &updated)
        return Document(
            documentID: id, revisionID: revision, sequence: sequence, isDeleted: content.isDeleted,
            body: content.body)
    }

    /// Adds a revision made elsewhere, with its history; false when it is already here.
    func addExisting(_ id: DocumentID, _ history: RevisionHistory, _ content: RevisionContent)
        throws -> Bool
    {
        let (_, snapshot) = try transaction()
        let record = try snapshot.record(id)
        var updated = record ?? DocumentRecord(tree: RevisionTree(), updateSequence: 0)
        let sequence = state.lastSequence + 1
        guard
            updated.tree.insert(
                existing: history, isTombstone: content.isDeleted, sequence: sequence)
        else { return false }
        try store(id, history.newest, content, sequence, old: record, new: &updated)
        return true
    }

    func revisionID(of content: RevisionContent, parent: RevisionID?, core: DatabaseCore)
        -> RevisionID
    {
        RevisionID.of(
            parent: parent, isDeleted: content.isDeleted, body: content.body, digest: core.digest,
            scratch: &digestInput)
    }

    // MARK: - Rows

    /// Writes a new revision and its document's record, and keeps marks and counters right.
    private func store(
        _ id: DocumentID, _ revision: RevisionID, _ content: RevisionContent,
        _ sequence: SequenceNumber, old: DocumentRecord?, new: inout DocumentRecord
    ) throws {
        let (writer, snapshot) = try transaction()
        beginWrites()
        state.lastSequence = sequence
        new.updateSequence = sequence
        let stemmed = new.tree.stem(to: maxRevTreeDepth)
        let consult = new.tree.leaves.count > 1 || new.tree.winner?.id != revision
        try writeRevision(
            sequence, id, revision, content, consultDocument: consult, writer, snapshot.core)
        // Stemmed rows go first: a row that is gone needs no mark.
        for gone in stemmed where gone != sequence { try removeRevision(gone, writer, snapshot) }
        if let old { try markSuperseded(by: revision, old: old, new: new, writer, snapshot) }
        try writeRecord(id, old: old, new: new)
    }

    /// Writes a document's record and adjusts the counters.
    func writeRecord(_ id: DocumentID, old: DocumentRecord?, new: DocumentRecord) throws {
        let (writer, snapshot) = try transaction()
        row.removeAll(keepingCapacity: true)
        new.encode(into: &row)
        try withRow { row in
            try id.text.withSpan { key in
                try writer.set(row, forKey: key, in: snapshot.core.stores.documents)
            }
        }
        count(old, by: -1)
        count(new, by: 1)
        touch(id)
    }

    /// Adds or takes a document's part of the counters.
    func count(_ record: DocumentRecord?, by step: Int64) {
        guard let record else { return }
        func add(_ counter: inout UInt64) {
            counter = UInt64(bitPattern: Int64(bitPattern: counter) + step)
        }
        if record.tree.isDeleted { add(&state.deletedDocuments) } else { add(&state.liveDocuments) }
        if record.tree.isConflicted { add(&state.conflictedDocuments) }
    }

    private func writeRevision(
        _ sequence: SequenceNumber, _ id: DocumentID, _ revision: RevisionID,
        _ content: RevisionContent, consultDocument: Bool, _ writer: any StorageWriter,
        _ core: DatabaseCore
    ) throws {
        var flags: RevisionRow.Flags = []
        if content.isDeleted { flags.insert(.tombstone) }
        if consultDocument { flags.insert(.consultDocument) }
        let length = content.body.bytes.count
        let isLarge = length > RevisionRow.largestInlineBody
        if isLarge { flags.insert(.largeBody) }
        row.removeAll(keepingCapacity: true)
        RevisionRow.appendHead(flags: flags, id: id, revision: revision, to: &row)
        if isLarge {
            Varint.append(UInt64(length), to: &row)
            try content.body.withBytes { bytes in
                for chunk in 0..<LargeBody.chunkCount(length) {
                    let start = chunk * LargeBody.chunkSize
                    let end = min(start + LargeBody.chunkSize, length)
                    try writer.set(
                        bytes.extracting(start..<end),
                        forKey: LargeBody.key(sequence, chunk: chunk).span,
                        in: core.stores.largeBodies)
                }
            }
        } else {
            content.body.withBytes { row.append(copying: $0) }
        }
        try withRow { try writer.set($0, forKey: Int64(sequence), in: core.stores.revisions) }
    }

    /// Writes a row without a body that gives a document a new place in the feed.
    func writePointer(
        _ sequence: SequenceNumber, _ id: DocumentID, _ winner: RevisionTree.Node
    ) throws {
        let (writer, snapshot) = try transaction()
        var flags: RevisionRow.Flags = .consultDocument
        if winner.isTombstone { flags.insert(.tombstone) }
        row.removeAll(keepingCapacity: true)
        RevisionRow.appendHead(flags: flags, id: id, revision: winner.id, to: &row)
        try withRow {
            try writer.set($0, forKey: Int64(sequence), in: snapshot.core.stores.revisions)
        }
    }

    /// Marks the rows that an edit put out of the feed.
    ///
    /// Only two can change: the new revision's parent, which stops being a leaf, and the row at the
    /// document's former place in the feed, which may be another leaf's or a pointer.
    private func markSuperseded(
        by revision: RevisionID, old: DocumentRecord, new: DocumentRecord,
        _ writer: any StorageWriter, _ snapshot: Snapshot
    ) throws {
        // Only an ancestor can have stopped being a leaf; a document may have 10,000 other leaves.
        for ancestor in new.tree.history(of: revision).dropFirst() {
            guard let node = old.tree.node(ancestor), node.isLeaf, let sequence = node.sequence
            else { continue }
            try mark(sequence, .dead, writer, snapshot)
        }
        try vacate(old.updateSequence, in: new.tree, writer, snapshot)
    }

    /// Takes the row at a document's former place out of the feed.
    func vacate(
        _ sequence: SequenceNumber, in tree: RevisionTree, _ writer: any StorageWriter,
        _ snapshot: Snapshot
    ) throws {
        guard let node = tree.nodes.first(where: { $0.sequence == sequence }) else {
            // A pointer, or the row of a revision that is gone with its document's change.
            _ = try writer.remove(key: Int64(sequence), in: snapshot.core.stores.revisions)
            return
        }
        if node.isLeaf { try mark(sequence, .shadowed, writer, snapshot) }
    }

    private func mark(
        _ sequence: SequenceNumber, _ mark: SupersededMark, _ writer: any StorageWriter,
        _ snapshot: Snapshot
    ) throws {
        let value = [mark.rawValue]
        try writer.set(value.span, forKey: Int64(sequence), in: snapshot.core.stores.superseded)
        if mark == .dead { state.deadBodies += 1 }
    }

    /// Deletes a stored revision with everything under its sequence.
    func removeRevision(
        _ sequence: SequenceNumber, _ writer: any StorageWriter, _ snapshot: Snapshot
    ) throws {
        let stores = snapshot.core.stores
        let key = Int64(sequence)
        var largeLength = 0
        _ = try writer.withValue(forKey: key, in: stores.revisions) { row in
            let head = try snapshot.core.decoding(nil) { try RevisionRow(row) }
            if head.flags.contains(.largeBody) { largeLength = head.largeLength }
        }
        for chunk in 0..<LargeBody.chunkCount(largeLength) {
            let chunkKey = LargeBody.key(sequence, chunk: chunk)
            _ = try writer.remove(key: chunkKey.span, in: stores.largeBodies)
        }
        _ = try writer.remove(key: key, in: stores.revisions)
        var wasDead = false
        _ = try writer.withValue(forKey: key, in: stores.superseded) { value in
            wasDead = value.count > 0 && value[0] == SupersededMark.dead.rawValue
        }
        // A damaged file may have more marks than were counted.
        if wasDead && state.deadBodies > 0 { state.deadBodies -= 1 }
        _ = try writer.remove(key: key, in: stores.superseded)
    }
}
