// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
package import DivanStorage

/// Changes an index inside one write transaction: what documents emit takes the place of what they
/// emitted before.
///
/// ```swift
/// var index = IndexWriter(stores, seed: seed, reducer: reducer, writer)
/// let changes = try index.replace(with: &batch, documents)
/// ```
///
/// Everything is sorted and written from left to right, so each block of the stores is read and written
/// once: first the lists of what documents emit (``EmissionLists``), then the rows, then the partial reductions. What has not
/// changed is not written. An index that has no row yet is made in another way (``build(from:at:reducing:_:)``).
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
    ///   - documents: What is known of them.
    /// - Returns: The rows that did change.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `documents` throws.
    package func replace(
        with batch: inout EmissionBatch, at places: [Int]? = nil, _ documents: EmittingDocuments
    ) throws -> Changes {
        var staging = Staging(batch)
        try stageRows(
            &staging, &batch, places ?? Array(0..<batch.count), documents)
        try staging.lists.write(to: stores, writer)
        staging.rows.sort(in: batch.bytes)
        return try writeRows(staging.rows, batch.bytes)
    }

    /// Compares what the documents emit with what they emitted before, which decides how their rows change.
    private func stageRows(
        _ staging: inout Staging, _ batch: inout EmissionBatch, _ places: [Int],
        _ documents: EmittingDocuments
    ) throws {
        let stored = try EmissionLists(stores, writer)
        defer { stored.close() }
        var list: [UInt8] = []
        for place in places {
            let isNew = documents.isNew(place)
            // A document that is new and emits nothing has no former list to replace.
            if isNew, batch.rows(of: place).isEmpty { continue }
            let id = [UInt8](copying: batch.bytes.span.extracting(batch.id(of: place)))
            list.removeAll(keepingCapacity: true)
            EmittedKeys.append(of: place, in: batch, to: &list)
            let sequences = isNew ? [] : try documents.sequences(place, id.span)
            let known = isNew ? nil : try stored.known(of: id.span, sequences)
            let isSame = known.map { compare($0.list.span, list.span) == 0 } ?? list.isEmpty
            if isSame {
                // A document that emits the same keys has the same rows, perhaps with other values.
                if !leavesKeptRows { staging.putRows(of: place, in: batch, areThere: true) }
                if !isFarDown(known, sequences) { continue }
            } else if let known {
                try staging.replaceRows(
                    of: place, in: &batch, formerly: known.list.span, leavesKept: leavesKeptRows)
            } else {
                staging.putRows(of: place, in: batch, areThere: false)
            }
            let sequence = try documents.sequence(place, id.span)
            staging.put(list, of: id, under: sequence, known)
        }
    }

    /// Whether a list should be put anew though it is right: it was looked for under many sequences, of a document with very many
    /// conflicts, or it stands under the ID.
    private func isFarDown(_ known: EmissionLists.Known?, _ sequences: [SequenceNumber]) -> Bool {
        guard let known else { return sequences.count > Self.mostSequences }
        guard let sequence = known.sequence else { return true }
        return sequences.firstIndex(of: sequence).map { $0 > Self.mostSequences } ?? false
    }

    private static let mostSequences = 32

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

/// What a writer must know of the documents of a batch beside what they emit.
package struct EmittingDocuments {
    /// Whether the document at a place certainly has no rows yet, which saves looking.
    package var isNew: (_ place: Int) -> Bool
    /// The sequence under which its list is to stand, one of those in its tree; nil when the document is gone.
    var sequence: (_ place: Int, _ id: Span<UInt8>) throws -> SequenceNumber?
    /// The sequences in its tree, the highest first.
    var sequences: (_ place: Int, _ id: Span<UInt8>) throws -> [SequenceNumber]

    /// Makes it of closures, which get a document's place and its ID as an index has it.
    package init(
        isNew: @escaping (_ place: Int) -> Bool,
        sequence: @escaping (_ place: Int, _ id: Span<UInt8>) throws -> SequenceNumber?,
        sequences: @escaping (_ place: Int, _ id: Span<UInt8>) throws -> [SequenceNumber]
    ) {
        self.isNew = isNew
        self.sequence = sequence
        self.sequences = sequences
    }

    /// Documents of which nothing is known. Their lists stand under their IDs, as those of purged ones.
    package static var unknown: EmittingDocuments {
        EmittingDocuments(
            isNew: { _ in false }, sequence: { _, _ in nil }, sequences: { _, _ in [] })
    }
}

/// What is to be written, collected document by document.
private struct Staging {
    /// Edits of rows; their bytes stand in the batch.
    var rows = BlockEdits()
    /// Edits of the lists of emitted keys.
    var lists = EmissionListEdits()

    init(_ batch: EmissionBatch) { rows.reserve(batch.rows.count) }

    /// Puts a list in place of the one that counted.
    mutating func put(
        _ list: [UInt8], of id: [UInt8], under sequence: SequenceNumber?,
        _ known: EmissionLists.Known?
    ) {
        guard let sequence else {
            // The document is gone, and the purge that removes its rows is still to be applied.
            return list.isEmpty
                ? lists.clear(ofPurged: id.span) : lists.put(list, ofPurged: id.span)
        }
        // A list that has moved to a revision which is newer than what was mapped is the one that counts.
        lists.put(list, under: max(sequence, known?.sequence ?? 0))
        if known != nil, known?.sequence == nil { lists.clear(ofPurged: id.span) }
    }

    /// Adds the rows of a document that had none, or the same ones.
    mutating func putRows(of place: Int, in batch: EmissionBatch, areThere: Bool) {
        for index in batch.rows(of: place) {
            put(batch.rows[index], areThere ? .replace : .put, batch)
        }
    }

    /// Adds the rows of a document that had others.
    mutating func replaceRows(
        of place: Int, in batch: inout EmissionBatch, formerly list: Span<UInt8>, leavesKept: Bool
    ) throws {
        let id = Array(batch.bytes[batch.id(of: place)])
        var gone = try EmittedKeys.rowKeys(list, of: id.span)
        gone.sort { $0.precedes($1) }
        var isKept = [Bool](repeating: false, count: gone.count)
        for index in batch.rows(of: place) {
            let row = batch.rows[index]
            let found = Self.place(of: Array(batch.bytes[row.key]), in: gone)
            if let found { isKept[found] = true }
            if found != nil, leavesKept { continue }
            put(row, found != nil ? .replace : .put, batch)
        }
        for (key, isKept) in zip(gone, isKept) where !isKept {
            let start = batch.stage { $0.append(contentsOf: key) }
            rows.append(.remove, at: start, keySize: key.count, valueSize: 0)
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
            kind, at: row.start, keySize: row.key.count, valueSize: row.value.count)
    }
}
