// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// What a run of a query found out about itself.
struct QueryReport {
    var plan: QueryPlan
    /// The way that was taken in the end.
    var path: AccessPath
    var counters = PlanRun.Counters()
    /// Whether documents were sorted in memory.
    var isSorted = false
    /// Whether reading an index in order was tried, and given up.
    var gaveUpOrder = false
    /// How many sorted runs went to a file.
    var spilledRuns = 0
    /// Where the last document stood.
    var end: QueryPosition?
    /// Indexes that have to do with the query and were not read; if asked for.
    var unused: [UnusedIndex] = []
}

extension PlannedQuery {
    /// Runs the query: `body` gets its documents in order until it returns false.
    ///
    /// - Parameters:
    ///   - begin: Called before the first document, and again when the run has to begin anew, since an
    ///     index turned out to be damaged.
    ///   - body: Gets a document.
    /// - Returns: What was done.
    /// - Throws: `DatabaseError`, and what `body` throws.
    func run(begin: () -> Void, _ body: (Document, Snapshot) throws -> Bool) throws -> QueryReport {
        try withPlanner { planner in
            begin()
            examined?.removeAll()
            return try DatabaseCore.blaming(nil) {
                var report = try run(planner, body)
                try noteUnusedIndexes(report, planner)
                if explainsUnused { report.unused = try unusedIndexes(report, planner) }
                return report
            }
        }
    }

    private func run(_ planner: Planner, _ body: (Document, Snapshot) throws -> Bool) throws
        -> QueryReport
    {
        let plan = try makePlan(planner)
        var report = QueryReport(plan: plan, path: plan.base.path)
        if try attemptOrdered(plan, planner, &report, body) { return report }
        if plan.isBaseOrdered {
            let access = plan.base.path
            _ = try stream(access, planner, .max, &report, holdsNothingBack: true, body)
        } else {
            try sort(planner, &report, body)
        }
        return report
    }

    /// The plan; one that goes on where another run ended must go the same way.
    private func makePlan(_ planner: Planner) throws -> QueryPlan {
        if readsInOrder { return try planInOrder(planner) }
        if start == nil, limit != nil, isConstraintWhole,
            let plan = try planner.firstRowsPlan(
                constraint, order: order, isCounted: explainsUnused)
        {
            return plan
        }
        var plan = try planner.plan(constraint, order: order, isLimited: limit != nil)
        switch start?.kind {
        case nil: return plan
        case .sorted?:
            (plan.ordered, plan.isBaseOrdered) = (nil, false)
        case .documents?:
            plan.ordered = nil
            if !plan.base.path.isInOrderOfID { plan.base = planner.scan }
            guard order.isEmpty || order.map(\.path) == [.documentID] else {
                throw DatabaseError.bookmark
            }
            plan.isBaseOrdered = true
        case .index(let name)?:
            guard
                let index = planner.indexes.first(where: {
                    $0.map.indexName.name.hasSameBytes(as: name)
                }),
                let access = try planner.access(index, constraint)
            else { throw DatabaseError.bookmark }
            (plan.base, plan.ordered, plan.isBaseOrdered) = (access, nil, true)
        }
        return plan
    }

    /// The plan that reads the named index in its order, or documents in that of their IDs.
    private func planInOrder(_ planner: Planner) throws -> QueryPlan {
        guard indexName != nil else {
            guard start.map({ $0.kind == .documents }) ?? true else { throw DatabaseError.bookmark }
            return try planner.planByID(
                constraint, isReversed: orderCoder.isReversed,
                isLimited: start == nil && (limit ?? .max) <= Self.mostHeldBack)
        }
        let index = planner.indexes.first
        var plan = QueryPlan(base: planner.scan, isBaseOrdered: false)
        plan.isReversed = orderCoder.isReversed
        if let index { plan.base = try planner.wayInOrder(index, constraint) }
        switch start?.kind {
        case nil: plan.isBaseOrdered = plan.base.isInKeyOrder
        case .sorted?: break
        case .index(let name)?
        where index?.map.indexName.name.hasSameBytes(as: name) ?? false && plan.base.isInKeyOrder:
            plan.isBaseOrdered = true
        default: throw DatabaseError.bookmark
        }
        return plan
    }

    /// With a longer limit documents are not tried in their order first, since those found are held back.
    private static let mostHeldBack = 1_000

    // MARK: - In the order of the way

    private func attemptOrdered(
        _ plan: QueryPlan, _ planner: Planner, _ report: inout QueryReport,
        _ body: (Document, Snapshot) throws -> Bool
    ) throws -> Bool {
        guard let ordered = plan.ordered else { return false }
        // Held back until it is certain that the attempt succeeds; a limit bounds them.
        var found: [DocumentID] = []
        let isDone = try stream(ordered.path, planner, plan.base.rows, &report) { document, _ in
            found.append(document.id)
            return true
        }
        guard isDone else {
            report.gaveUpOrder = true
            report.end = nil
            return false
        }
        report.path = ordered.path
        for id in found {
            guard let document = try planner.snapshot.document(id, includingDeleted: true) else {
                continue
            }
            guard try body(document, planner.snapshot) else { break }
        }
        return true
    }

    /// Takes a way that has the right order; false when it costs more than it may.
    private func stream(
        _ path: AccessPath, _ planner: Planner, _ budget: Int, _ report: inout QueryReport,
        holdsNothingBack: Bool = false, _ body: (Document, Snapshot) throws -> Bool
    ) throws -> Bool {
        let run = makeRun(planner)
        run.isReversed = report.plan.isReversed
        run.position = start?.bytes
        run.budget = budget
        run.takesAllInAnyOrder = takesAllInAnyOrder
        run.take = take
        var (toSkip, left) = (skip, limit ?? .max)
        guard left > 0 else { return true }
        if isConstraintWhole, holdsNothingBack, case .index(let access) = path,
            let takeRow = rowTaker?(access.map)
        {
            run.takeRow = { key in
                if toSkip == 0 {
                    guard try takeRow(key) else { return .needsDocument }
                    left -= 1
                } else {
                    toSkip -= 1
                }
                return left > 0 ? .taken : .takenAsLast
            }
        }
        if isConstraintWhole, holdsNothingBack, let takeBody {
            run.takeBody = { [examined] id, body in
                examined?.add(id)
                if toSkip == 0 {
                    try takeBody(id, body)
                    left -= 1
                } else {
                    toSkip -= 1
                }
                return left > 0
            }
        }
        var last: (id: DocumentID, row: [UInt8]?)?
        let ending = try run.run(path) { candidate in
            examined?.add(candidate.document.id)
            guard try isWanted(candidate, planner.snapshot) else { return true }
            if toSkip > 0 {
                toSkip -= 1
                return true
            }
            left -= 1
            // A run that takes all documents in any order is never continued from its last one.
            if !takesAllInAnyOrder { last = (candidate.document.id, candidate.row) }
            return try body(candidate.document, planner.snapshot) && left > 0
        }
        report.counters.rows += run.counters.rows
        report.counters.documents += run.counters.documents
        report.end = last.map { last in
            QueryPosition(kind: path.positionKind, bytes: last.row ?? Array(last.id.text.utf8))
        }
        return ending != .overBudget
    }

    private func isWanted(_ candidate: PlanRun.Candidate, _ snapshot: Snapshot) throws -> Bool {
        try isConstraintWhole && candidate.isProven || isWanted(candidate.document, snapshot)
    }

    private func makeRun(_ planner: Planner) -> PlanRun {
        let run = PlanRun(planner.snapshot)
        run.includesDeleted = includesDeleted
        return run
    }

    // MARK: - Sorting

    private func sort(
        _ planner: Planner, _ report: inout QueryReport,
        _ body: (Document, Snapshot) throws -> Bool
    ) throws {
        report.isSorted = true
        let coder = orderCoder
        let snapshot = planner.snapshot
        let most = limit.map { skip.addingReportingOverflow($0) }
        var sorter = ExternalSorter(limit: most.flatMap { $0.overflow ? nil : $0.partialValue })
        let run = makeRun(planner)
        // Each place ends in an ID, so they are the same in whatever order they are found.
        run.takesAllInAnyOrder = true
        _ = try run.run(report.plan.base.path) { candidate in
            let document = candidate.document
            examined?.add(document.id)
            guard try isWanted(candidate, snapshot) else { return true }
            let values = try order.map { try value($0.path, document, snapshot) }
            let position = coder.position(values, id: document.id.text)
            if let start, !start.bytes.precedes(position) { return true }
            try sorter.add(
                ExternalSorter.Item(key: position, payload: Array(document.id.text.utf8)))
            return true
        }
        report.counters.rows += run.counters.rows
        report.counters.documents += run.counters.documents
        report.spilledRuns = sorter.spilledRuns
        var (toSkip, left) = (skip, limit ?? .max)
        try sorter.forEach { item in
            guard left > 0 else { return false }
            if toSkip > 0 {
                toSkip -= 1
                return true
            }
            left -= 1
            let id = DocumentID(String(decoding: item.payload, as: UTF8.self))
            guard let document = try snapshot.document(id, includingDeleted: includesDeleted) else {
                throw DatabaseError.corrupted("A document that a query found", id)
            }
            report.end = QueryPosition(kind: .sorted, bytes: item.key)
            return try body(document, snapshot)
        }
    }
}

extension AccessPath {
    /// What a position on the way means.
    fileprivate var positionKind: QueryPosition.Kind {
        if case .index(let access) = self, !access.mayRepeat {
            return .index(access.map.indexName.name)
        }
        return .documents
    }
}

extension Planner {
    /// The way by one index, whatever its price.
    fileprivate func access(_ index: IndexAccess, _ constraint: QueryConstraint) throws
        -> PricedAccess?
    {
        guard !index.map.hasElements else { return nil }
        let conditions = constraint.simplified.conditions
        if let access = try price(
            index, by: conditions, of: constraint.simplified.conjuncts.count)
        {
            return access
        }
        return PricedAccess(path: .index(index), rows: documentCount)
    }
}

extension DatabaseError {
    static let bookmark = DatabaseError(
        .invalidQuery,
        "The bookmark is not of this query, or an index that it needs is gone; begin again without it."
    )
}
