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
    /// The bytes of a value that the condition is on.
    private var conditionKey: [UInt8] = []
    private var keys: [String] { plan.keys }
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
        let (values, report) = try perform()
        let rows = SelectRows(keys: keys, values: values, identifying: plan.identifyingColumns)
        // No row of an index tells when a document expires.
        let isLasting = !plan.includesDeleted && !plan.nodes.contains(where: \.asksForExpiration)
        return (rows, isLasting ? report.path : .documents(.all))
    }

    /// Has the indexes that the query may read followed.
    func followIndexes() throws -> [ListenerToken] {
        try planned(isWindowed: false).followIndexes()
    }

    func explain() throws -> FindExplanation {
        explainsUnused = true
        let (values, report) = try perform()
        let sort = query.ordering.map {
            SortKey(
                SelectResult(node: $0.node, alias: nil).name ?? "an expression",
                isDescending: $0.isDescending)
        }
        return report.explanation(results: values.count, order: sort)
    }

    private func perform() throws -> (values: [[JSONValue?]], report: QueryReport) {
        if plan.isGrouped { return try performGrouped() }
        var rows: [[JSONValue?]] = []
        var seen = Set<[UInt8]>()
        let begin = { [self] in
            (rows, seen, last, scope) = ([], [], nil, nil)
        }
        func add(_ row: [JSONValue?]) {
            if query.isDistinct, !seen.insert(identity(row)).inserted { return }
            rows.append(row)
        }
        var planned = planned(isWindowed: !query.isDistinct)
        if planned.isConstraintWhole {
            planned.rowTaker = { [plan] map in
                let source = plan.sourceName
                guard let covered = CoveredColumns(plan.columns, source: source, map: map) else {
                    return nil
                }
                return { row in
                    guard let values = try covered.values(in: row) else { return false }
                    add(values)
                    return true
                }
            }
        }
        let report = try planned.run(begin: begin) {
            document, snapshot in
            guard let scope = try scope(document, snapshot, isFound: true) else { return true }
            add(try plan.columns.map { try $0.value(in: scope) })
            return true
        }
        return (query.isDistinct ? windowed(rows) : rows, report)
    }

    private func windowed<T>(_ rows: [T]) -> [T] {
        Array(rows.dropFirst(query.offset).prefix(query.limit ?? .max))
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
        if !plan.isGrouped {
            planned.order = plan.ordering.enumerated().map { place, key in
                OrderKey(
                    path: orderPath(key.node, place), isDescending: key.isDescending,
                    collation: key.node.collation ?? .raw)
            }
        }
        if isWindowed { (planned.skip, planned.limit) = (query.offset, query.limit) }
        planned.includesDeleted = plan.includesDeleted
        planned.isConstraintWhole = isConstraintWhole
        planned.takesAllInAnyOrder = plan.countsOnly
        planned.examined = examined
        planned.explainsUnused = explainsUnused
        return planned
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

    /// Whether an index that finds documents exactly finds those of the query.
    private var isConstraintWhole: Bool {
        plan.lookups.isEmpty && !plan.includesDeleted
            && plan.condition?.hasWholeConstraint(plan.collation, source: query.source.name) ?? true
    }

    private func orderValue(_ path: PropertyPath, _ document: Document, _ snapshot: Snapshot) throws
        -> PackedValue?
    {
        guard
            let place = plan.ordering.indices.first(where: {
                orderPath(plan.ordering[$0].node, $0) == path
            }), let scope = try scope(document, snapshot, isFound: true)
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
        let isTested = isFound || plan.packedCondition != nil
        if !isFound, let packed = plan.packedCondition,
            !document.body.withBytes({ packed.holds(in: $0, &conditionKey) })
        {
            last = (document.id, document.sequence, false)
            return nil
        }
        let scope = scope(of: document, snapshot)
        var isRow = try join(scope)
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
    private func join(_ scope: ExpressionScope) throws -> Bool {
        for lookup in plan.lookups {
            var found: Document?
            if let id = try lookup.id.value(in: scope)?.string,
                let id = try? DocumentID(validating: id)
            {
                examined?.add(id)
                found = try scope.snapshot.document(id)
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

    private func performGrouped() throws -> (values: [[JSONValue?]], report: QueryReport) {
        var groups = SelectGroups(plan)
        var result: [[JSONValue?]] = []
        let begin = { [self] in
            (groups, last, scope) = (SelectGroups(plan), nil, nil)
        }
        var planned = planned(isWindowed: false)
        // A live query needs to know each document.
        if plan.countsInPlace, examined == nil, groups.takesDocumentsInPlace {
            planned.take = { try groups.add($0, $1) }
        }
        let report = try planned.run(begin: begin) { document, snapshot in
            if let scope = try scope(document, snapshot) { try groups.add(scope) }
            return true
        }
        var rows: [(order: [UInt8], values: [JSONValue?])] = []
        for group in groups.inOrder {
            guard try plan.groupCondition.map({ try group.truth($0) }) ?? true else { continue }
            let values = try plan.columns.map { try group.value($0) }
            rows.append((try order(of: group), values))
        }
        if !plan.ordering.isEmpty { rows.sort { $0.order.precedes($1.order) } }
        result = windowed(distinct(rows.map(\.values)))
        return (result, report)
    }

    private func distinct(_ rows: [[JSONValue?]]) -> [[JSONValue?]] {
        guard query.isDistinct else { return rows }
        var seen = Set<[UInt8]>()
        return rows.filter { seen.insert(identity($0)).inserted }
    }

    private func order(of group: SelectGroups.Group) throws -> [UInt8] {
        let keys = plan.ordering.enumerated().map { place, key in
            OrderKey(
                path: orderPath(key.node, place), isDescending: key.isDescending,
                collation: key.node.collation ?? .raw)
        }
        let values = try plan.ordering.map { try group.value($0.node).map { PackedValue($0) } }
        let coder = OrderCoder(
            keys: keys, coder: RowKeyCoder(plan.collation, strings: ICUCollator.root))
        return coder.position(values, id: "")
    }

    /// Bytes that are the same for equal values.
    private func identity(_ values: [JSONValue?]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values {
            if let value {
                SelectGroups.coder.append(value, to: &bytes)
            } else {
                bytes.append(RowKeyCoder.missing)
            }
        }
        return bytes
    }
}
