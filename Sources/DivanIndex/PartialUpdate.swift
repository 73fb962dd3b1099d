// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanStorage

/// Brings the partial reductions up to the rows after some rows changed: one pass, bottom up.
///
///     rows changed        d+        h-                 + added, - removed
///     level 1 dirty       c         f                  the nodes that cover them
///     level 2 dirty            −∞   f                  the nodes that cover those
///
/// A key that has nodes of its own adds or removes them on its way up, and also dirties the node
/// before it, whose range it cuts or joins. Each dirty node is computed once, from the level below.
struct PartialUpdate {
    typealias Edit = IndexWriter.Edit

    /// A node to compute, by its row key; empty for −∞.
    private struct Dirty {
        var key: [UInt8]
        /// How many more rows it covers.
        var growth: Int
        /// Whether its range changed, so that growth does not tell its count.
        var isReshaped = false
    }

    let stores: IndexStores
    let seed: UInt64
    let reducer: (any RowReducer)?
    let writer: any StorageWriter

    /// Applies edits that were made to the rows, in order of their keys, each key once.
    func apply(_ edits: [(key: [UInt8], edit: Edit)]) throws {
        guard !edits.isEmpty else { return }
        var dirty: [Dirty] = []
        // The keys with nodes, which get fewer by a factor of 32 a level.
        var structural: [(key: [UInt8], edit: Edit, rank: Int)] = []
        for (key, edit) in edits {
            let growth = edit == .added ? 1 : edit == .removed ? -1 : 0
            dirty.append(Dirty(key: key, growth: growth))
            let rank = RowRank.rank(of: key.span, seed: seed)
            if rank > 0, edit != .changed { structural.append((key, edit, rank)) }
        }
        for level in 1...RowRank.highest {
            structural.removeAll { $0.rank < level }
            dirty = try raise(dirty, structural, to: level)
            for node in dirty { try compute(node, level) }
        }
    }

    /// Makes and removes the nodes of a level, and returns the nodes of it that are dirty, in order.
    private func raise(
        _ below: [Dirty], _ structural: [(key: [UInt8], edit: Edit, rank: Int)], to level: Int
    ) throws -> [Dirty] {
        for (key, edit, _) in structural {
            let node = Partials.key(level: level, key)
            if edit == .added {
                let empty = Partials.Node().bytes
                try writer.set(empty.span, forKey: node.span, in: stores.partials)
            } else {
                _ = try writer.remove(key: node.span, in: stores.partials)
            }
        }
        let cursor = try LevelCursor(level, of: stores.partials, writer)
        defer { cursor.close() }
        var dirty: [Dirty] = []
        for (key, _, _) in structural {
            dirty.append(
                Dirty(key: try cursor.predecessor(of: key), growth: 0, isReshaped: true))
        }
        var position = 0
        for (key, edit, _) in structural where edit == .added {
            dirty.append(Dirty(key: key, growth: 0, isReshaped: true))
        }
        // The covering nodes ascend with what they cover, so one look-ahead spares most seeks.
        var current: [UInt8]?
        var following: [UInt8]?
        while position < below.count {
            let item = below[position]
            position += 1
            let isCovered = current != nil && (following.map { item.key.precedes($0) } ?? true)
            if !isCovered {
                current = try cursor.floor(of: item.key)
                following = try cursor.next()
            }
            dirty.append(
                Dirty(key: current ?? [], growth: item.growth, isReshaped: false))
        }
        return merged(dirty)
    }

    /// Sorts and joins what is said of one node.
    private func merged(_ dirty: [Dirty]) -> [Dirty] {
        var result: [Dirty] = []
        for item in dirty.sorted(by: { $0.key.precedes($1.key) }) {
            if let last = result.last, last.key == item.key {
                result[result.count - 1].growth += item.growth
                if item.isReshaped { result[result.count - 1].isReshaped = true }
            } else {
                result.append(item)
            }
        }
        return result
    }

    /// Computes a node from the level below it and writes it.
    private func compute(_ dirty: Dirty, _ level: Int) throws {
        let key = Partials.key(level: level, dirty.key)
        if reducer == nil, !dirty.isReshaped {
            var node = Partials.Node()
            let found = try writer.withValue(forKey: key.span, in: stores.partials) {
                node = try Partials.Node($0)
            }
            guard found || dirty.key.isEmpty else {
                throw IndexCorruption("A partial reduction is missing.")
            }
            // The first node of a level is made by the first row.
            if found {
                node.count += dirty.growth
                return try writer.set(node.bytes.span, forKey: key.span, in: stores.partials)
            }
        }
        let cursor = try LevelCursor(level, of: stores.partials, writer)
        let end = try cursor.seek(toAtLeast: dirty.key + [0])
        cursor.close()
        let node =
            try level == 1
            ? reduceRows(from: dirty.key, to: end)
            : reduceNodes(level - 1, from: dirty.key, to: end)
        try writer.set(node.bytes.span, forKey: key.span, in: stores.partials)
    }

    private func reduceRows(from start: [UInt8], to end: [UInt8]?) throws -> Partials.Node {
        var reduction = reducer.map { Reduction($0) }
        var count = 0
        let rows = try writer.cursor(in: stores.rows)
        defer { rows.close() }
        var found = try rows.seek(toAtLeast: start.span)
        while found {
            var isInside = false
            try rows.withRow { key, value in
                let key = [UInt8](copying: key)
                guard end.map({ key.precedes($0) }) ?? true else { return }
                isInside = true
                count += 1
                reduction?.add(key: key, value: RowValue.decode(value))
            }
            guard isInside else { break }
            found = try rows.next()
        }
        return Partials.Node(count: count, reduced: reduction?.finish() ?? .none)
    }

    private func reduceNodes(_ level: Int, from start: [UInt8], to end: [UInt8]?) throws
        -> Partials.Node
    {
        var reduction = reducer.map { Reduction($0) }
        var count = 0
        let nodes = try LevelCursor(level, of: stores.partials, writer)
        defer { nodes.close() }
        var key = try nodes.seek(toAtLeast: start)
        while let here = key, end.map({ here.precedes($0) }) ?? true {
            let node = try nodes.here()
            count += node.count
            reduction?.add(node.reduced)
            key = try nodes.next()
        }
        return Partials.Node(count: count, reduced: reduction?.finish() ?? .none)
    }
}
