// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel
internal import DivanStorage

/// A document in the changes feed: where it stands now, not what became of it in between.
public struct Change: Sendable, Equatable {
    /// The place in the feed; the next reading begins after it.
    public var sequence: SequenceNumber
    /// The document's ID.
    public var id: DocumentID
    /// The IDs of all leaf revisions, the current one first.
    public var revisions: [RevisionID]
    /// Whether the current revision is a tombstone.
    public var isDeleted: Bool

    /// Makes a change.
    public init(sequence: SequenceNumber, id: DocumentID, revisions: [RevisionID], isDeleted: Bool)
    {
        self.sequence = sequence
        self.id = id
        self.revisions = revisions
        self.isDeleted = isDeleted
    }
}

/// A piece of the changes feed.
public struct ChangesBatch: Sendable {
    /// The changes, in the order of their sequences.
    public var changes: [Change]
    /// Where the next reading begins: pass it as `since`.
    public var lastSequence: SequenceNumber
}

extension Snapshot {
    /// Reads the feed. Each document is in it once, at the sequence of its last change.
    func changes(since start: SequenceNumber, limit: Int?) throws -> ChangesBatch {
        try changes(since: start, limit: limit, examining: .max, where: nil).batch
    }

    /// Reads the feed, leaving out what a filter does not let through, and tells whether its end was
    /// reached.
    ///
    /// It looks at `most` changes only, so that a filter that lets nothing through does not hold the
    /// snapshot for long.
    func changes(
        since start: SequenceNumber, limit: Int?, examining most: Int,
        where passes: ((Document) throws -> Bool)?
    ) throws -> (batch: ChangesBatch, isAtEnd: Bool) {
        try DatabaseError.check(limit: limit)
        var batch = ChangesBatch(changes: [], lastSequence: start)
        var isAtEnd = false
        try DatabaseCore.blaming(nil) {
            let most = limit == 0 ? 0 : most
            let end = try forEachPlace(after: start, limit: most) { rows, sequence in
                if try passes?(current(rows, sequence)) ?? true {
                    batch.changes.append(try change(rows, sequence))
                }
                return batch.changes.count < limit ?? .max
            }
            (batch.lastSequence, isAtEnd) = end
        }
        return (batch, isAtEnd)
    }

    /// Reads the feed backwards from before a sequence.
    func newestChanges(before end: SequenceNumber?, limit: Int) throws -> [Change] {
        try DatabaseCore.blaming(nil) {
            let rows = try reader.cursor(in: core.stores.revisions)
            defer { rows.close() }
            var changes: [Change] = []
            var found = try rows.seekToLast()
            if let end {
                guard end > 1 else { return [] }
                found = try rows.seek(toAtMost: Int64(clamping: end - 1))
            }
            while found, changes.count < limit {
                let key = rows.integerKey
                if try !reader.withValue(forKey: key, in: core.stores.superseded, { _ in }) {
                    changes.append(try change(rows, SequenceNumber(key)))
                }
                found = try rows.previous()
            }
            return changes
        }
    }

    /// The current revision of the document whose change a cursor stands on.
    private func current(_ rows: any StorageCursor, _ sequence: SequenceNumber) throws -> Document {
        var document: Document?
        var id: DocumentID?
        try rows.withValue { row in
            let head = try DatabaseCore.decoding(nil) { try RevisionRow(row) }
            id = head.documentID
            guard head.flags.isDisjoint(with: [.consultDocument, .largeBody]) else { return }
            document = Document(
                id: head.documentID, revisionID: head.revisionID, sequence: sequence,
                isDeleted: head.flags.contains(.tombstone),
                body: PackedValue(copying: row.extracting(head.body)),
                store: core.attachments.number)
        }
        if document == nil, let id { document = try self.document(id, includingDeleted: true) }
        guard let document else { throw DatabaseError.corrupted("The record", id) }
        return document
    }

    private func change(_ rows: any StorageCursor, _ sequence: SequenceNumber) throws -> Change {
        var head: RevisionRow?
        try rows.withValue { row in head = try DatabaseCore.decoding(nil) { try RevisionRow(row) } }
        guard let head else { throw DatabaseError.corrupted("A stored row", nil) }
        guard head.flags.contains(.consultDocument) else {
            return Change(
                sequence: sequence, id: head.documentID,
                revisions: [head.revisionID],
                isDeleted: head.flags.contains(.tombstone))
        }
        guard let record = try record(head.documentID) else {
            throw DatabaseError.corrupted("The record", head.documentID)
        }
        return Change(
            sequence: sequence, id: head.documentID,
            revisions: record.tree.leaves.map(\.id), isDeleted: record.tree.isDeleted)
    }
}

extension Database {
    /// Returns the documents changed after a sequence, each once, in the order of their last change.
    ///
    /// ```swift
    /// var since: SequenceNumber = 0
    /// let batch = try database.changes(since: since, limit: 100)
    /// since = batch.lastSequence
    /// ```
    ///
    /// - Parameters:
    ///   - sequence: Where the last reading ended; 0 for the beginning.
    ///   - limit: How many changes at most; nil for all.
    /// - Returns: The changes, and where the next reading begins.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a negative `limit`, `.databaseClosed`, `.io` or
    ///   `.corrupted`.
    public func changes(since sequence: SequenceNumber = 0, limit: Int? = nil) throws
        -> ChangesBatch
    {
        try read { try $0.changes(since: sequence, limit: limit) }
    }

    /// The changes after a sequence, now and from now on, in batches of up to `limit`.
    ///
    /// The stream waits for commits of this process and of others without polling, and ends when the
    /// database is closed. Nothing is queued for a slow reader: each batch is read when it is asked
    /// for, so a document that changed twice meanwhile comes once.
    public func changeStream(since sequence: SequenceNumber = 0, limit: Int = 1_000) -> ChangeStream
    {
        ChangeStream(database: self, since: sequence, limit: limit)
    }
}
