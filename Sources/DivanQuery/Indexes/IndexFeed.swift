// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// A part of what the indexer reads: documents changed since a sequence, and purges since a purge.
struct IndexFeed: Sendable {
    /// A row that stands for a document.
    struct Item: Sendable {
        var sequence: SequenceNumber
        /// Whether the row only pointed to the document, so that other rows may bring it again.
        var isConsulted = false
    }

    var items: [Item] = []
    /// The IDs of the items, and the current revisions, nil for tombstones; empty if no index needs them.
    var documents: [(id: DocumentID, document: Document?)] = []
    /// The bytes of the bodies of their documents.
    var bytes = 0
    /// Documents purged whole, by purge sequence, in order; some may exist again.
    var purged: [(purge: UInt64, id: DocumentID)] = []
    /// Every change up to here is in it.
    var lastSequence: SequenceNumber
    /// Every purge up to here is in it.
    var lastPurge: UInt64
    /// Where the database stood when it was read.
    var state: DatabaseState

}

extension Snapshot {
    /// Reads the next part of the feed for indexes: the changes after a sequence, up to a bound if there
    /// is one, until a number of changes or of bytes is reached; and the purges after a purge, if asked
    /// for. The bodies are lent to the indexes that need nothing else.
    func indexFeed(
        after sequence: SequenceNumber, purge: UInt64?, through bound: SequenceNumber? = nil,
        count: Int, bytes: Int, lendingTo lent: inout LentMapping
    ) throws -> IndexFeed {
        let state = try state()
        var feed = IndexFeed(lastSequence: sequence, lastPurge: state.lastPurge, state: state)
        try core.blaming(nil) {
            if let purge { feed.purged = try purgedDocuments(after: purge) }
            try readItems(
                into: &feed, through: bound ?? state.lastSequence, count, bytes, &lent)
        }
        return feed
    }

    private func readItems(
        into feed: inout IndexFeed, through bound: SequenceNumber, _ count: Int, _ bytes: Int,
        _ lent: inout LentMapping
    ) throws {
        let rows = try reader.cursor(in: core.stores.revisions)
        let marks = try reader.cursor(in: core.stores.superseded)
        defer {
            rows.close()
            marks.close()
        }
        let start = Int64(clamping: feed.lastSequence)
        guard start < Int64.max else { return }
        var nextMark = try marks.seek(toAtLeast: start + 1) ? marks.integerKey : .max
        var found = try rows.seek(toAtLeast: start + 1)
        while found, rows.integerKey <= Int64(clamping: bound) {
            let key = rows.integerKey
            while nextMark < key { nextMark = try marks.next() ? marks.integerKey : .max }
            if key != nextMark {
                try read(rows, SequenceNumber(key), into: &feed, &lent)
            }
            feed.lastSequence = SequenceNumber(key)
            if feed.items.count >= count || feed.bytes >= bytes { return }
            found = try rows.next()
        }
        // The marks of rows at the end are passed, too.
        feed.lastSequence = max(feed.lastSequence, bound)
    }

    private func read(
        _ rows: any StorageCursor, _ sequence: SequenceNumber, into feed: inout IndexFeed,
        _ lent: inout LentMapping
    ) throws {
        var item = IndexFeed.Item(sequence: sequence)
        var elsewhere: DocumentID?
        var (size, kept): (Int, (DocumentID, Document?)?) = (0, nil)
        try rows.withValue { bytes in
            let content = try core.decoding(nil) { try RevisionRow.Content(bytes) }
            guard content.standsAlone else {
                return elsewhere = try core.decoding(nil) { try RevisionRow.documentID(bytes) }
            }
            let isTombstone = content.isTombstone
            let body = bytes.extracting(isTombstone ? 0..<0 : content.body)
            size = body.count
            try core.decoding(nil) { try lent.map(row: bytes, item, body) }
            guard lent.leavesSome else { return }
            let id = try core.decoding(nil) { try RevisionRow.documentID(bytes) }
            guard !isTombstone else { return kept = (id, nil) }
            let document = Document(
                documentID: id, revisionID: content.revisionID, sequence: sequence,
                isDeleted: false, body: PackedValue(copying: body),
                store: core.attachments.number)
            kept = (id, document)
        }
        if let elsewhere {
            let document = try document(elsewhere)
            item.isConsulted = true
            lent.map(elsewhere, item, document)
            size = document?.body.byteCount ?? 0
            kept = (elsewhere, document)
        }
        feed.bytes += size
        feed.items.append(item)
        if lent.leavesSome, let kept { feed.documents.append(kept) }
    }

    /// The documents purged whole since a purge; purges of single revisions are in the feed.
    private func purgedDocuments(after purge: UInt64) throws -> [(purge: UInt64, id: DocumentID)] {
        guard purge < UInt64(Int64.max) else { return [] }
        var purged: [(purge: UInt64, id: DocumentID)] = []
        let cursor = try reader.cursor(in: core.stores.purges)
        defer { cursor.close() }
        var found = try cursor.seek(toAtLeast: Int64(purge) + 1)
        while found {
            try cursor.withValue { row in
                let record = try core.decoding(nil) { try PurgeRecord(row) }
                guard record.isWholeDocument else { return }
                purged.append((UInt64(cursor.integerKey), record.documentID))
            }
            found = try cursor.next()
        }
        return purged
    }
}
