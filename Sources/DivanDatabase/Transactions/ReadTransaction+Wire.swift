// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel
internal import DivanStorage

// Reads that servers need and apps do not.
extension ReadTransaction {
    /// Returns a local document with the number of its revision, which counts its changes.
    package func numberedLocalDocument(_ id: DocumentID) throws -> (
        revision: UInt64, body: PackedValue
    )? {
        try snapshot.localDocument(LocalID.name(in: id)).map { ($0.revision, $0.body) }
    }

    /// Calls `body` with the name, revision number and body of each local document, in the order of
    /// names, until it returns false.
    package func forEachLocalDocument(
        after last: String? = nil,
        _ body: (_ name: String, _ revision: UInt64, _ body: PackedValue) throws -> Bool
    ) throws {
        let core = snapshot.core
        try DatabaseCore.blaming(nil) {
            let cursor = try snapshot.reader.cursor(in: core.stores.local)
            defer { cursor.close() }
            // The next key in the order of bytes is the same one with a zero behind it.
            let start: [UInt8] = last.map { Array($0.utf8) + [0] } ?? []
            var found = try cursor.seek(toAtLeast: start.span)
            var goesOn = true
            while found, goesOn {
                try cursor.withRow { key, value in
                    let record = try DatabaseCore.decoding(nil) { try LocalRecord(value) }
                    goesOn = try body(String(utf8: key), record.revision, record.body)
                }
                found = try cursor.next()
            }
        }
    }

    /// Returns the changes before a sequence, the newest first.
    ///
    /// - Parameters:
    ///   - end: The first sequence that is left out, above all that are wanted; nil for the newest.
    ///   - limit: How many changes at most.
    /// - Returns: The changes, each document once.
    /// - Throws: `DatabaseError` with code `.corrupted` or `.io`.
    package func newestChanges(before end: SequenceNumber? = nil, limit: Int) throws -> [Change] {
        try snapshot.newestChanges(before: end, limit: limit)
    }

    /// The number of documents whose winner is a tombstone.
    package var deletedDocumentCount: Int {
        get throws { Int(clamping: try snapshot.state().deletedDocuments) }
    }

    /// Calls a closure with each purge that compaction has not forgotten, oldest first: the document, and the
    /// revisions that were removed.
    package func forEachPurge(_ body: (_ id: DocumentID, _ revisions: [RevisionID]) throws -> Void)
        throws
    {
        let snapshot = snapshot
        _ = try snapshot.forEachPurge(after: 0, limit: .max) { rows, _ in
            guard let purge = try snapshot.readable(rows, { try PurgeRecord($0) }) else { return }
            try body(purge.documentID, purge.revisions)
        }
    }

    /// How many purges there have been.
    package var lastPurge: UInt64 { get throws { try snapshot.state().lastPurge } }
}
