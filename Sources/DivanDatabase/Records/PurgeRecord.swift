// SPDX-License-Identifier: Apache-2.0

package import DivanModel

/// The row of a purge in `purges`, keyed by its purge sequence.
///
///     offset  size  meaning
///          0     1  flags: 1 the whole document went
///          1     …  varint length and UTF-8 of the document ID
///          …     …  varint count, then the purged leaf revision IDs
package struct PurgeRecord: Equatable {
    /// How many of the newest purges are kept: a follower must be further behind than this to miss one.
    package static let keptUnlessSet: UInt64 = 10_000

    /// The document that was purged, or whose revisions were.
    package var documentID: DocumentID
    /// The leaf revisions that were purged.
    package var revisions: [RevisionID]
    /// Whether nothing of the document was left.
    package var isWholeDocument: Bool

    init(documentID: DocumentID, revisions: [RevisionID], isWholeDocument: Bool) {
        self.documentID = documentID
        self.revisions = revisions
        self.isWholeDocument = isWholeDocument
    }

    /// Reads a row.
    package init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        isWholeDocument = try reader.byte(row) & 1 != 0
        documentID = DocumentID(try reader.text(row))
        let count = try reader.varint(row)
        guard count <= UInt64(row.count) else { throw MalformedRow() }
        revisions = []
        for _ in 0..<count { revisions.append(try RevisionID.decode(row, at: &reader.offset)) }
    }

    func encode(into row: inout [UInt8]) {
        row.append(isWholeDocument ? 1 : 0)
        row.append(text: documentID.text)
        Varint.append(UInt64(revisions.count), to: &row)
        for revision in revisions { revision.append(to: &row) }
    }
}
