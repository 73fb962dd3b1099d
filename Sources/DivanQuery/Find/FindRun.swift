// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// One run of a ``FindQuery``.
struct FindRun {
    let query: FindQuery
    var planned: PlannedQuery
    let projection: Projection?
    private let fingerprint: String

    init(_ query: FindQuery) throws {
        try DatabaseError.check(skip: query.skip, limit: query.limit)
        if let partition = query.partition {
            try DatabasePartition.check(partition, in: query.database.core)
        }
        self.query = query
        projection = try query.fields.map { try Projection($0) }
        let order = try query.sort.map { key in
            let path = try Self.path(key.path)
            // IDs compare by their bytes.
            return OrderKey(
                path: path, isDescending: key.isDescending,
                collation: path == .documentID ? .raw : nil)
        }
        let node = query.selector.wanted
        let prefix = query.partition.map { "\($0):" }
        let seesConflicts = query.seesConflicts && node.asks(for: .conflicts)
        var planned = PlannedQuery(
            core: query.database.core, constraint: node.constraint, collation: .unicode,
            order: order,
            isWanted: { document, snapshot in
                guard prefix.map(document.id.text.hasBytePrefix) ?? true else { return false }
                var subject = SelectorSubject(document)
                if seesConflicts { subject.conflicts = try snapshot.conflicts(of: document.id) }
                let truth = node.truth(of: subject)
                guard truth != false, query.isVisible?(document) ?? true else { return false }
                guard truth != nil else { throw DatabaseError.undecided(document.id) }
                return true
            })
        (planned.skip, planned.limit) = (query.skip, query.limit)
        if let partition = query.partition, let prefix {
            planned.idRange = RowRange(prefix: Array(prefix.utf8))
            // No more is left of an index that is made for partitions; others are read for all.
            planned.constraint = .all([
                .inside(.partition, [.exactly(.string(partition))]), planned.constraint,
            ])
        }
        planned.indexName = query.useIndex
        planned.updatesIndexes = query.updatesIndexes
        planned.readsInOrder = query.readsInOrder
        fingerprint = FindBookmark.fingerprint(
            [query.selector.json.description, query.useIndex ?? ""]
                + (query.partition.map { ["partition", $0] } ?? [])
                + query.sort.map { "\($0.path) \($0.isDescending)" })
        if let bookmark = query.bookmark, !bookmark.isEmpty, bookmark != "nil" {
            planned.start = try FindBookmark(bookmark, fingerprint: fingerprint).position
        }
        self.planned = planned
    }

    private static func path(_ text: String) throws -> PropertyPath {
        do throws(PropertyPath.Failure) {
            return try PropertyPath(text, allowsBrackets: false)
        } catch {
            throw DatabaseError(
                .invalidQuery, "What is sorted by, '\(text)', cannot be: \(error.reason).")
        }
    }

    func run() throws -> FindResult { try runReporting().result }

    /// Runs the query and tells which way it went.
    func runReporting() throws -> (result: FindResult, path: AccessPath) {
        var rows: [FindRow] = []
        var (result, path) = try runReporting(begin: { rows = [] }, take: { rows.append($0) })
        result.rows = rows
        return (result, path)
    }

    /// Runs the query without keeping what it finds.
    func run(begin: () -> Void, take: (FindRow) throws -> Void) throws -> FindResult {
        try runReporting(begin: begin, take: take).result
    }

    private func runReporting(begin: () -> Void, take: (FindRow) throws -> Void) throws -> (
        result: FindResult, path: AccessPath
    ) {
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        let report = try planned.run(begin: {
            count = 0
            begin()
        }) { document, snapshot in
            var row = FindRow(document: document, projection: projection)
            if query.seesConflicts, projection?.wants(.conflicts) ?? false {
                row.conflicts = try snapshot.conflicts(of: document.id)
            }
            try take(row)
            count += 1
            return true
        }
        var statistics = FindStatistics()
        statistics.rowsExamined = report.counters.rows
        statistics.documentsExamined = report.counters.documents
        statistics.resultsReturned = count
        statistics.duration = clock.now - start
        let result = FindResult(
            rows: [],
            bookmark: report.end.map { FindBookmark($0, fingerprint: fingerprint).text },
            statistics: statistics, warning: warning(report), indexNames: report.path.indexNames)
        return (result, report.path)
    }

    private func warning(_ report: QueryReport) -> String? {
        if let name = query.useIndex, !NameSet(report.path.indexNames).contains(name),
            case .documents = report.path
        {
            return "The index '\(name)' was not used, as it does not serve the query or "
                + "promises no less work; all documents were read."
        }
        guard case .documents(.all) = report.path, !planned.constraint.simplified.isAnything else {
            return nil
        }
        return "No index narrows the selector down; all documents were read."
    }

    // MARK: - Explaining

    func explain() throws -> FindExplanation {
        var results = 0
        var planned = planned
        planned.explainsUnused = true
        let report = try planned.run(begin: { results = 0 }) { _, _ in
            results += 1
            return true
        }
        return report.explanation(results: results, order: query.sort)
    }
}

extension QueryReport {
    func explanation(results: Int, order: [SortKey]) -> FindExplanation {
        var index: PropertyIndex?
        if case .index(let access) = path { index = access.map.index }
        let estimate =
            gaveUpOrder || plan.ordered == nil ? plan.base.rows : plan.ordered?.rows ?? 0
        var lines = ["Reads \(path.words): \(estimate) rows expected, \(counters.rows) read."]
        if gaveUpOrder, let ordered = plan.ordered {
            lines.append(
                "Tried \(ordered.path.words) first, for the order, and gave up after "
                    + "\(plan.base.rows) rows.")
        }
        lines.append(
            counters.documents == 0 && results > 0
                ? "Found \(results) in the rows; no document was read."
                : "Tested \(counters.documents) documents, found \(results).")
        if isSorted {
            let names = order.map { $0.path + ($0.isDescending ? " descending" : "") }
            let place = spilledRuns > 0 ? "in \(spilledRuns + 1) runs, partly on disk" : "in memory"
            lines.append("Sorts them by \(names.joined(separator: ", ")) \(place).")
        } else if !order.isEmpty {
            lines.append("Gets them in the wanted order.")
        }
        let candidates = plan.considered.map {
            FindExplanation.Candidate(
                description: $0.path.words, indexNames: $0.path.indexNames, rows: $0.rows)
        }
        if candidates.count > 1 {
            let others = candidates.map { "\($0.description) (\($0.rows))" }
            lines.append("Considered: \(others.joined(separator: "; ")).")
        }
        let unused = unused.map {
            FindExplanation.UnusedIndex(name: $0.map.index.name, reason: $0.explanation)
        }
        lines += unused.map { "Not used: the index '\($0.name)', since \($0.reason)." }
        return FindExplanation(
            index: index, access: path.words, indexNames: path.indexNames, estimatedRows: estimate,
            actualRows: counters.rows,
            results: results, isSorted: isSorted, candidates: candidates, unused: unused,
            text: lines.joined(separator: "\n"))
    }
}
