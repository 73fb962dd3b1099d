// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

extension IndexPart {
    /// Reads a part in a snapshot of its own: the changes after a sequence, up to a bound if there is one,
    /// until a number of changes or of bytes is reached; and the purges after a purge, if asked for. The
    /// bodies are lent to the indexes that need nothing else.
    init(
        _ core: DatabaseCore, for indexes: [OutdatedIndex], after sequence: SequenceNumber,
        purge: UInt64?, through bound: SequenceNumber?, count: Int, bytes: Int
    ) throws {
        var mapper = IndexMapper(indexes, areLent: true)
        self = try core.read { snapshot in
            var part = IndexPart(indexes, after: sequence, in: try snapshot.state())
            try core.blaming(nil) {
                if let purge { part.purged = try snapshot.purgedDocuments(after: purge) }
                try snapshot.readItems(into: &part, through: bound, count, bytes, &mapper)
            }
            return part
        }
        mapper.finish(into: &rows)
    }

    /// Whether there are indexes that need documents.
    fileprivate var needsDocuments: Bool { indexes.contains { $0.definition.lentMap == nil } }
}

extension Snapshot {
    fileprivate func readItems(
        into part: inout IndexPart, through bound: SequenceNumber?, _ count: Int, _ bytes: Int,
        _ mapper: inout IndexMapper
    ) throws {
        let rows = try reader.cursor(in: core.stores.revisions)
        let marks = try reader.cursor(in: core.stores.superseded)
        defer {
            rows.close()
            marks.close()
        }
        let start = Int64(clamping: part.start)
        guard start < Int64.max else { return }
        let bound = bound ?? part.bound
        let keepsDocuments = part.needsDocuments
        var nextMark = try marks.seek(toAtLeast: start + 1) ? marks.integerKey : .max
        var found = try rows.seek(toAtLeast: start + 1)
        while found, rows.integerKey <= Int64(clamping: bound) {
            let key = rows.integerKey
            while nextMark < key { nextMark = try marks.next() ? marks.integerKey : .max }
            if key != nextMark {
                try read(rows, SequenceNumber(key), into: &part, keepsDocuments, &mapper)
            }
            part.lastSequence = SequenceNumber(key)
            if part.items.count >= count || part.bytes >= bytes { return }
            found = try rows.next()
        }
        // The marks of rows at the end are passed, too.
        part.lastSequence = max(part.lastSequence, bound)
    }

    private func read(
        _ rows: any StorageCursor, _ sequence: SequenceNumber, into part: inout IndexPart,
        _ keepsDocuments: Bool, _ mapper: inout IndexMapper
    ) throws {
        var item = IndexPart.Item(sequence: sequence)
        var elsewhere: DocumentID?
        var (size, kept): (Int, (DocumentID, Document?)?) = (0, nil)
        try rows.withValue { bytes in
            let content = try core.decoding(nil) { try RevisionRow.Content(bytes) }
            guard content.standsAlone else {
                return elsewhere = try core.decoding(nil) { try RevisionRow.documentID(bytes) }
            }
            item.isFirst = content.revisionID.generation == 1
            let isTombstone = content.isTombstone
            let body = bytes.extracting(isTombstone ? 0..<0 : content.body)
            size = body.count
            try core.decoding(nil) { try mapper.map(row: bytes, item, body) }
            guard keepsDocuments else { return }
            let id = try core.decoding(nil) { try RevisionRow.documentID(bytes) }
            guard !isTombstone else { return kept = (id, nil) }
            let document = Document(
                id: id, revisionID: content.revisionID, sequence: sequence,
                isDeleted: false, body: PackedValue(copying: body),
                store: core.attachments.number)
            kept = (id, document)
        }
        if let elsewhere {
            let document = try document(elsewhere)
            item.isConsulted = true
            mapper.map(document, elsewhere, item)
            size = document?.body.byteCount ?? 0
            kept = (elsewhere, document)
        }
        part.bytes += size
        part.items.append(item)
        if keepsDocuments, let kept { part.documents.append(kept) }
    }

    /// The documents purged whole since a purge; purges of single revisions are in the feed.
    fileprivate func purgedDocuments(after purge: UInt64) throws -> [(
        purge: UInt64, id: DocumentID
    )] {
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
