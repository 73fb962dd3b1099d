// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
package import DivanStorage

/// Changes an index inside one write transaction: what documents emit takes the place of what they
/// emitted before.
///
/// ```swift
/// var index = IndexWriter(stores, seed: seed, reducer: reducer, writer)
/// let changes = try index.replace(with: &batch) { _ in false }
/// ```
///
/// Everything is sorted and written from left to right, so each block of the stores is read and written
/// once: first the lists of what documents emit, in the pass that also finds what they emitted before, then
/// the rows, then the partial reductions. What has not changed is not written. An index that has no row yet
/// is made in another way (``build(from:at:reducing:)``).
package struct IndexWriter {
    /// How a row changed.
    package enum Edit: Sendable { case added, removed, changed }

    /// The rows that did change.
    package struct Changes: Sendable {
        /// How many they are.
        package internal(set) var count = 0
        /// Which they are, in order of their keys; nothing unless asked for.
        package internal(set) var rows: [(key: [UInt8], edit: Edit)] = []
        /// The time that building partial reductions took.
        package internal(set) var reducing = Duration.zero

        /// Makes changes of which only the number is known.
        package init(count: Int = 0) { self.count = count }
    }

    let stores: IndexStores
    let seed: UInt64
    let reducer: (any RowReducer)?
    let writer: any StorageWriter

    /// Whether the partial reductions follow each change; else they are written anew later.
    package var keepsPartials = true
    /// Whether rows whose keys have not changed are left alone: their values are sequences that rows only
    /// remember.
    package var leavesKeptRows = false
    /// Whether to tell which rows changed.
    package var tellsRows = true

    /// Makes a writer.
    package init(
        _ stores: IndexStores, seed: UInt64, reducer: (any RowReducer)?, _ writer: any StorageWriter
    ) {
        self.stores = stores
        self.seed = seed
        self.reducer = reducer
        self.writer = writer
    }

    /// Replaces the rows of documents.
    ///
    /// - Parameters:
    ///   - batch: What the documents emit now, each document once; nothing for one that is deleted or
    ///     purged. It is used up.
    ///   - places: Which documents of the batch; all unless given.
    ///   - isNew: Whether a document certainly has no rows yet, which saves looking.
    /// - Returns: The rows that did change.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package func replace(
        with batch: inout EmissionBatch, at places: [Int]? = nil, isNew: (_ place: Int) -> Bool
    ) throws -> Changes {
        var staging = Staging(batch)
        for place in places ?? Array(batch.documents.indices) {
            staging.addList(of: place, in: batch, isNew: isNew(place))
        }
        try replaceLists(&staging, &batch)
        staging.rows.sort(in: batch.bytes)
        return try writeRows(staging.rows, batch.bytes)
    }

    /// Writes what the documents emit, and finds in the same pass what they emitted before, which
    /// decides how their rows change.
    private func replaceLists(_ staging: inout Staging, _ batch: inout EmissionBatch) throws {
        staging.lists.sort(in: staging.listBytes)
        let (edits, bytes) = (staging.lists.edits, staging.listBytes)
        var former: [Int: [UInt8]] = [:]
        let outcomes = try stores.emissions.edit(staging.lists, of: bytes, writer) { edit, list in
            // A document that emits the same keys has the same rows, perhaps with other values.
            guard compare(list, bytes.span.extracting(edits[edit].value)) != 0 else { return }
            former[edit] = [UInt8](copying: list)
        }
        for (position, edit) in edits.enumerated() {
            let place = Int(edit.source)
            if let list = former[position] {
                try staging.replaceRows(
                    of: place, in: &batch, formerly: list.span, leavesKept: leavesKeptRows)
            } else if outcomes[position] != .same {
                staging.putRows(of: place, in: batch, areThere: false)
            } else if !leavesKeptRows {
                staging.putRows(of: place, in: batch, areThere: true)
            }
        }
    }

    private func writeRows(_ edits: BlockEdits, _ bytes: [UInt8]) throws -> Changes {
        var shifts = PartialUpdate.Shifts(
            keepsPartials ? reducer as? any AddingReducer : nil)
        let outcomes = try stores.rows.edit(edits, of: bytes, writer) { edit, value in
            shifts.note(edit, former: value)
        }
        var changes = Changes()
        var touched: [PartialUpdate.RowEdit] = []
        for (place, (edit, outcome)) in zip(edits.edits, outcomes).enumerated() {
            let kind: Edit
            switch outcome {
            case .same: continue
            case .missing: throw IndexCorruption("A row that a document emitted is missing.")
            case .added: kind = .added
            case .changed: kind = .changed
            case .removed: kind = .removed
            }
            changes.count += 1
            if tellsRows { changes.rows.append((Array(bytes[edit.key]), kind)) }
            guard keepsPartials else { continue }
            let value = kind == .removed ? nil : bytes.span.extracting(edit.value)
            touched.append(
                PartialUpdate.RowEdit(
                    key: edit.key, edit: kind, shift: shifts.shift(place, to: value)))
        }
        if keepsPartials {
            try PartialUpdate(stores: stores, seed: seed, reducer: reducer, writer: writer)
                .apply(touched, of: bytes)
        }
        return changes
    }
}

/// What is to be written, collected document by document.
private struct Staging {
    /// Edits of rows; their bytes stand in the batch.
    var rows = BlockEdits()
    /// Edits of the lists of keys by document, and their bytes. The source of an edit is the place of the
    /// document in the batch.
    var lists = BlockEdits()
    var listBytes: [UInt8] = []

    init(_ batch: EmissionBatch) {
        rows.reserve(batch.rows.count)
        lists.reserve(batch.documents.count)
        listBytes.reserveCapacity(batch.bytes.count)
    }

    /// Adds the list of what a document emits.
    mutating func addList(of place: Int, in batch: EmissionBatch, isNew: Bool) {
        let document = batch.documents[place]
        // A document that is new and emits nothing has no former list to remove.
        guard !document.rows.isEmpty || !isNew else { return }
        let start = listBytes.count
        listBytes.append(copying: batch.bytes.span.extracting(document.id))
        let keyEnd = listBytes.count
        EmittedKeys.append(of: document, in: batch, to: &listBytes)
        lists.append(
            document.rows.isEmpty ? .clear : .put, at: start, keySize: keyEnd - start,
            valueSize: listBytes.count - keyEnd, of: listBytes, source: place)
    }

    /// Adds the rows of a document that had none, or the same ones.
    mutating func putRows(of place: Int, in batch: EmissionBatch, areThere: Bool) {
        for index in batch.documents[place].rows {
            put(batch.rows[index], areThere ? .replace : .put, batch)
        }
    }

    /// Adds the rows of a document that had others.
    mutating func replaceRows(
        of place: Int, in batch: inout EmissionBatch, formerly list: Span<UInt8>, leavesKept: Bool
    ) throws {
        let id = Array(batch.bytes[batch.documents[place].id])
        var gone = try EmittedKeys.rowKeys(list, of: id.span)
        gone.sort { $0.precedes($1) }
        var isKept = [Bool](repeating: false, count: gone.count)
        for index in batch.documents[place].rows {
            let row = batch.rows[index]
            let found = Self.place(of: Array(batch.key(row)), in: gone)
            if let found { isKept[found] = true }
            if found != nil, leavesKept { continue }
            put(row, found != nil ? .replace : .put, batch)
        }
        for (key, isKept) in zip(gone, isKept) where !isKept {
            let start = batch.stage { $0.append(contentsOf: key) }
            rows.append(.remove, at: start, keySize: key.count, valueSize: 0, of: batch.bytes)
        }
    }

    /// Where a key stands among sorted ones.
    private static func place(of key: [UInt8], in keys: [[UInt8]]) -> Int? {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            let candidate = keys[middle]
            if candidate == key { return middle }
            if candidate.precedes(key) { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private mutating func put(
        _ row: EmissionBatch.Row, _ kind: BlockEdits.Kind, _ batch: EmissionBatch
    ) {
        rows.append(
            kind, at: row.start, keySize: row.keyEnd - row.start, valueSize: row.end - row.keyEnd,
            of: batch.bytes)
    }
}
