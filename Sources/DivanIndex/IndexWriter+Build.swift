// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Making an index that has no row yet.
///
/// Nothing is looked for, and no row depends on what was there. So two cores work at once:
///
///     this thread    sorts lists, packs and writes them ├ reduces rows ┤ writes the partials and the rows
///     another        sorts rows ──────────────────┬───────▲   packs them ──────────────────────▲
extension IndexWriter {
    /// Writes the first rows of an index.
    ///
    /// - Parameters:
    ///   - batch: What the documents emit, each document once.
    ///   - places: Which documents of the batch; all unless given.
    ///   - reducing: Whether the batch has all rows: then partial reductions are made of it. Else they
    ///     are written later.
    ///   - documents: What is known of them.
    /// - Returns: The rows: all were added.
    /// - Throws: `StorageError`, and what `documents` throws.
    package func build(
        from batch: EmissionBatch, at places: [Int]? = nil, reducing: Bool,
        _ documents: EmittingDocuments
    ) throws -> Changes {
        let places = places ?? Array(batch.documents.indices)
        let sorting = SideWork { Self.rows(of: batch, places) }
        let packing = SideWork { try Self.pack(sorting.result(), of: batch) }
        try writeLists(of: batch, places, documents)
        let rows = try sorting.result()
        var changes = Changes()
        changes.count = rows.count
        if tellsRows { changes.rows = rows.edits.map { (Array(batch.bytes[$0.key]), .added) } }
        if reducing {
            let began = ContinuousClock.now
            var builder = PartialBuilder(seed: seed, reducer: reducer)
            let bytes = batch.bytes.span
            for edit in rows.edits {
                try builder.add(
                    key: bytes.extracting(edit.key), value: bytes.extracting(edit.value))
            }
            try ComputedPartials(builder).packed().write(to: stores.partials, writer)
            changes.reducing = ContinuousClock.now - began
        }
        try packing.result().write(to: stores.rows, writer)
        return changes
    }

    private func writeLists(
        of batch: EmissionBatch, _ places: [Int], _ documents: EmittingDocuments
    ) throws {
        var (lists, bytes) = (BlockEdits(), [UInt8]())
        var purged = EmissionListEdits()
        lists.reserve(places.count)
        var list: [UInt8] = []
        for place in places where !batch.documents[place].rows.isEmpty {
            let id = batch.bytes.span.extracting(batch.documents[place].id)
            guard let sequence = try documents.sequence(place, id) else {
                list.removeAll(keepingCapacity: true)
                EmittedKeys.append(of: batch.documents[place], in: batch, to: &list)
                purged.put(list, ofPurged: id)
                continue
            }
            let start = bytes.count
            OrderedNumber.append(sequence, to: &bytes)
            lists.append(
                .put, at: start, keySize: bytes.count - start, valueSize: 0, of: bytes,
                source: place)
        }
        lists.sort(in: bytes)
        var packer = BlockPacker(first: StoredBlocks(store: stores.emissions, writer: writer))
        for edit in lists.edits {
            list.removeAll(keepingCapacity: true)
            EmittedKeys.append(of: batch.documents[Int(edit.source)], in: batch, to: &list)
            try packer.add(key: bytes.span.extracting(edit.key), value: list.span)
        }
        _ = try packer.finished()
        try purged.write(to: stores, writer)
    }

    /// The rows of some documents, sorted.
    private static func rows(of batch: EmissionBatch, _ places: [Int]) -> BlockEdits {
        var rows = BlockEdits()
        rows.reserve(batch.rows.count)
        for place in places {
            for index in batch.documents[place].rows {
                let row = batch.rows[index]
                rows.append(
                    .put, at: row.start, keySize: row.keyEnd - row.start,
                    valueSize: row.end - row.keyEnd, of: batch.bytes)
            }
        }
        rows.sort(in: batch.bytes)
        return rows
    }

    private static func pack(_ rows: BlockEdits, of batch: EmissionBatch) throws -> PackedBlocks {
        let bytes = batch.bytes.span
        var packer = BlockPacker(first: PackedBlocks(capacity: batch.bytes.count / 2))
        for edit in rows.edits {
            try packer.add(key: bytes.extracting(edit.key), value: bytes.extracting(edit.value))
        }
        return try packer.finished()
    }
}
