// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// A piece of what the indexer reads: documents changed since a sequence, and purges since a purge.
struct IndexFeed: Sendable {
    /// A document and its current revision; nil when that is a tombstone.
    struct Item: Sendable {
        var id: DocumentID
        var sequence: SequenceNumber
        var document: Document?
        /// Whether the row only pointed to the document, so that others may bring it again.
        var isConsulted = false
    }

    /// Enough to keep all cores busy, few enough to hold in memory and to write in one transaction.
    static let largestCount = 5_000
    static let largestBytes = 16 << 20

    var items: [Item] = []
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

    /// Whether nothing is left behind it.
    var isAtEnd: Bool { lastSequence >= state.lastSequence }
}

extension Snapshot {
    /// Reads the next piece of the feed for indexes: so many of the changes after a sequence, up to a
    /// bound if there is one, and the purges after a purge.
    func indexFeed(
        after sequence: SequenceNumber, purge: UInt64, through bound: SequenceNumber? = nil,
        count: Int = IndexFeed.largestCount
    ) throws -> IndexFeed {
        let state = try state()
        var feed = IndexFeed(lastSequence: sequence, lastPurge: state.lastPurge, state: state)
        try core.blaming(nil) {
            feed.purged = try purgedDocuments(after: purge)
            try readItems(into: &feed, through: bound ?? state.lastSequence, count)
        }
        return feed
    }

    private func readItems(
        into feed: inout IndexFeed, through bound: SequenceNumber, _ count: Int
    ) throws {
        let rows = try reader.cursor(in: core.stores.revisions)
        let marks = try reader.cursor(in: core.stores.superseded)
        defer {
            rows.close()
            marks.close()
        }
        let start = Int64(clamping: feed.lastSequence)
        let largestBytes = min(IndexFeed.largestBytes, core.options.indexingMemory)
        guard start < Int64.max else { return }
        var nextMark = try marks.seek(toAtLeast: start + 1) ? marks.integerKey : .max
        var found = try rows.seek(toAtLeast: start + 1)
        while found, rows.integerKey <= Int64(clamping: bound) {
            let key = rows.integerKey
            while nextMark < key { nextMark = try marks.next() ? marks.integerKey : .max }
            if key != nextMark {
                let item = try item(rows, SequenceNumber(key))
                feed.bytes += item.document?.body.bytes.count ?? 0
                feed.items.append(item)
            }
            feed.lastSequence = SequenceNumber(key)
            if feed.items.count >= count || feed.bytes >= largestBytes {
                return
            }
            found = try rows.next()
        }
        // Marks of rows at the end are passed, too.
        feed.lastSequence = max(feed.lastSequence, bound)
    }

    private func item(_ rows: any StorageCursor, _ sequence: SequenceNumber) throws
        -> IndexFeed.Item
    {
        var item: IndexFeed.Item?
        var elsewhere: DocumentID?
        try rows.withValue { bytes in
            let row = try core.decoding(nil) { try RevisionRow(bytes) }
            let id = row.documentID
            guard row.flags.isDisjoint(with: [.consultDocument, .largeBody]) else {
                return elsewhere = id
            }
            item = IndexFeed.Item(id: id, sequence: sequence)
            guard !row.flags.contains(.tombstone) else { return }
            item?.document = Document(
                documentID: id, revisionID: row.revisionID, sequence: sequence, isDeleted: false,
                body: PackedValue(copying: bytes.extracting(row.body)),
                store: core.attachments.number)
        }
        if let elsewhere {
            item = IndexFeed.Item(
                id: elsewhere, sequence: sequence, document: try document(elsewhere),
                isConsulted: true)
        }
        guard let item else { throw DatabaseError.corrupted("A stored row", nil) }
        return item
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
