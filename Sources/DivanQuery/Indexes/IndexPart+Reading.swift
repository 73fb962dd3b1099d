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
            try DatabaseCore.blaming(nil) {
                if let purge { part.purged = try snapshot.purgedDocuments(after: purge) }
                try snapshot.readItems(into: &part, through: bound, count, bytes, &mapper)
            }
            return part
        }
        mapper.finish(into: &rows)
    }

    /// Adds an item with a body of a size.
    fileprivate mutating func add(_ item: Item, _ size: Int) {
        bytes += size
        items.append(item)
    }

    /// Whether there are indexes that need documents.
    fileprivate var needsDocuments: Bool { indexes.contains { $0.definition.makeLentMap == nil } }
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
        let end = Int64(clamping: bound)
        var isFull = false
        if try rows.seek(toAtLeast: start + 1) {
            _ = try rows.walk { key in
                isFull = part.items.count >= max(1, count) || part.bytes >= max(1, bytes)
                if isFull || key > end { return .stop }
                while nextMark < key { nextMark = try marks.next() ? marks.integerKey : .max }
                part.lastSequence = SequenceNumber(key)
                return key == nextMark ? .pass : .lend
            } _: { key, row in
                try read(row, SequenceNumber(key), into: &part, keepsDocuments, &mapper)
            }
        }
        // The marks of rows at the end are passed, too.
        if !isFull { part.lastSequence = max(part.lastSequence, bound) }
    }

    private func read(
        _ row: Span<UInt8>, _ sequence: SequenceNumber, into part: inout IndexPart,
        _ keepsDocuments: Bool, _ mapper: inout IndexMapper
    ) throws {
        var item = IndexPart.Item(sequence: sequence)
        let layout = try DatabaseCore.decoding(nil) { try RevisionRow.Layout(row) }
        guard layout.standsAlone else {
            let id = try DatabaseCore.decoding(nil) { try RevisionRow.documentID(row) }
            let document = try document(id)
            item.isConsulted = true
            mapper.map(document, id, item)
            if keepsDocuments { part.documents.append((id, document)) }
            return part.add(item, document?.body.byteCount ?? 0)
        }
        item.isFirst = layout.generation == 1
        let body = row.extracting(layout.isTombstone ? 0..<0 : layout.body)
        try DatabaseCore.decoding(nil) { try mapper.map(row: row, item, body) }
        if keepsDocuments {
            let id = try DatabaseCore.decoding(nil) { try RevisionRow.documentID(row) }
            part.documents.append((id, try whole(row, layout, id, sequence)))
        }
        part.add(item, body.count)
    }

    /// The document of a row that stands alone; nil for a tombstone.
    private func whole(
        _ row: Span<UInt8>, _ layout: RevisionRow.Layout, _ id: DocumentID,
        _ sequence: SequenceNumber
    ) throws -> Document? {
        guard !layout.isTombstone else { return nil }
        return Document(
            id: id, revisionID: try DatabaseCore.decoding(id) { try layout.revisionID(in: row) },
            sequence: sequence, isDeleted: false,
            body: PackedValue(copying: row.extracting(layout.body)),
            store: core.attachments.number)
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
                let record = try DatabaseCore.decoding(nil) { try PurgeRecord(row) }
                guard record.isWholeDocument else { return }
                purged.append((UInt64(cursor.integerKey), record.documentID))
            }
            found = try cursor.next()
        }
        return purged
    }
}
