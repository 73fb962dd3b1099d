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
/// once. Rows that a document emits again as before are not written.
package struct IndexWriter {
    /// What became of a row.
    package enum Edit: Sendable { case added, removed, changed }

    /// The rows that did change.
    package struct Changes: Sendable {
        /// How many they are.
        package internal(set) var count = 0
        /// Which they are, in order of their keys; nothing unless asked for.
        package internal(set) var rows: [(key: [UInt8], edit: Edit)] = []
    }

    private let stores: IndexStores
    private let seed: UInt64
    private let reducer: (any RowReducer)?
    private let writer: any StorageWriter

    /// Whether the partial reductions follow each change; otherwise they are written anew later.
    package var maintainsPartials = true
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
        let former = try BlockCursor(stores.emissions, writer)
        defer { former.close() }
        var known: [Int] = []
        for place in places ?? Array(batch.documents.indices) {
            if isNew(place) {
                staging.add(batch.documents[place], of: batch)
            } else {
                known.append(place)
            }
        }
        // In the order of their IDs, neighbours are found in one block.
        let documents = batch.documents
        known.sort { documents[$0].id < documents[$1].id }
        for place in known { try staging.replace(documents[place], of: &batch, former) }
        former.close()
        staging.lists.sort(in: staging.listBytes)
        _ = try stores.emissions.edit(staging.lists, of: staging.listBytes, writer)
        staging.rows.sort(in: batch.bytes)
        let outcomes = try stores.rows.edit(staging.rows, of: batch.bytes, writer)
        let changes = try changes(staging.rows, outcomes, batch.bytes)
        if maintainsPartials {
            try PartialUpdate(stores: stores, seed: seed, reducer: reducer, writer: writer)
                .apply(changes.rows)
        }
        return changes
    }

    private func changes(
        _ edits: BlockEdits, _ outcomes: [BlockEditor.Outcome], _ bytes: [UInt8]
    ) throws -> Changes {
        var changes = Changes()
        for (edit, outcome) in zip(edits.edits, outcomes) {
            let kind: Edit
            switch outcome {
            case .same: continue
            case .missing: throw IndexCorruption("A row that a document emitted is missing.")
            case .added: kind = .added
            case .changed: kind = .changed
            case .removed: kind = .removed
            }
            changes.count += 1
            if maintainsPartials || tellsRows {
                changes.rows.append((Array(bytes[edit.key]), kind))
            }
        }
        return changes
    }
}

/// What is to be written, collected document by document in the order of their IDs.
private struct Staging {
    /// Edits of rows; their bytes stand in the batch.
    var rows = BlockEdits()
    /// Edits of the lists of keys by document, and their bytes.
    var lists = BlockEdits()
    var listBytes: [UInt8] = []

    init(_ batch: EmissionBatch) {
        rows.reserve(batch.rows.count)
        lists.reserve(batch.documents.count)
        listBytes.reserveCapacity(batch.bytes.count)
    }

    /// Adds a document that had no rows.
    mutating func add(_ document: EmissionBatch.Document, of batch: EmissionBatch) {
        let emitted = batch.rows[document.firstRow..<document.endRow]
        guard !emitted.isEmpty else { return }
        appendList(document, emitted, batch)
        for row in emitted { put(row, .put, batch) }
    }

    /// Adds a document that may have had rows.
    mutating func replace(
        _ document: EmissionBatch.Document, of batch: inout EmissionBatch, _ former: BlockCursor
    ) throws {
        let idBytes = Array(document.id.text.utf8)
        guard try former.seek(toAtLeast: idBytes.span), former.isAt(idBytes.span) else {
            return add(document, of: batch)
        }
        var old: [[UInt8]] = []
        try former.withValue { old = try EmittedKeys.rowKeys($0, of: document.id) }
        let emitted = batch.rows[document.firstRow..<document.endRow]
        var gone = Set(old)
        for row in emitted {
            let isOld = gone.remove(Array(batch.key(row))) != nil
            put(row, isOld ? .replace : .put, batch)
        }
        let isSame = gone.isEmpty && emitted.count == old.count
        if emitted.isEmpty {
            let start = listBytes.count
            listBytes.append(contentsOf: idBytes)
            lists.append(
                .remove, at: start, keySize: idBytes.count, valueSize: 0, of: listBytes)
        } else if !isSame {
            appendList(document, emitted, batch)
        }
        for key in gone {
            let start = batch.stage { $0.append(contentsOf: key) }
            rows.append(.remove, at: start, keySize: key.count, valueSize: 0, of: batch.bytes)
        }
    }

    private mutating func put(
        _ row: EmissionBatch.Row, _ kind: BlockEdits.Kind, _ batch: EmissionBatch
    ) {
        rows.append(
            kind, at: row.start, keySize: row.keyEnd - row.start, valueSize: row.end - row.keyEnd,
            of: batch.bytes)
    }

    private mutating func appendList(
        _ document: EmissionBatch.Document, _ emitted: ArraySlice<EmissionBatch.Row>,
        _ batch: EmissionBatch
    ) {
        let start = listBytes.count
        listBytes.append(contentsOf: document.id.text.utf8)
        let keyEnd = listBytes.count
        EmittedKeys.append(emitted, of: document.id, in: batch, to: &listBytes)
        lists.append(
            .put, at: start, keySize: keyEnd - start, valueSize: listBytes.count - keyEnd,
            of: listBytes)
    }
}

// MARK: - Rebuilding partial reductions

extension IndexReader {
    /// Computes all partial reductions from the rows, for writing them at once.
    ///
    /// It needs no write transaction, so that others can write while a large index is reduced. About
    /// one node for 31 rows is held in memory.
    ///
    /// - Parameters:
    ///   - reducer: The reducer, if there is one.
    ///   - check: Called now and then; throws to stop the work.
    /// - Returns: The nodes.
    /// - Throws: `StorageError`, and what `check` throws.
    package func computePartials(reducer: (any RowReducer)?, check: (_ rows: Int) throws -> Void)
        throws -> ComputedPartials
    {
        var computed = ComputedPartials()
        try withoutActuallyEscaping(check) { check in
            let sink = ComputedPartials.Sink()
            var builder = PartialBuilder(seed: seed, reducer: reducer) { key, node in
                sink.nodes.append((key, node.bytes))
            }
            var rows = 0
            try forEachRow { key, value in
                try builder.add(key: key, value: value)
                rows += 1
                if rows.isMultiple(of: 4_096) { try check(rows) }
                return true
            }
            try builder.finish()
            computed.nodes = sink.nodes
        }
        computed.nodes.sort { $0.key.precedes($1.key) }
        return computed
    }
}

/// Partial reductions that were computed and are not yet written.
package struct ComputedPartials {
    final class Sink {
        var nodes: [(key: [UInt8], value: [UInt8])] = []
    }

    var nodes: [(key: [UInt8], value: [UInt8])] = []

    /// Puts them in place of those that are stored.
    ///
    /// - Parameters:
    ///   - stores: The index. Its rows must be those that the nodes were computed from.
    ///   - writer: The transaction.
    /// - Throws: `StorageError`.
    package func write(to stores: IndexStores, _ writer: any StorageWriter) throws {
        try writer.removeAll(in: stores.partials)
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        edits.reserve(nodes.count)
        for (key, value) in nodes {
            edits.append(.put, key: key, value: value, to: &bytes)
        }
        _ = try stores.partials.edit(edits, of: bytes, writer)
    }
}
