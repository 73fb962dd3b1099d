// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
package import DivanStorage

/// Changes an index inside one write transaction: documents are collected, then written in order.
///
/// ```swift
/// var index = IndexWriter(stores, seed: seed, reducer: reducer, writer)
/// for (id, emissions) in mapped { try index.replace(id, with: emissions) }
/// let edits = try index.finish()
/// ```
///
/// Sorted insertion is what makes it fast: rows of one batch go into the tree from left to right. Rows
/// that a document emits again as before are not written.
package struct IndexWriter {
    /// What became of a row.
    package enum Edit: Sendable { case added, removed, changed }

    /// A change of a row, staged until the end.
    private struct Staged {
        var key: [UInt8]
        var value: [UInt8]
        var edit: Edit
    }

    private let stores: IndexStores
    private let seed: UInt64
    private let reducer: (any RowReducer)?
    private let writer: any StorageWriter
    private var staged: [Staged] = []
    /// What becomes of the lists of a document's keys: its ID, and the list or nothing.
    private var stagedLists: [(id: [UInt8], list: [UInt8])] = []

    /// Whether the partial reductions follow each change; otherwise they are written anew later.
    package var maintainsPartials = true

    /// Makes a writer.
    package init(
        _ stores: IndexStores, seed: UInt64, reducer: (any RowReducer)?, _ writer: any StorageWriter
    ) {
        self.stores = stores
        self.seed = seed
        self.reducer = reducer
        self.writer = writer
    }

    /// How many rows are staged.
    package var stagedCount: Int { staged.count }

    /// Replaces a document's rows. Each document may be replaced once.
    ///
    /// - Parameters:
    ///   - id: The document.
    ///   - emissions: What it emits now; nothing when it is deleted or purged.
    ///   - isNew: Whether it certainly has no rows yet, which saves looking.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package mutating func replace(
        _ id: DocumentID, with emissions: Emissions, isNew: Bool = false
    ) throws {
        let idBytes = Array(id.text.utf8)
        var old: [[UInt8]] = []
        var hadRows = false
        if !isNew {
            hadRows = try writer.withValue(forKey: idBytes.span, in: stores.emissions) {
                old = try Emissions.rowKeys(fromKeyList: $0, of: id)
            }
        }
        let keys = emissions.rowKeys(of: id)
        if keys.isEmpty {
            if hadRows { stagedLists.append((idBytes, [])) }
        } else if old != keys {
            stagedLists.append((idBytes, emissions.keyList()))
        }
        stage(keys, emissions, old: old)
    }

    private mutating func stage(_ keys: [[UInt8]], _ emissions: Emissions, old: [[UInt8]]) {
        guard !old.isEmpty else {
            for (index, key) in keys.enumerated() {
                staged.append(
                    Staged(key: key, value: Array(emissions.value(index)), edit: .added))
            }
            return
        }
        var gone = Set(old)
        for (index, key) in keys.enumerated() {
            let edit: Edit = gone.remove(key) == nil ? .added : .changed
            staged.append(Staged(key: key, value: Array(emissions.value(index)), edit: edit))
        }
        for key in gone { staged.append(Staged(key: key, value: [], edit: .removed)) }
    }

    /// Writes what was staged.
    ///
    /// - Returns: The rows that did change, in order of their keys.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package mutating func finish() throws -> [(key: [UInt8], edit: Edit)] {
        try writeLists()
        staged.sort { $0.key.precedes($1.key) }
        var edits: [(key: [UInt8], edit: Edit)] = []
        edits.reserveCapacity(staged.count)
        for row in staged where try write(row) { edits.append((row.key, row.edit)) }
        staged.removeAll()
        if maintainsPartials {
            try PartialUpdate(stores: stores, seed: seed, reducer: reducer, writer: writer)
                .apply(edits)
        }
        return edits
    }

    private mutating func writeLists() throws {
        stagedLists.sort { $0.id.precedes($1.id) }
        for (id, list) in stagedLists {
            if list.isEmpty {
                _ = try writer.remove(key: id.span, in: stores.emissions)
            } else {
                try writer.set(list.span, forKey: id.span, in: stores.emissions)
            }
        }
        stagedLists.removeAll()
    }

    /// Writes a row, and tells whether that changed anything.
    private func write(_ row: Staged) throws -> Bool {
        switch row.edit {
        case .removed:
            guard try writer.remove(key: row.key.span, in: stores.rows) else {
                throw IndexCorruption("A row that a document emitted is missing.")
            }
            return true
        case .added:
            try writer.set(row.value.span, forKey: row.key.span, in: stores.rows)
            return true
        case .changed:
            var isSame = false
            let found = try writer.withValue(forKey: row.key.span, in: stores.rows) {
                isSame = compare($0, row.value.span) == 0
            }
            guard found else { throw IndexCorruption("A row that a document emitted is missing.") }
            if !isSame { try writer.set(row.value.span, forKey: row.key.span, in: stores.rows) }
            return !isSame
        }
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
                try builder.add(key: [UInt8](copying: key), value: RowValue.decode(value))
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
        for (key, value) in nodes {
            try writer.set(value.span, forKey: key.span, in: stores.partials)
        }
    }
}
