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
/// before it, whose range it cuts or joins. Each dirty node is written once, and the nodes of a level in
/// one pass. A node whose range has not changed is changed by the difference of its rows, where that is
/// known (``AddingReducer``); other nodes are computed from the level below. If a node stays as it is,
/// it is not written and the nodes above it are not computed: a row that moved a little changes no count.
struct PartialUpdate {
    typealias Edit = IndexWriter.Edit

    /// A row that changed.
    struct RowEdit {
        var key: Range<Int>
        var edit: Edit
        /// By how much it changes what is reduced; nil when that is not known.
        var shift: Int128?
    }

    /// A node to compute, by its row key; empty for −∞.
    private struct Dirty {
        var key: [UInt8]
        /// How many more rows it covers.
        var growth: Int
        /// By how much its rows change what is reduced; nil when that is not known.
        var shift: Int128?
        /// Whether its range changed, so that growth and shift do not tell what it holds.
        var isReshaped = false
        /// The node as it is stored; nil for the first one of a level, which is made by the first row.
        var former: Partials.Node?
    }

    private typealias Structural = (key: [UInt8], edit: Edit, rank: Int)

    let stores: IndexStores
    let seed: UInt64
    let reducer: (any RowReducer)?
    let writer: any StorageWriter

    /// Applies edits that were made to the rows, in order of their keys, each key once.
    func apply(_ edits: [RowEdit], of bytes: [UInt8]) throws {
        guard !edits.isEmpty else { return }
        var dirty: [Dirty] = []
        dirty.reserveCapacity(edits.count)
        // The keys with nodes, which get fewer by a factor of 32 a level.
        var structural: [Structural] = []
        for edit in edits {
            let growth = edit.edit == .added ? 1 : edit.edit == .removed ? -1 : 0
            let key = Array(bytes[edit.key])
            let rank = RowRank.rank(of: key.span, seed: seed)
            if rank > 0, edit.edit != .changed { structural.append((key, edit.edit, rank)) }
            dirty.append(Dirty(key: key, growth: growth, shift: edit.shift))
        }
        for level in 1...RowRank.highest {
            structural.removeAll { $0.rank < level }
            dirty = try compute(raise(dirty, structural, to: level), level)
            if dirty.isEmpty, structural.isEmpty { return }
        }
    }

    /// Makes and removes the nodes of a level, and returns the nodes of it that are dirty, in order.
    private func raise(
        _ below: [Dirty], _ structural: [Structural], to level: Int
    ) throws -> [Dirty] {
        var (nodes, bytes) = (BlockEdits(), [UInt8]())
        let empty = Partials.Node().bytes
        for (key, edit, _) in structural {
            let node = Partials.key(level: level, key)
            if edit == .added {
                nodes.append(.put, key: node, value: empty, to: &bytes)
            } else {
                nodes.append(.remove, key: node, value: [], to: &bytes)
            }
        }
        _ = try stores.partials.edit(nodes, of: bytes, writer)
        let cursor = try LevelCursor(level, of: stores.partials, writer)
        defer { cursor.close() }
        var dirty: [Dirty] = []
        for (key, _, _) in structural {
            dirty.append(
                Dirty(
                    key: try cursor.predecessor(of: key), growth: 0, shift: 0, isReshaped: true))
        }
        var position = 0
        for (key, edit, _) in structural where edit == .added {
            dirty.append(Dirty(key: key, growth: 0, shift: 0, isReshaped: true))
        }
        // The covering nodes ascend with what they cover, so one look-ahead spares most seeks.
        var current: (key: [UInt8], node: Partials.Node?)?
        var following: [UInt8]?
        while position < below.count {
            let item = below[position]
            position += 1
            let isCovered = current != nil && (following.map { item.key.precedes($0) } ?? true)
            if !isCovered {
                current = try cursor.cover(of: item.key)
                following = try cursor.next()
            }
            dirty.append(
                Dirty(
                    key: current?.key ?? [], growth: item.growth, shift: item.shift,
                    former: current?.node))
        }
        return merged(dirty)
    }

    /// Sorts the changes and joins those of one node.
    private func merged(_ dirty: [Dirty]) -> [Dirty] {
        var result: [Dirty] = []
        for item in dirty.sorted(by: { $0.key.precedes($1.key) }) {
            if let last = result.last, last.key == item.key {
                result[result.count - 1].growth += item.growth
                result[result.count - 1].shift = last.shift.flatMap { shift in
                    item.shift.map { shift + $0 }
                }
                if item.isReshaped { result[result.count - 1].isReshaped = true }
            } else {
                result.append(item)
            }
        }
        return result
    }

    /// Computes nodes from the level below them, and writes and returns those that changed.
    private func compute(_ dirty: [Dirty], _ level: Int) throws -> [Dirty] {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        var changed: [Dirty] = []
        let nodes = try LevelCursor(level, of: stores.partials, writer)
        let below = try Below(level - 1, self)
        defer {
            nodes.close()
            below.close()
        }
        for item in dirty where item.isReshaped || item.growth != 0 || reducer != nil {
            let node =
                try grown(item) ?? below.reduce(from: item.key, to: end(item, nodes))
            guard item.isReshaped || node != item.former else { continue }
            changed.append(item)
            edits.append(
                .put, key: Partials.key(level: level, item.key), value: node.bytes, to: &bytes)
        }
        _ = try stores.partials.edit(edits, of: bytes, writer)
        return changed
    }

    /// The node changed by the difference of its rows, where nothing else has changed.
    private func grown(_ dirty: Dirty) throws -> Partials.Node? {
        guard !dirty.isReshaped, var node = dirty.former else { return nil }
        node.count += dirty.growth
        guard node.count >= 0 else {
            throw IndexCorruption("A partial reduction counts fewer rows than were taken from it.")
        }
        guard reducer != nil else { return node }
        guard let reducer = reducer as? any AddingReducer, let shift = dirty.shift, node.count > 0,
            case .value(let value) = node.reduced,
            let former = reducer.addend(of: value, isReduced: true)
        else { return nil }
        let (total, isTooLarge) = former.addingReportingOverflow(shift)
        guard !isTooLarge else { return nil }
        if shift != 0 { node.reduced = .value(reducer.reduced(total: total)) }
        return node
    }

    /// Where the node after this one begins.
    private func end(_ dirty: Dirty, _ nodes: LevelCursor) throws -> [UInt8]? {
        try nodes.seek(toAtLeast: dirty.key + [0])
    }
}

extension PartialUpdate {
    /// Collects by how much rows change what is reduced, while they are written.
    struct Shifts {
        private let reducer: (any AddingReducer)?
        /// What rows that were there before added, by the place of the edit.
        private var former: [Int: Int128?] = [:]

        /// Begins. Without a reducer there is nothing to collect.
        init(_ reducer: (any AddingReducer)?) { self.reducer = reducer }

        /// Notes the value that a row had before an edit.
        mutating func note(_ edit: Int, former value: Span<UInt8>) {
            guard let reducer else { return }
            let value = RowValue.decode(value)
            former[edit] = .some(reducer.addend(of: value, isReduced: false))
        }

        /// By how much a row changes what is reduced; nil when that is not known.
        func shift(_ edit: Int, to value: Span<UInt8>?) -> Int128? {
            guard let reducer else { return nil }
            var shift: Int128 = 0
            if let value {
                guard let added = reducer.addend(of: RowValue.decode(value), isReduced: false)
                else { return nil }
                shift = added
            }
            guard let former = former[edit] else { return shift }
            return former.map { shift - $0 }
        }
    }
}

/// What nodes of a level are computed from: the level below, or the rows.
private struct Below {
    private let reducer: (any RowReducer)?
    private let rows: BlockCursor?
    private let nodes: LevelCursor?

    init(_ level: Int, _ update: PartialUpdate) throws {
        reducer = update.reducer
        rows = level == 0 ? try BlockCursor(update.stores.rows, update.writer) : nil
        nodes =
            level == 0 ? nil : try LevelCursor(level, of: update.stores.partials, update.writer)
    }

    func close() {
        rows?.close()
        nodes?.close()
    }

    func reduce(from start: [UInt8], to end: [UInt8]?) throws -> Partials.Node {
        if let rows { return try reduce(rows, from: start, to: end) }
        if let nodes { return try reduce(nodes, from: start, to: end) }
        return Partials.Node()
    }

    private func reduce(_ rows: BlockCursor, from start: [UInt8], to end: [UInt8]?) throws
        -> Partials.Node
    {
        var reduction = reducer.map { Reduction($0) }
        var count = 0
        var found = try rows.seek(toAtLeast: start.span)
        while found {
            var isInside = false
            try rows.withRow { key, value in
                guard end.map({ compare(key, $0.span) < 0 }) ?? true else { return }
                isInside = true
                count += 1
                reduction?.add(key: key, value: RowValue.decode(value))
            }
            guard isInside else { break }
            found = try rows.next()
        }
        return Partials.Node(count: count, reduced: try reduction?.finish() ?? .none)
    }

    private func reduce(_ nodes: LevelCursor, from start: [UInt8], to end: [UInt8]?) throws
        -> Partials.Node
    {
        var reduction = reducer.map { Reduction($0) }
        var count = 0
        var key = try nodes.seek(toAtLeast: start)
        while let here = key, end.map({ here.precedes($0) }) ?? true {
            let node = try nodes.here()
            count += node.count
            reduction?.add(node.reduced)
            key = try nodes.next()
        }
        return Partials.Node(count: count, reduced: try reduction?.finish() ?? .none)
    }
}
