// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
internal import DivanStorage

/// The current revision of a document, as its record tells.
package struct CurrentRevision {
    /// The document's ID.
    package let id: DocumentID
    /// The ID of the revision.
    package let revision: RevisionID
    /// 0 when its body is gone.
    package let sequence: SequenceNumber
    /// Whether it is a tombstone.
    package let isDeleted: Bool

    /// Names the current revision of a document.
    package init(id: DocumentID, revision: RevisionID, sequence: SequenceNumber, isDeleted: Bool) {
        self.id = id
        self.revision = revision
        self.sequence = sequence
        self.isDeleted = isDeleted
    }
}

/// Fetches bodies by sequence for an enumeration in another order.
///
/// IDs are made in the order of time, so the next document's body usually lies right after the body
/// of the last one: then a step of a cursor replaces a search.
package final class BodyCursor {
    private let snapshot: Snapshot
    private let cursor: any StorageCursor
    /// The key of the row that was read last.
    private var last: Int64 = .min
    /// Whether the cursor stands on that row.
    private var isPlaced = false

    /// Opens a cursor, which ``close()`` closes.
    package init(_ snapshot: Snapshot) throws {
        self.snapshot = snapshot
        cursor = try snapshot.reader.cursor(in: snapshot.core.stores.revisions)
    }

    /// Closes the cursor.
    package func close() { cursor.close() }

    /// Reads the document that a row names.
    package func document(_ row: CurrentRevision) throws -> Document? {
        let id = row.id
        var body: PackedValue?
        let isThere = try DatabaseCore.blaming(id) {
            try withRow(Int64(row.sequence)) { stored in
                let layout = try DatabaseCore.decoding(id) { try RevisionRow.Layout(stored) }
                let revision = try DatabaseCore.decoding(id) { try layout.revisionID(in: stored) }
                guard revision == row.revision else {
                    throw DatabaseError.corrupted("The current revision", id)
                }
                guard !layout.flags.contains(.largeBody) else { return }
                body = PackedValue(copying: stored.extracting(layout.body))
            }
        }
        guard isThere else { throw DatabaseError.corrupted("The current revision", id) }
        guard let body else {
            // A large body: the ordinary way, which reads its chunks.
            return try snapshot.document(id, revision: row.revision)
        }
        return Document(
            id: id, revisionID: row.revision, sequence: row.sequence, isDeleted: row.isDeleted,
            body: body, store: snapshot.core.attachments.number)
    }

    /// Lends the row with a key; returns whether there is one.
    private func withRow(_ key: Int64, _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        let isNext = last == key - 1
        last = key
        guard isNext else {
            isPlaced = false
            return try snapshot.reader.withValue(
                forKey: key, in: snapshot.core.stores.revisions, body)
        }
        isPlaced = try isPlaced ? cursor.next() : cursor.seek(toAtLeast: key)
        guard isPlaced, cursor.integerKey == key else {
            isPlaced = false
            return false
        }
        try cursor.withValue(body)
        return true
    }
}
