// SPDX-License-Identifier: Apache-2.0

package import DivanStorage

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
        try ComputedPartials(seed: seed, reducer: reducer) { add in
            var rows = 0
            try forEachRow { key, value in
                try add(key, value)
                rows += 1
                if rows.isMultiple(of: 4_096) { try check(rows) }
                return true
            }
        }
    }
}

/// Partial reductions that were computed and are not yet written.
package struct ComputedPartials {
    /// The nodes in the order of their keys.
    private(set) var nodes: [(key: [UInt8], value: [UInt8])] = []

    /// Takes a row: its key and its value.
    typealias Add = (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void

    /// Computes them from rows.
    ///
    /// - Parameters:
    ///   - seed: The seed of the index.
    ///   - reducer: The reducer, if there is one.
    ///   - rows: Adds the rows in order.
    /// - Throws: What `rows` throws.
    init(seed: UInt64, reducer: (any RowReducer)?, rows: (_ add: Add) throws -> Void) throws {
        var builder = PartialBuilder(seed: seed, reducer: reducer)
        try rows { builder.add(key: $0, value: $1) }
        builder.finish()
        nodes = builder.nodes.map { ($0.key, $0.node.bytes) }
        nodes.sort { $0.key.precedes($1.key) }
    }

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
