// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// One run of a ``SelectQuery``.
///
///     plan   ──► documents that indexes cannot rule out
///     joins, where ──► rows        one for each document, or none
///     group by, having ──► groups
///     order by, limit ──► columns
///
/// The planner sorts and limits where a row is a document; groups and distinct rows are sorted here.
final class SelectRun {
    private let query: SelectQuery
    private let plan: SelectPlan
    private let core: DatabaseCore
    private let examined: ExaminedDocuments?
    private let patterns = PatternCache()
    /// The scope of the document that was looked at last: `where`, order and columns ask for the
    /// same document.
    private var last: (document: DocumentID, sequence: SequenceNumber, isRow: Bool)?
    /// That scope. It serves the next document, too, unless a group has kept it.
    private var scope: ExpressionScope?
    /// The condition as look-ups in packed documents; nil where it is more than that.
    private lazy var packedCondition = plan.condition.flatMap {
        PackedCondition($0, source: plan.sourceName)
    }
    /// Whether the report says which indexes were not read.
    private var explainsUnused = false

    init(_ query: SelectQuery, examined: ExaminedDocuments? = nil) throws {
        try query.source.database.checkOpen()
        self.query = query
        self.examined = examined
        core = query.source.database.core
        plan = try SelectPlan(query)
    }

    func run() throws -> SelectRows { try runReporting().rows }

    /// Runs the query and tells which way it went.
    func runReporting() throws -> (rows: SelectRows, path: AccessPath) {
        let (rows, report) = try perform()
        // No row of an index tells when a document expires.
        let isLasting = !plan.includesDeleted && !plan.asksForExpiration
        return (rows, isLasting ? report.path : .documents(.all))
    }

    /// Has the indexes that the query may read followed.
    func followIndexes() throws -> [ListenerToken] {
        try planned(isWindowed: false).followIndexes()
    }

    func explain() throws -> FindExplanation {
        explainsUnused = true
        let (rows, report) = try perform()
        let sort = query.clauses.ordering.map {
            SortKey(
                SelectResult(node: $0.node, alias: nil).name ?? "an expression",
                isDescending: $0.isDescending)
        }
        return report.explanation(results: rows.count, order: sort)
    }

    private func noRows(isPacked: Bool, capacity: Int) -> SelectTableBuilder {
        SelectTableBuilder(
            keys: plan.keys, identifying: plan.identifyingColumns, isPacked: isPacked,
            isDistinct: query.clauses.isDistinct, capacity: capacity)
    }

    /// Room for as many rows is made before there are any.
    private static let mostExpected = 1_000

    private func perform() throws -> (rows: SelectRows, report: QueryReport) {
        if plan.isGrouped { return try performGrouped() }
        let isDistinct = query.clauses.isDistinct
        let stored = StoredColumns(plan.columns, source: plan.sourceName)
        let capacity = min(query.limit ?? 0, Self.mostExpected)
        var rows = noRows(isPacked: stored != nil, capacity: 0)
        let begin = { [self] in
            rows = noRows(isPacked: stored != nil, capacity: capacity)
            (last, scope) = (nil, nil)
        }
        var planned = planned(isWindowed: !isDistinct)
        if planned.isConstraintWhole, let stored {
            planned.rowTaker = { [plan] map in
                let source = plan.sourceName
                guard let covered = CoveredColumns(plan.columns, source: source, map: map) else {
                    return nil
                }
                return { row in try rows.appendPacked { try covered.append(from: row, to: &$0) } }
            }
            planned.takeBody = { id, body in
                _ = rows.appendPacked { stored.append(id, body, to: &$0) }
            }
        }
        let report = try planned.run(begin: begin) { document, snapshot in
            guard let scope = try scope(document, snapshot, isFound: true) else { return true }
            if let stored {
                document.body.withBytes { body in
                    _ = rows.appendPacked { stored.append(document.id, body, to: &$0) }
                }
            } else {
                try rows.appendComputed { values in
                    for column in plan.columns { values.append(try column.value(in: scope)) }
                }
            }
            return true
        }
        if isDistinct { rows.keep(query.limit, after: query.offset) }
        return (SelectRows(rows), report)
    }

    // MARK: - Documents

    private func planned(isWindowed: Bool) -> PlannedQuery {
        let constraint =
            plan.condition?.constraint(plan.collation, source: query.source.name) ?? .anything
        var planned = PlannedQuery(
            core: core, constraint: constraint, collation: plan.collation,
            isWanted: { [self] document, snapshot in try scope(document, snapshot) != nil },
            value: { [self] path, document, snapshot in
                try orderValue(path, document, snapshot)
            })
        if !plan.isGrouped { planned.order = orderKeys }
        if isWindowed { (planned.skip, planned.limit) = (query.offset, query.limit) }
        planned.includesDeleted = plan.includesDeleted
        planned.isConstraintWhole = isConstraintWhole
        // Aggregates are the same in whatever order documents are read.
        planned.takesAllInAnyOrder = plan.isGrouped
        planned.examined = examined
        planned.explainsUnused = explainsUnused
        return planned
    }

    /// What rows or groups are sorted by.
    private var orderKeys: [OrderKey] {
        plan.ordering.enumerated().map { place, key in
            OrderKey(
                path: orderPath(key.node, place), isDescending: key.isDescending,
                collation: key.node.collation ?? .raw)
        }
    }

    /// A property of the first source by its path, so that an index may give the order; anything else
    /// by a path that no document has.
    private func orderPath(_ node: ExpressionNode, _ place: Int) -> PropertyPath {
        switch node.uncollated {
        case .property(let path, let source)
        where (source == nil || source.hasSameBytes(as: query.source.name))
            && path.isInBody:
            return path
        default: return PropertyPath(steps: [PropertyPath.Step(key: "\u{0}order\(place)")])
        }
    }

    /// The place in the order of each path that stands for an expression there.
    private lazy var orderPlaces: [PropertyPath: Int] = Dictionary(
        orderKeys.enumerated().map { ($1.path, $0) }, uniquingKeysWith: { first, _ in first })

    /// Whether an index that finds documents exactly finds those of the query.
    private var isConstraintWhole: Bool {
        plan.lookups.isEmpty && !plan.includesDeleted
            && plan.condition?.hasWholeConstraint(plan.collation, source: query.source.name) ?? true
    }

    private func orderValue(_ path: PropertyPath, _ document: Document, _ snapshot: Snapshot) throws
        -> PackedValue?
    {
        guard let place = orderPlaces[path],
            let scope = try scope(document, snapshot, isFound: true)
        else { return nil }
        return try plan.ordering[place].node.value(in: scope).map { PackedValue($0) }
    }

    /// What expressions of a document are computed in; nil when the document gives no row.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - snapshot: Where other documents are found.
    ///   - isFound: Whether it is known that the document fulfils the condition.
    /// - Returns: The scope.
    /// - Throws: `DatabaseError`.
    private func scope(_ document: Document, _ snapshot: Snapshot, isFound: Bool = false) throws
        -> ExpressionScope?
    {
        // Only tombstones without a body have a sequence in common: 0.
        if let last, last.sequence == document.sequence,
            document.sequence > 0 || last.document == document.id
        {
            return last.isRow ? scope : nil
        }
        let isTested = isFound || packedCondition != nil
        if !isFound, let packed = packedCondition,
            !document.body.withBytes({ packed.holds(in: $0) })
        {
            last = (document.id, document.sequence, false)
            return nil
        }
        let scope = scope(of: document, snapshot)
        var isRow = try join(scope, snapshot)
        // What is unknown is not true.
        if isRow, !isTested, let condition = plan.condition {
            isRow = try condition.truth(in: scope) ?? false
        }
        last = (document.id, document.sequence, isRow)
        return isRow ? scope : nil
    }

    private func scope(of document: Document, _ snapshot: Snapshot) -> ExpressionScope {
        last = nil
        if isKnownUniquelyReferenced(&scope), let scope {
            scope.reset(document)
            return scope
        }
        let new = ExpressionScope(
            document, name: query.source.name, snapshot: snapshot, patterns: patterns)
        scope = new
        return new
    }

    /// Finds the documents of the other sources; false when one is missing that must be there.
    private func join(_ scope: ExpressionScope, _ snapshot: Snapshot) throws -> Bool {
        for lookup in plan.lookups {
            var found: Document?
            if let id = try lookup.id.value(in: scope)?.string,
                let id = try? DocumentID(validating: id)
            {
                examined?.add(id)
                found = try snapshot.document(id)
            }
            if let found {
                scope.joined[lookup.name] = found
            } else if !lookup.isOuter {
                return false
            }
        }
        return true
    }

    // MARK: - Groups

    private func performGrouped() throws -> (rows: SelectRows, report: QueryReport) {
        let groups = SelectGroups(plan)
        let begin = { [self] in
            groups.removeAll()
            (last, scope) = (nil, nil)
        }
        var planned = planned(isWindowed: false)
        // A live query needs to know each document.
        if countsInPlace, examined == nil { planned.take = groups.taker(packedCondition) }
        let report = try planned.run(begin: begin) { document, snapshot in
            if let scope = try scope(document, snapshot) { try groups.add(document, scope) }
            return true
        }
        let condition = plan.groupCondition.map(groups.folded)
        let columns = plan.columns.map(groups.folded)
        let ordering = plan.ordering.map { groups.folded($0.node) }
        let coder = OrderCoder(
            keys: orderKeys, coder: RowKeyCoder(plan.collation, strings: ICUCollator.root))
        var found: [(order: [UInt8], values: [JSONValue?])] = []
        for scope in groups.scopesInOrder(patterns) {
            guard try condition.map({ try $0.truth(in: scope) ?? false }) ?? true else { continue }
            let values = try columns.map { try $0.value(in: scope) }
            let order = try ordering.map { try $0.value(in: scope).map { PackedValue($0) } }
            found.append((coder.position(order, id: ""), values))
        }
        if !plan.ordering.isEmpty { found.sort { $0.order.precedes($1.order) } }
        var rows = noRows(isPacked: false, capacity: found.count)
        for (_, values) in found { rows.appendComputed { $0 += values } }
        rows.keep(query.limit, after: query.offset)
        return (SelectRows(rows), report)
    }

    /// Whether all documents may be added to groups where they lie.
    private var countsInPlace: Bool {
        plan.countsOnly && plan.lookups.isEmpty && !plan.includesDeleted
            && (plan.condition == nil || packedCondition != nil)
    }
}
