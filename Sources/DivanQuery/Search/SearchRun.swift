// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// One run of a search: brings the index up to date, then reads in one snapshot.
struct SearchRun {
    private let index: SearchIndex
    private let query: SearchQuery
    private let budget: SearchBudget

    init(_ index: SearchIndex, _ query: SearchQuery, budget: SearchBudget = SearchBudget()) {
        self.index = index
        self.query = query
        self.budget = budget
    }

    func run() throws -> SearchResult {
        let expression = try expression
        return try reading { reader in
            guard let reader else { return empty }
            return query.grouping == nil
                ? try hits(expression, reader, query.limit, query.after)
                : try groups(expression, reader)
        }
    }

    /// Goes through the hits in their order, in one snapshot.
    ///
    /// A few are found first, and then four times as many at once, so that only to go through all costs several times what
    /// one search does.
    ///
    /// - Parameter body: Gets a hit, and returns false to end.
    /// - Throws: What the body throws, and as ``run()``.
    func forEachHit(_ body: (SearchHit) throws -> Bool) throws {
        let expression = try expression
        try reading(withDocuments: true) { reader in
            guard let reader else { return }
            var (limit, after) = (min(max(1, query.limit), Self.mostAtOnce), query.after)
            while true {
                let found = try hits(expression, reader, limit, after)
                for hit in found.hits where try !body(hit) { return }
                guard found.hits.count == limit, let end = found.end else { return }
                budget.giveBack(found.hits.reduce(0) { $0 + $1.size })
                after = end
                limit = min(limit.multipliedSaturated(by: 4), Self.mostAtOnce)
            }
        }
    }

    /// The most hits that are found at once in going through all.
    private static let mostAtOnce = 10_000

    private var expression: SearchExpression {
        get throws {
            try query.expression ?? SearchQueryParser.parse(query.text, for: index.service)
        }
    }

    /// Brings the index up to date if that is wanted, and reads it in one snapshot.
    ///
    /// - Parameters:
    ///   - withDocuments: Whether the body reads the documents of the snapshot, too.
    ///   - body: Gets what reads the index; nil for one that has not been built.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, and as bringing the index up to date.
    private func reading<Result>(
        withDocuments: Bool = false, _ body: (SearchReader?) throws -> Result
    ) throws -> Result {
        let core = index.view.core
        guard query.updates else {
            // What was built by another function, or another analyzer, says nothing of this index.
            return try core.read { _ in try body(index.isBuilt ? reader(.never) : nil) }
        }
        guard core.maintainsIndexes else {
            return try core.read { _ in try body(reader(.before)) }
        }
        return try core.answer(
            afterUpdate: { _ = try update.run() },
            ifCurrent: { try index.view.mayAnswer(in: $0, withDocuments: withDocuments) }
        ) { _ in try body(reader(.never)) }
    }

    /// A query of no rows, which brings the index up to date.
    private var update: ViewQuery {
        var update = index.view.query()
        update.partition = query.partition
        update.limit = 0
        update.mapOnly = true
        return update
    }

    private func reader(_ mode: ViewQuery.UpdateMode) -> SearchReader {
        SearchReader(index.view, mode: mode, partition: query.partition, budget: budget)
    }

    /// The answer of an index without documents.
    private var empty: SearchResult {
        var result = SearchResult()
        let facets = SearchFacets(query, budget)
        result.counts = facets.counts
        result.ranges = facets.ranges
        if query.grouping != nil { result.groups = [] }
        return result
    }

    // MARK: - Hits

    private func hits(
        _ expression: SearchExpression, _ reader: SearchReader, _ limit: Int,
        _ after: SearchPosition?
    ) throws -> SearchResult {
        var result = SearchResult()
        var facets = SearchFacets(query, budget)
        var top = SearchTop(query.order, limit: limit, after: after)
        try forEachMatch(expression, reader, orders: [query.order]) { id, score, record in
            if let record { try facets.add(record) }
            let before = top.bytes
            top.offer(try hit(id, score, record, result.total, query.order))
            budget.giveBack(before)
            try budget.keep(top.bytes)
            result.total += 1
        }
        if query.fields != [] { try top.setFields { try fields(of: $0, reader) } }
        result.hits = top.hits
        result.counts = facets.counts
        result.ranges = facets.ranges
        return result
    }

    private func hit(
        _ id: DocumentID, _ score: Double, _ record: SearchRecord?, _ number: Int,
        _ order: [SearchOrder]
    ) throws -> SearchHit {
        let values = try order.map { order -> JSONValue? in
            switch order.key {
            case .score: return .double(score)
            case .document: return .string(id.text)
            case .field(let name, let kind):
                return try record?.value(name, kind, isDescending: order.isDescending)
            }
        }
        return SearchHit(id: id, order: values, number: number)
    }

    /// Goes through all documents that match, in the order of their IDs, with their records where they are needed.
    private func forEachMatch(
        _ expression: SearchExpression, _ reader: SearchReader, orders: [[SearchOrder]],
        _ body: (DocumentID, Double, SearchRecord?) throws -> Void
    ) throws {
        let scoring = SearchScoring(try reader.totals(), isBlind: query.includes != nil)
        let plan = SearchPlan(
            reader: reader, analyzers: index.analyzers, scoring: scoring,
            numbers: query.numbers, service: index.service)
        guard let matches = try plan.matches(expression) else { return }
        let isSorted = orders.joined().contains { if case .field = $0.key { true } else { false } }
        let asksScores = orders.joined().contains { $0.key == .score }
        let needsRecords =
            isSorted || query.grouping != nil || SearchFacets.areWanted(by: query)
        let records = needsRecords ? try SearchCursor(reader, SearchKey.documents) : nil
        let facets = SearchFacets(query, budget)
        let flag = CancellationFlag.current
        while let id = matches.id {
            try flag?.check()
            // First of all: what is refused because of a hidden document would tell of it.
            if try query.includes?(id) ?? true {
                try records?.skip(to: id)
                let record = records.map { SearchRecord($0.id == id ? $0.value : nil) }
                if try record.map(facets.isIncluded) ?? true {
                    try body(id, asksScores ? matches.score : 0, record)
                }
            }
            try matches.next()
        }
    }

    private func fields(of id: DocumentID, _ reader: SearchReader) throws -> JSONObject {
        let found = try reader.rows(of: SearchKey.documents, from: id, skipping: 0, limit: 1)
        guard let row = found.first, row.sourceDocumentID == id else { return [:] }
        return try SearchRecord(row.packedValue).stored(query.fields, budget)
    }

    // MARK: - Groups

    /// In two passes: which groups come first, and then what is in them. So hits of others are not kept.
    private func groups(_ expression: SearchExpression, _ reader: SearchReader) throws
        -> SearchResult
    {
        guard let grouping = query.grouping else { return SearchResult() }
        var result = SearchResult()
        var found: [GroupValue: (total: Int, first: SearchHit)] = [:]
        let first = SearchTop(grouping.order, limit: 1)
        try forEachMatch(expression, reader, orders: [grouping.order]) { id, score, record in
            let value = GroupValue(record, grouping.field)
            let hit = try hit(id, score, record, result.total, grouping.order)
            result.total += 1
            if let known = found[value] {
                let isBetter = first.isBefore(hit.order, hit.id, known.first.order, known.first.id)
                if isBetter {
                    budget.giveBack(known.first.size)
                    try budget.keep(hit.size)
                }
                found[value] = (known.total + 1, isBetter ? hit : known.first)
            } else {
                try budget.keep(value.size + hit.size + 128)
                found[value] = (1, hit)
            }
        }
        let chosen = found.sorted {
            first.isBefore(
                $0.value.first.order, $0.value.first.id, $1.value.first.order, $1.value.first.id)
        }.prefix(grouping.limit)
        result.groups = try filled(
            chosen.map { ($0.key, $0.value.total) }, grouping, expression, reader)
        return result
    }

    private func filled(
        _ chosen: [(value: GroupValue, total: Int)], _ grouping: SearchQuery.Grouping,
        _ expression: SearchExpression, _ reader: SearchReader
    ) throws -> [SearchGroup] {
        var tops: [GroupValue: SearchTop] = [:]
        for (value, _) in chosen { tops[value] = SearchTop(query.order, limit: query.limit) }
        var number = 0
        try forEachMatch(expression, reader, orders: [query.order]) { id, score, record in
            let value = GroupValue(record, grouping.field)
            defer { number += 1 }
            guard let before = tops[value]?.bytes else { return }
            tops[value]?.offer(try hit(id, score, record, number, query.order))
            budget.giveBack(before)
            try budget.keep(tops[value]?.bytes ?? 0)
        }
        return try chosen.map { value, total in
            try tops[value]?.setFields { try fields(of: $0, reader) }
            return SearchGroup(value: value.json, total: total, hits: tops[value]?.hits ?? [])
        }
    }

    /// The value that hits of a group have in common.
    private enum GroupValue: Hashable {
        case none
        case number(Double)
        case text(ExactString)

        init(_ record: SearchRecord?, _ field: String) {
            guard let value = record?.values(of: field).first else {
                self = .none
                return
            }
            self = value.string.map { .text(ExactString($0)) } ?? .number(value.double ?? 0)
        }

        var size: Int { if case .text(let text) = self { text.text.utf8.count } else { 8 } }

        var json: JSONValue? {
            switch self {
            case .none: nil
            case .number(let number): SearchKey.value(number)
            case .text(let text): .string(text.text)
            }
        }
    }
}
