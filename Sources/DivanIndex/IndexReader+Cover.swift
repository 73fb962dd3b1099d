// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanStorage

/// A part of a range: a node that lies in it whole, or a single row.
enum RangePiece {
    case node(Partials.Node)
    case row(key: [UInt8], value: PackedValue)

    var count: Int {
        switch self {
        case .node(let node): node.count
        case .row: 1
        }
    }
}

extension IndexReader {
    /// Covers a range by as few pieces as there are, in order.
    ///
    /// At each place it offers the highest node that begins there and ends in the range, then lower
    /// ones, then the row:
    ///
    ///      row row │ level 1 │ level 1 │ level 2 │ level 2 │ level 1 │ row
    ///      ────────┴─ up ────┴─────────┴─────────┴─────────┴─ down ──┴────
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - take: Gets a piece. For a node, whether it takes it; otherwise its parts are offered. For a
    ///     row, whether to go on.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `take` throws.
    func cover(_ range: RowRange, _ take: (RangePiece) throws -> Bool) throws {
        guard !range.isEmpty else { return }
        let walk = try RangeWalk(self)
        defer { walk.close() }
        try walk.run(range, take)
    }
}

/// One walk over a range.
private final class RangeWalk {
    private let index: IndexReader
    private let rows: BlockCursor
    private var levels: [LevelCursor?]

    init(_ index: IndexReader) throws {
        self.index = index
        rows = try BlockCursor(index.stores.rows, index.reader)
        levels = Array(repeating: nil, count: RowRank.highest + 1)
    }

    func close() {
        rows.close()
        for level in levels { level?.close() }
    }

    func run(_ range: RowRange, _ take: (RangePiece) throws -> Bool) throws {
        // The key of the row at which the walk stands; empty before all rows.
        var position: [UInt8] = []
        if let lower = range.lower {
            guard let first = try row(atLeast: lower), range.isBelowUpper(first) else { return }
            position = first
        }
        while true {
            if let end = try takeNode(at: position, range, take) {
                guard let end, range.isBelowUpper(end) else { return }
                position = end
                continue
            }
            guard let next = try takeRows(from: position, range, take) else { return }
            position = next
        }
    }

    /// Offers the nodes that begin here, the highest first.
    ///
    /// - Returns: nil when none was taken; else where it ends, which is nil at the end of all rows.
    private func takeNode(
        at position: [UInt8], _ range: RowRange, _ take: (RangePiece) throws -> Bool
    ) throws -> [UInt8]?? {
        var level = position.isEmpty && index.hasPartials ? RowRank.highest : rank(of: position)
        while level > 0 {
            defer { level -= 1 }
            let cursor = try self.cursor(level)
            guard let node = try cursor.node(at: position) else {
                // Without rows there are no nodes, not even the first.
                guard position.isEmpty else {
                    throw IndexCorruption("A partial reduction is missing.")
                }
                continue
            }
            let end = try cursor.next()
            let isInside =
                end.map { range.upper == nil || range.isInside(upTo: $0) }
                ?? (range.upper == nil)
            if isInside, try take(.node(node)) { return .some(end) }
        }
        return nil
    }

    /// Offers rows, up to the first that a node begins at.
    ///
    /// - Returns: The key of that row; nil at the end of the range, or when no more are wanted.
    private func takeRows(
        from position: [UInt8], _ range: RowRange, _ take: (RangePiece) throws -> Bool
    ) throws -> [UInt8]? {
        var found = try position.isEmpty ? rows.seekToFirst() : rows.seek(toAtLeast: position.span)
        var isFirst = true
        while found {
            var next: [UInt8]?
            var goesOn = false
            try rows.withRow { key, value in
                let key = [UInt8](copying: key)
                guard range.isBelowUpper(key) else { return }
                let rank = rank(of: key)
                // At the first row every node was offered already, unless that was before all rows.
                if rank > 0, !isFirst || position.isEmpty {
                    next = key
                } else {
                    goesOn = try take(.row(key: key, value: RowValue.decode(value)))
                }
            }
            if let next { return next }
            guard goesOn else { return nil }
            isFirst = false
            found = try rows.next()
        }
        return nil
    }

    private func rank(of key: [UInt8]) -> Int {
        index.hasPartials ? RowRank.rank(of: key.span, seed: index.seed) : 0
    }

    private func row(atLeast key: [UInt8]) throws -> [UInt8]? {
        guard try rows.seek(toAtLeast: key.span) else { return nil }
        var found: [UInt8]?
        try rows.withKey { found = [UInt8](copying: $0) }
        return found
    }

    private func cursor(_ level: Int) throws -> LevelCursor {
        if let cursor = levels[level] { return cursor }
        let cursor = try LevelCursor(level, of: index.stores.partials, index.reader)
        levels[level] = cursor
        return cursor
    }
}

extension RowRange {
    /// Whether rows up to, but without, this key are in it.
    fileprivate func isInside(upTo end: [UInt8]) -> Bool {
        upper.map { !$0.precedes(end) } ?? true
    }
}
