// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
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
        let places = places ?? Array(0..<batch.count)
        let sorting = SideWork { Self.sorted(batch, places) }
        // Rows that are only counted are counted while they are packed.
        let counter = reducing && reducer == nil ? PartialBuilder(seed: seed, reducer: nil) : nil
        let packing = SideWork { try Self.pack(sorting.result(), of: batch, counter) }
        try writeLists(of: batch, places, documents)
        let order = try sorting.result().places
        var changes = Changes()
        changes.count = order.count
        if tellsRows {
            changes.rows = order.map { (Array(batch.bytes[batch.rows[$0.index].key]), .added) }
        }
        if reducing, reducer != nil {
            let began = ContinuousClock.now
            var builder = PartialBuilder(seed: seed, reducer: reducer)
            try Self.forEachRow(of: batch, order) { try builder.add(key: $0, value: $1) }
            try ComputedPartials(builder).packed().write(to: stores.partials, writer)
            changes.reducing = ContinuousClock.now - began
        }
        let packed = try packing.result()
        try packed.partials?.write(to: stores.partials, writer)
        try packed.rows.write(to: stores.rows, writer)
        return changes
    }

    private func writeLists(
        of batch: EmissionBatch, _ places: [Int], _ documents: EmittingDocuments
    ) throws {
        var purged = EmissionListEdits()
        var lists: [(sequence: SequenceNumber, place: Int)] = []
        lists.reserveCapacity(places.count)
        var (key, list) = ([UInt8](), [UInt8]())
        for place in places where !batch.rows(of: place).isEmpty {
            let id = batch.bytes.span.extracting(batch.id(of: place))
            if let sequence = try documents.sequence(place, id) {
                lists.append((sequence, place))
                continue
            }
            list.removeAll(keepingCapacity: true)
            EmittedKeys.append(of: place, in: batch, to: &list)
            purged.put(list, ofPurged: id)
        }
        // They come in the order of the feed, but for documents that a row only pointed to.
        lists.sort { $0.sequence < $1.sequence }
        var packer = BlockPacker(first: StoredBlocks(store: stores.emissions, writer: writer))
        for (sequence, place) in lists {
            key.removeAll(keepingCapacity: true)
            OrderedNumber.append(sequence, to: &key)
            list.removeAll(keepingCapacity: true)
            EmittedKeys.append(of: place, in: batch, to: &list)
            try packer.add(key: key.span, value: list.span)
        }
        _ = try packer.finished()
        try purged.write(to: stores, writer)
    }

    /// The rows of some documents, sorted.
    private static func sorted(_ batch: EmissionBatch, _ places: [Int]) -> KeySorter {
        let rows = batch.rows
        var sorter = KeySorter()
        sorter.reserve(rows.count)
        for place in places {
            for row in batch.rows(of: place) { sorter.append(row, rows[row].key, of: batch.bytes) }
        }
        sorter.sort(in: batch.bytes) { rows[$0].key }
        return sorter
    }

    private static func pack(
        _ sorted: KeySorter, of batch: EmissionBatch, _ counter: PartialBuilder?
    ) throws -> (rows: PackedBlocks, partials: PackedBlocks?) {
        var packer = BlockPacker(first: PackedBlocks(capacity: batch.bytes.count / 2))
        guard var counter else {
            try forEachRow(of: batch, sorted.places) { try packer.add(key: $0, value: $1) }
            return (try packer.finished(), nil)
        }
        try forEachRow(of: batch, sorted.places) { key, value in
            try packer.add(key: key, value: value)
            try counter.add(key: key, value: value)
        }
        return (try packer.finished(), try ComputedPartials(counter).packed())
    }

    /// How many rows are copied together.
    private static let gatheredRows = 64

    /// Calls `body` with rows in their order, which is not the one in memory.
    ///
    /// Some rows at a time are copied together first: work on rows where they lie would wait for the memory of one after
    /// the other, and a loop that only copies waits for that of several at once.
    private static func forEachRow(
        of batch: EmissionBatch, _ order: [KeySorter.Place],
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void
    ) throws {
        let (bytes, rows) = (batch.bytes.span, batch.rows.span)
        var (some, gathered) = ([EmissionBatch.Row](), [UInt8]())
        for first in stride(from: 0, to: order.count, by: gatheredRows) {
            some.removeAll(keepingCapacity: true)
            gathered.removeAll(keepingCapacity: true)
            for place in order[first..<min(first + gatheredRows, order.count)] {
                some.append(rows[place.index])
            }
            for row in some { gathered.append(copying: bytes.extracting(row.whole)) }
            var start = 0
            for row in some {
                let (keyEnd, end) = (start + row.key.count, start + row.whole.count)
                let together = gathered.span
                try body(together.extracting(start..<keyEnd), together.extracting(keyEnd..<end))
                start = end
            }
        }
    }
}
