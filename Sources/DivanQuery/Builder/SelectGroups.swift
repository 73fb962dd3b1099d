// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanPlatform

/// The groups of a query and the state of its aggregates. Takes memory for each group, not for rows.
///
/// The row with the least ID stands for a group, and groups come in the order of these rows; so documents
/// may come in any order.
///
/// Bytes that are the same for equal values tell which group a row belongs to. They are made from the packed
/// document in one buffer for all rows; only the first row of a group has its values unpacked. Where documents
/// are only counted by their properties, no other document is made.
final class SelectGroups {
    /// Makes the bytes that tell groups apart.
    static let coder = RowKeyCoder(.raw, strings: ICUCollator.root)

    /// One group: a row of it that stands for all, and a fold for each aggregate.
    struct Group {
        fileprivate(set) var scope: ExpressionScope?
        /// The least ID of the group, as an index has it. That row is the one of the scope if a result needs more of it.
        fileprivate var firstID: [UInt8] = []
        fileprivate var folds: [AggregateFold]

        /// What expressions of ``SelectGroups/folded(_:)`` are computed in. Without a row everything but
        /// aggregates and constants is missing there.
        fileprivate func scopeOfResults(_ patterns: PatternCache) -> ExpressionScope {
            let scope = scope ?? ExpressionScope(patterns: patterns)
            for (slot, fold) in folds.enumerated() {
                scope.variables[SelectGroups.name(ofSlot: slot)] = fold.result
            }
            return scope
        }
    }

    private let aggregates: [AggregateCall]
    /// What expressions of a group ask the snapshot, which is gone when they are computed.
    private let askingSnapshot: [ExpressionNode]
    private let grouping: [ExpressionNode]
    /// The same for documents where they lie; nil if rows need more than that.
    private let packed: PackedColumns?
    private var places: [Key: Int] = [:]
    /// Whether a result needs more of a group than its aggregates: the row that stands for it.
    private let needsRows: Bool
    /// The bytes of the row that is being added.
    private var key = Key()
    /// Its document's ID, as an index has it.
    private var rowID: [UInt8] = []
    private var all: [Group] = []
    /// What the aggregates of the groups have counted of documents where they lie: as many numbers for each group as there
    /// are aggregates.
    private var counts: [Int64] = []

    init(_ plan: SelectPlan) {
        let nodes =
            plan.columns + [plan.groupCondition].compactMap(\.self) + plan.ordering.map(\.node)
        askingSnapshot = nodes.flatMap(\.askingSnapshot)
        grouping = plan.grouping
        let aggregates = nodes.flatMap(\.aggregates).map { AggregateCall($0.0, $0.1) }
        self.aggregates = aggregates
        needsRows = !nodes.allSatisfy { node in
            node.mapped { if case .aggregate = $0 { .literal(.null) } else { nil } }.constant != nil
        }
        packed = PackedColumns(plan.grouping, aggregates, source: plan.sourceName)
        removeAll()
    }

    /// Begins anew.
    func removeAll() {
        places.removeAll()
        all.removeAll()
        counts.removeAll()
        key.bytes.removeAll(keepingCapacity: true)
        // Without grouping there is one group, be it empty.
        if grouping.isEmpty { _ = placeOfKey() }
    }

    /// The bytes of a group, hashed in one go.
    private struct Key: Hashable {
        var bytes: [UInt8] = []

        func hash(into hasher: inout Hasher) {
            // SAFETY: the bytes are read within the closure.
            unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
    }

    private func placeOfKey() -> Int {
        if let place = places[key] { return place }
        // A copy, so that the next row finds the buffer as it is.
        places[Key(bytes: key.bytes.map(\.self))] = all.count
        let folds = aggregates.map {
            AggregateFold($0.aggregate, collation: $0.node?.collation ?? .raw)
        }
        all.append(Group(scope: nil, folds: folds))
        counts += repeatElement(0, count: folds.count)
        return all.count - 1
    }

    /// An expression with what stands for the results of aggregates in their place: to be computed for a group.
    func folded(_ node: ExpressionNode) -> ExpressionNode {
        node.mapped { part in
            guard case .aggregate(let aggregate, let inner) = part,
                let slot = aggregates.firstIndex(of: AggregateCall(aggregate, inner))
            else { return nil }
            return .variable(Self.name(ofSlot: slot), .itself)
        }
    }

    /// A name that no quantifier of a query gives.
    private static func name(ofSlot slot: Int) -> String { "\u{0}aggregate\(slot)" }

    /// What expressions of the groups are computed in, group by group.
    func scopesInOrder(_ patterns: PatternCache) -> [ExpressionScope] {
        inOrder.map { $0.scopeOfResults(patterns) }
    }

    private var inOrder: [Group] {
        var groups = all
        for place in groups.indices {
            for slot in aggregates.indices {
                groups[place].folds[slot].addRows(counts[place * aggregates.count + slot])
            }
        }
        return groups.sorted { $0.firstID.precedes($1.firstID) }
    }

    /// Whether a document comes before all others of its group.
    private func isFirst(_ id: [UInt8], of place: Int) -> Bool {
        guard all[place].scope != nil else { return true }
        return id.precedes(all[place].firstID)
    }

    /// What adds a document where it lies if it fulfils a condition; nil where documents cannot be added so.
    ///
    /// It returns whether nothing is left to be done with the document: its values may be needed, since it stands for its
    /// group. What it asks for each document it has as constants, so that no reference to them is counted.
    func taker(_ condition: PackedCondition?) -> PlannedQuery.Take? {
        guard let packed else { return nil }
        let condition = condition ?? .always
        let counted = packed.counted
        let isOneGroup = packed.grouping.isEmpty && !needsRows
        return { [self] document in
            try document.withBody { body in
                guard condition.holds(in: body) else { return true }
                var place = 0
                if !isOneGroup {
                    guard let known = try self.place(of: document, body, packed.grouping) else {
                        return false
                    }
                    place = known
                }
                var slot = place * counted.count
                for path in counted {
                    if path?.hasValue(in: body) ?? true { counts[slot] += 1 }
                    slot += 1
                }
                return true
            }
        }
    }

    /// The place of the group of a document where it lies; nil if that has to be made, since it stands for the group.
    private func place(
        of document: SequenceScanner, _ body: Span<UInt8>, _ grouping: [PackedPath]
    ) throws -> Int? {
        key.bytes.removeAll(keepingCapacity: true)
        for path in grouping where !Self.coder.append(path, of: body, to: &key.bytes) {
            key.bytes.append(RowKeyCoder.missing)
        }
        guard let place = places[key] else { return nil }
        rowID.removeAll(keepingCapacity: true)
        try document.appendRowDocumentID(to: &rowID)
        guard isFirst(rowID, of: place) else { return place }
        // The ID alone gives the group its place among the others.
        guard !needsRows else { return nil }
        swap(&all[place].firstID, &rowID)
        return place
    }

    /// Adds a row to its group.
    func add(_ document: Document, _ scope: ExpressionScope) throws {
        key.bytes.removeAll(keepingCapacity: true)
        for node in grouping { try node.appendKey(in: scope, Self.coder, to: &key.bytes) }
        let place = placeOfKey()
        rowID.removeAll(keepingCapacity: true)
        RowDocumentID.append(document.id, to: &rowID)
        if isFirst(rowID, of: place) {
            all[place].scope = scope
            all[place].firstID = rowID.map(\.self)
            // The scope keeps what it was asked.
            for node in askingSnapshot { _ = try node.value(in: scope) }
        }
        for slot in aggregates.indices {
            if aggregates[slot].countsRows {
                all[place].folds[slot].addRow()
            } else if let value = try aggregates[slot].node?.value(in: scope) {
                all[place].folds[slot].add(value)
            }
        }
    }
}

/// An aggregate and what it goes over; nil for rows, which are counted.
private struct AggregateCall: Equatable {
    let aggregate: ExpressionNode.Aggregate
    let node: ExpressionNode?
    let countsRows: Bool

    init(_ aggregate: ExpressionNode.Aggregate, _ node: ExpressionNode?) {
        self.aggregate = aggregate
        self.node = node
        countsRows = node == nil
    }
}

/// The parts of a document that tell its group, and whether aggregates count it.
private final class PackedColumns {
    let grouping: [PackedPath]
    /// For each aggregate what it counts; nil for rows.
    let counted: [PackedPath?]

    /// Nil if a part of it is no property of the documents of the first source, or more than counted.
    init?(_ grouping: [ExpressionNode], _ aggregates: [AggregateCall], source: String?) {
        let paths = grouping.compactMap { PackedPath($0, source) }
        guard paths.count == grouping.count else { return nil }
        var counted: [PackedPath?] = []
        for call in aggregates {
            guard call.aggregate == .count else { return nil }
            guard let node = call.node else {
                counted.append(nil)
                continue
            }
            guard let path = PackedPath(node, source) else { return nil }
            counted.append(path)
        }
        (self.grouping, self.counted) = (paths, counted)
    }
}

extension ExpressionNode {
    /// The parts outside of aggregates that ask the snapshot, be they inside other parts.
    fileprivate var askingSnapshot: [ExpressionNode] {
        switch self {
        case .meta(.expiration, _): [self]
        case .aggregate: []
        default: children.flatMap(\.askingSnapshot)
        }
    }
}
