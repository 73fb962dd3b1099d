// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// A piece of both feeds with the details that listeners get. Who made each change is added later:
/// it is known for sure only when the reading is over; see `CommitSources`.
struct DetailedPiece: Sendable {
    /// Each with its purge number.
    var purges: [(number: UInt64, change: DocumentChange)] = []
    var changes: [DocumentChange] = []
    /// Where the next reading begins.
    var end: DatabaseMark
    /// Whether documents were purged that are forgotten.
    var hasForgottenPurges = false

    /// The changes with their sources.
    func labelled(by sources: CommitSources) -> [DocumentChange] {
        let purged = purges.map { purge in
            var change = purge.change
            change.source = sources.source(ofPurge: purge.number)
            return change
        }
        return purged
            + changes.map { change in
                var change = change
                if let sequence = change.sequence {
                    change.source = sources.source(ofSequence: sequence)
                }
                return change
            }
    }
}

extension Snapshot {
    /// What was purged and changed after a mark, up to `limit` of each; see `touchedDocuments`.
    func detailedChanges(after start: DatabaseMark, limit: Int) throws -> DetailedPiece {
        try DatabaseCore.blaming(nil) {
            var piece = DetailedPiece(end: start)
            guard try !state().mark.isReached(by: start) else { return piece }
            piece.hasForgottenPurges = try start.purge < state().forgottenPurge
            let purges = try forEachPurge(after: start.purge, limit: limit) { rows, number in
                guard let record = try readable(rows, { try PurgeRecord($0) }),
                    record.isWholeDocument
                else { return }
                let change = DocumentChange(documentID: record.documentID, isPurge: true)
                piece.purges.append((number, change))
            }
            piece.end.purge = purges.last
            guard purges.isAtEnd else { return piece }
            let end = try forEachPlace(after: start.sequence, limit: limit) { rows, sequence in
                if let head = try readable(rows, { try RevisionRow($0) }) {
                    piece.changes.append(try documentChange(head, sequence))
                }
                return true
            }
            piece.end.sequence = end.last
            return piece
        }
    }

    /// The changes of one document after a mark, a purge first.
    func detailedChanges(of id: DocumentID, after start: DatabaseMark) throws -> DetailedPiece {
        try DatabaseCore.blaming(id) {
            var piece = DetailedPiece(end: try state().mark)
            _ = try forEachPurge(after: start.purge, limit: .max) { rows, number in
                guard let record = try readable(rows, { try PurgeRecord($0) }),
                    record.documentID == id, record.isWholeDocument
                else { return }
                piece.purges = [(number, DocumentChange(documentID: id, isPurge: true))]
            }
            let head = try head(id)
            let forgotten = try state().forgottenPurge
            if head == nil, piece.purges.isEmpty, start.purge < forgotten {
                // It was purged too long ago to be in the list, or was never there.
                piece.purges = [(forgotten, DocumentChange(documentID: id, isPurge: true))]
            }
            guard let sequence = head?.updateSequence, sequence > start.sequence else {
                return piece
            }
            let rows = try reader.cursor(in: core.stores.revisions)
            defer { rows.close() }
            let key = Int64(clamping: sequence)
            guard try rows.seek(toAtLeast: key), rows.integerKey == key else {
                throw DatabaseError.corrupted("The row of the last change", id)
            }
            try rows.withValue { row in
                let head = try DatabaseCore.decoding(id) { try RevisionRow(row) }
                piece.changes = [try documentChange(head, sequence)]
            }
            return piece
        }
    }

    /// The change that the row at a document's place in the feed tells of.
    private func documentChange(_ row: RevisionRow, _ sequence: SequenceNumber) throws
        -> DocumentChange
    {
        var change = DocumentChange(
            documentID: row.documentID, revisionID: row.revisionID,
            sequence: sequence, isCurrentRevision: true,
            isDeletion: row.flags.contains(.tombstone))
        guard row.flags.contains(.consultDocument) else { return change }
        // A record that cannot be read hides whether the revision won; the change is told all the same.
        guard let tree = try readableRecord(row.documentID)?.tree else { return change }
        change.isCurrentRevision = tree.winner?.id == row.revisionID
        change.isConflict = tree.isConflicted
        return change
    }

    private func readableRecord(_ id: DocumentID) throws -> DocumentRecord? {
        do { return try record(id) } catch let error as DatabaseError {
            guard error.code == .corrupted else { throw error }
            return nil
        }
    }
}
