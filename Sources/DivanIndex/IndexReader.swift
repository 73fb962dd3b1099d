// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanStorage

/// Reads an index inside one transaction.
///
/// Walking over rows costs in proportion to their number; counting, reducing, finding the n-th row
/// and skipping cost O(log n), whatever the range: see ``Partials``. While an index is being built it
/// has none of those, and everything is found from the rows; what only counts them looks at their keys alone.
package struct IndexReader {
    let stores: IndexStores
    let seed: UInt64
    let reader: any StorageReader
    let hasPartials: Bool

    /// Reads an index.
    ///
    /// - Parameters:
    ///   - stores: The index.
    ///   - seed: The seed that it was made with.
    ///   - reader: The transaction.
    ///   - hasPartials: Whether its partial reductions are up to date.
    package init(
        _ stores: IndexStores, seed: UInt64, _ reader: any StorageReader, hasPartials: Bool = true
    ) {
        self.stores = stores
        self.seed = seed
        self.reader = reader
        self.hasPartials = hasPartials
    }

    // MARK: - Rows

    /// Calls `body` for the rows of a range in order, until it returns false.
    ///
    /// - Parameters:
    ///   - range: Which rows.
    ///   - descending: Whether to begin at the end.
    ///   - skip: How many rows to pass over first.
    ///   - body: Gets a row's key and value.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `body` throws.
    package func forEachRow(
        in range: RowRange = .all, descending: Bool = false, skip: Int = 0,
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        var range = range
        if skip > 0 {
            guard let cut = try cut(range, skipping: skip, descending: descending) else { return }
            range = cut
        }
        let cursor = try BlockCursor(stores.rows, reader)
        defer { cursor.close() }
        var found = try descending ? seekLast(cursor, range) : seekFirst(cursor, range)
        let (end, isBounded) =
            descending
            ? (range.lower ?? [], range.lower != nil)
            : (range.upper ?? [], range.upper != nil)
        while found {
            var goesOn = false
            try cursor.withRow { key, value in
                let isInside = !isBounded || (compare(key, end.span) < 0) != descending
                if isInside { goesOn = try body(key, value) }
            }
            guard goesOn else { return }
            found = try descending ? cursor.previous() : cursor.next()
        }
    }

    /// Calls `body` for the keys of a range in order, until it returns false: how rows are counted without counts.
    private func forEachKey(in range: RowRange, _ body: (Span<UInt8>) throws -> Bool) throws {
        guard !range.isEmpty else { return }
        let cursor = try BlockCursor(stores.rows, reader)
        defer { cursor.close() }
        var found = try seekFirst(cursor, range)
        while found {
            var goesOn = false
            try cursor.withKey { key in
                let isInside = range.upper.map { compare(key, $0.span) < 0 } ?? true
                goesOn = try isInside && body(key)
            }
            guard goesOn else { return }
            found = try cursor.next()
        }
    }

    private func seekFirst(_ cursor: BlockCursor, _ range: RowRange) throws -> Bool {
        guard let lower = range.lower else { return try cursor.seekToFirst() }
        return try cursor.seek(toAtLeast: lower.span)
    }

    private func seekLast(_ cursor: BlockCursor, _ range: RowRange) throws -> Bool {
        guard let upper = range.upper else { return try cursor.seekToLast() }
        guard try cursor.seek(toAtMost: upper.span) else { return false }
        return try cursor.isAt(upper.span) ? cursor.previous() : true
    }

    /// A range without its first rows, or its last ones; nil when none are left.
    private func cut(_ range: RowRange, skipping count: Int, descending: Bool) throws -> RowRange? {
        var cut = range
        if descending {
            let kept = try self.count(in: range) - count
            guard kept > 0 else { return nil }
            cut.upper = try key(at: kept, in: range) ?? range.upper
        } else {
            guard let key = try key(at: count, in: range) else { return nil }
            cut.lower = key
        }
        return cut
    }

    // MARK: - Counts

    /// The number of rows of a range.
    ///
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package func count(in range: RowRange = .all) throws -> Int {
        var count = 0
        guard hasPartials else {
            try forEachKey(in: range) { _ in
                count += 1
                return true
            }
            return count
        }
        try cover(range) { piece in
            count += piece.count
            return true
        }
        return count
    }

    /// The key of the row that has a given number of the range's rows before it; nil when there are fewer.
    package func key(at position: Int, in range: RowRange = .all) throws -> [UInt8]? {
        var before = 0
        var result: [UInt8]?
        guard hasPartials else {
            try forEachKey(in: range) { key in
                if before == position { result = [UInt8](copying: key) }
                before += 1
                return result == nil
            }
            return result
        }
        try cover(range) { piece in
            switch piece {
            case .node(let node):
                // A node that goes too far is taken apart.
                guard before + node.count <= position else { return false }
                before += node.count
            case .row(let key, _):
                if before == position { result = key }
                before += 1
                return result == nil
            }
            return true
        }
        return result
    }

    // MARK: - Reducing

    /// Reduces the rows of a range.
    ///
    /// - Parameters:
    ///   - range: Which rows.
    ///   - reducer: The reducer that the index keeps the results of.
    /// - Returns: The reduced value, nil when there are no rows, and their number.
    /// - Throws: `ReductionFailure` when the reducer threw for one of them.
    package func reduce(_ range: RowRange = .all, with reducer: any RowReducer) throws
        -> (value: PackedValue?, count: Int)
    {
        var reduction = Reduction(reducer)
        var count = 0
        try cover(range) { piece in
            count += piece.count
            switch piece {
            case .node(let node): reduction.add(node.reduced)
            case .row(let key, let value): reduction.add(key: key.span, value: value)
            }
            return true
        }
        switch try reduction.finish() {
        case .none: return (nil, count)
        case .value(let value): return (value, count)
        case .failure(let failure): throw failure
        }
    }
}
