// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanPlatform

/// The groups of a query and the state of its aggregates. Takes memory for each group, not for rows.
///
/// The row with the least ID stands for a group, and groups come in the order of these rows; so documents
/// may come in any order, as far as the aggregates allow it.
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
        /// The ID of its document, as an index has it.
        fileprivate var firstID: [UInt8] = []
        fileprivate var folds: [AggregateFold]
        fileprivate let aggregates: [AggregateCall]

        /// What an expression is for the group.
        func value(_ node: ExpressionNode) throws -> JSONValue? {
            let node = folded(node)
            // Without a row there are only aggregates and constants.
            guard let scope else { return node.constant }
            return try node.value(in: scope)
        }

        /// Whether a condition holds for the group.
        func truth(_ node: ExpressionNode) throws -> Bool {
            let node = folded(node)
            guard let scope else { return false }
            return try node.truth(in: scope) ?? false
        }

        /// The expression with the results of aggregates in their place.
        private func folded(_ node: ExpressionNode) -> ExpressionNode {
            node.mapped { part in
                guard case .aggregate(let aggregate, let inner) = part,
                    let slot = aggregates.firstIndex(of: AggregateCall(aggregate, inner))
                else { return nil }
                return .literal(folds[slot].result)
            }
        }
    }

    private let aggregates: [AggregateCall]
    private let columns: [ExpressionNode]
    private let grouping: [ExpressionNode]
    /// The same for documents where they lie; nil if rows need more than that.
    private let packed: PackedColumns?
    private var places: [Key: Int] = [:]
    /// What documents that are added where they lie must fulfil.
    private let condition: PackedCondition?
    /// Whether a result needs more of a group than its aggregates: the row that stands for it.
    private let needsRows: Bool
    /// The bytes of the row that is being added.
    private var key = Key()
    /// The bytes of a value that the condition is on.
    private var conditionKey: [UInt8] = []
    /// Its document's ID, as an index has it.
    private var rowID: [UInt8] = []
    private var all: [Group] = []

    init(_ plan: SelectPlan, _ packedCondition: PackedCondition?) {
        let nodes =
            plan.columns + [plan.groupCondition].compactMap(\.self) + plan.ordering.map(\.node)
        columns = nodes
        grouping = plan.grouping
        let aggregates = nodes.flatMap(\.aggregates).map { AggregateCall($0.0, $0.1) }
        self.aggregates = aggregates
        condition = packedCondition
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
        all.append(Group(scope: nil, folds: folds, aggregates: aggregates))
        return all.count - 1
    }

    /// The groups.
    var inOrder: [Group] {
        all.sorted { left, right in
            guard let left = left.scope, let right = right.scope else { return false }
            return left.document.id < right.document.id
        }
    }

    /// Whether a document comes before all others of its group.
    private func isFirst(_ id: Span<UInt8>, of place: Int) -> Bool {
        guard all[place].scope != nil else { return true }
        let first = all[place].firstID
        return compare(id, first.span) < 0
    }

    /// Whether documents can be added where they lie.
    var takesDocumentsInPlace: Bool { packed != nil }

    /// Adds a document that lies somewhere if it fulfils the condition, unless its values are needed, since it stands
    /// for its group.
    ///
    /// - Returns: Whether nothing is left to be done with it.
    func add(_ document: SequenceScanner) throws -> Bool {
        guard let packed else { return false }
        return try document.withBody { body in
            if let condition, !condition.holds(in: body, &conditionKey) { return true }
            var place = 0
            if !packed.grouping.isEmpty {
                key.bytes.removeAll(keepingCapacity: true)
                for path in packed.grouping
                where !Self.coder.append(path, of: body, to: &key.bytes) {
                    key.bytes.append(RowKeyCoder.missing)
                }
                guard let known = places[key] else { return false }
                place = known
            }
            if needsRows {
                rowID.removeAll(keepingCapacity: true)
                try document.appendRowDocumentID(to: &rowID)
                if isFirst(rowID.span, of: place) { return false }
            }
            for slot in packed.counted.indices
            where packed.counted[slot]?.hasValue(in: body) ?? true {
                all[place].folds[slot].addRow()
            }
            return true
        }
    }

    /// Adds a row to its group.
    func add(_ scope: ExpressionScope) throws {
        key.bytes.removeAll(keepingCapacity: true)
        for node in grouping { try node.appendKey(in: scope, Self.coder, to: &key.bytes) }
        let place = placeOfKey()
        rowID.removeAll(keepingCapacity: true)
        RowDocumentID.append(scope.document.id, to: &rowID)
        if isFirst(rowID.span, of: place) {
            all[place].scope = scope
            all[place].firstID = rowID.map(\.self)
            // These need the snapshot, so they are computed while there is one.
            for node in columns where node.aggregates.isEmpty { _ = try node.value(in: scope) }
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

/// The state of an aggregate of one group.
struct AggregateFold {
    private let aggregate: ExpressionNode.Aggregate
    private let order: ValueOrder
    private var count: Int64 = 0
    private var sum = JSONValue.integer(0)
    private var best: JSONValue?

    init(_ aggregate: ExpressionNode.Aggregate, collation: Collation) {
        self.aggregate = aggregate
        order = ValueOrder(collation, strings: ICUCollator.root)
    }

    mutating func addRow() { count += 1 }

    mutating func add(_ value: JSONValue) {
        guard !value.isNull else { return }
        switch aggregate {
        case .count: count += 1
        case .sum, .average:
            guard value.double != nil else { return }
            count += 1
            sum = ExpressionNode.Arithmetic.add.apply(sum, value)
        case .minimum: if best.map({ order.compare(value, $0) < 0 }) ?? true { best = value }
        case .maximum: if best.map({ order.compare(value, $0) > 0 }) ?? true { best = value }
        }
    }

    var result: JSONValue {
        switch aggregate {
        case .count: .integer(count)
        case .sum: sum
        case .average:
            count == 0
                ? JSONValue.null : ExpressionNode.Arithmetic.divide.apply(sum, .integer(count))
        case .minimum, .maximum: best ?? JSONValue.null
        }
    }
}
