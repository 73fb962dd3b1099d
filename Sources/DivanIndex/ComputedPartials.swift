// SPDX-License-Identifier: Apache-2.0

package import DivanStorage

extension IndexReader {
    /// Computes all partial reductions from the rows, for writing them at once.
    ///
    /// It needs no write transaction, so that other threads can write while a large index is
    /// reduced. About one node for 31 rows is held in memory, in some fifty bytes.
    ///
    /// - Parameters:
    ///   - reducer: The reducer, if there is one.
    ///   - check: Called now and then; throws to stop the work.
    /// - Returns: The nodes.
    /// - Throws: `StorageError`, and what `check` throws.
    package func computePartials(reducer: (any RowReducer)?, check: (_ rows: Int) throws -> Void)
        throws -> ComputedPartials
    {
        var builder = PartialBuilder(seed: seed, reducer: reducer)
        var rows = 0
        try forEachRow { key, value in
            try builder.add(key: key, value: value)
            rows += 1
            if rows.isMultiple(of: 4_096) { try check(rows) }
            return true
        }
        return try ComputedPartials(builder)
    }
}

/// Partial reductions that were computed and are not yet written.
package struct ComputedPartials {
    /// The nodes in the order of their keys.
    let nodes: PartialNodes

    /// Makes them of a builder that has all rows.
    init(_ builder: consuming PartialBuilder) throws { nodes = try builder.nodes() }

    /// Packs them into blocks.
    func packed() throws -> PackedBlocks {
        var packer = BlockPacker(first: PackedBlocks(capacity: nodes.size / 2))
        try nodes.forEach { key, value in try packer.add(key: key, value: value) }
        return try packer.finished()
    }

    /// Puts them in place of those that are stored.
    ///
    /// - Parameters:
    ///   - stores: The index. Its rows must be those that the nodes were computed from.
    ///   - writer: The transaction.
    /// - Throws: `StorageError`.
    package func write(to stores: IndexStores, _ writer: any StorageWriter) throws {
        try writer.removeAll(in: stores.partials)
        try packed().write(to: stores.partials, writer)
    }
}
