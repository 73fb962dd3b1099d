// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// The row of a purge in `purges`, keyed by its purge sequence.
///
///     offset  size  meaning
///          0     1  flags: 1 the whole document went
///          1     …  varint length and UTF-8 of the document ID
///          …     …  varint count, then the purged leaf revision IDs
struct PurgeRecord: Equatable {
    var documentID: DocumentID
    var revisions: [RevisionID]
    var isWholeDocument: Bool

    init(documentID: DocumentID, revisions: [RevisionID], isWholeDocument: Bool) {
        self.documentID = documentID
        self.revisions = revisions
        self.isWholeDocument = isWholeDocument
    }

    init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        isWholeDocument = try reader.byte(row) & 1 != 0
        documentID = DocumentID(unchecked: try reader.text(row))
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
