// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import DivanStorage

/// One run of a query: brings the index up to date, then reads in one snapshot.
struct QueryRun {
    let query: ViewQuery

    func run() throws -> QueryResult {
        switch query.source {
        case .view(let view): return try run(view)
        case .allDocuments(let core, _): return try AllDocumentsRun(query: query, core: core).run()
        }
    }

    private func run(_ view: DatabaseView) throws -> QueryResult {
        let definition = try view.definition()
        let reducer = query.mapOnly ? nil : view.reducer
        try check(view, reducer)
        if view.isOneShot, let scanned = try view.scan() {
            return try run(view, definition, reducer, scanned)
        }
        if query.updateMode == .before {
            // One look at the index tells whether it is up to date, and answers if so.
            if let result = try answerIfUpToDate(view, definition, reducer) { return result }
            // A query that must not write, or would not see what it writes, builds what the index
            // lacks in memory.
            if view.core.maintainsIndexes {
                try view.updateIndex()
            } else if let scanned = try view.scan() {
                return try run(view, definition, reducer, scanned)
            }
        }
        let result = try view.core.read { snapshot in
            try answer(view, definition, reducer, view.record(in: snapshot), snapshot)
        }
        if query.updateMode == .after {
            BlockingWork.start { try? view.updateIndex() }
        }
        return result
    }

    /// Answers from the index if that has all that the documents have; nil otherwise.
    private func answerIfUpToDate(
        _ view: DatabaseView, _ definition: IndexDefinition, _ reducer: (any ViewReducer)?
    ) throws -> QueryResult? {
        try view.core.read { snapshot in
            guard let record = try view.record(in: snapshot),
                try snapshot.isUpToDate(record, definition)
            else { return nil }
            return try answer(view, definition, reducer, record, snapshot)
        }
    }

    /// Answers from the index as it is.
    private func answer(
        _ view: DatabaseView, _ definition: IndexDefinition, _ reducer: (any ViewReducer)?,
        _ record: IndexRecord?, _ snapshot: Snapshot
    ) throws -> QueryResult {
        try snapshot.core.blaming(nil) {
            do {
                return try IndexRun(
                    query: query, snapshot: snapshot, coder: definition.coder, record: record,
                    reducer: reducer
                ).run()
            } catch let error as ReductionFailure {
                throw DatabaseError.reduceFailed(view.name, error)
            } catch let error as IndexCorruption {
                throw DatabaseError.damagedIndex(view.name, error)
            }
        }
    }

    /// Answers from a scan of the documents.
    private func run(
        _ view: DatabaseView, _ definition: IndexDefinition, _ reducer: (any ViewReducer)?,
        _ scanned: ScannedIndex
    ) throws -> QueryResult {
        try view.core.read { snapshot in
            do {
                return try scanned.read { index in
                    var result = try IndexRun(
                        query: query, snapshot: snapshot, coder: definition.coder,
                        record: nil, reducer: reducer, scanned: index
                    ).run()
                    result.isScanned = true
                    result.sequence = scanned.mark.sequence
                    result.purge = scanned.mark.purge
                    return result
                }
            } catch let error as ReductionFailure {
                throw DatabaseError.reduceFailed(view.name, error)
            }
        }
    }

    private func check(_ view: DatabaseView, _ reducer: (any ViewReducer)?) throws {
        if case .level(let level) = query.grouping, level < 1 {
            throw DatabaseError(
                .invalidQuery, "A group level of \(level) groups nothing; use 1 or more.")
        }
        guard query.skip >= 0, query.limit ?? 0 >= 0 else {
            throw DatabaseError(
                .invalidQuery, "skip and limit count rows; use 0 or more.")
        }
        if query.keys != nil, query.grouping != .none, query.grouping != .exact {
            throw DatabaseError(
                .invalidQuery,
                "A query of single keys can be grouped by .exact only; use a range for group levels."
            )
        }
    }
}

/// Reads the rows, groups or reduction of an index.
private struct IndexRun {
    let query: ViewQuery
    let snapshot: Snapshot
    let coder: RowKeyCoder
    let record: IndexRecord?
    let reducer: (any ViewReducer)?
    /// Rows that are not stored, in place of those of the record.
    var scanned: IndexReader?

    func run() throws -> QueryResult {
        guard let index = scanned ?? record.map({ snapshot.reader(of: $0) }) else {
            return result([], totalRows: 0, offset: 0)
        }
        let ranges = QueryRanges(query: query, coder: coder).ranges
        var rows: [QueryRow]
        var offset: Int?
        if query.grouping != .none {
            rows = try ranges.flatMap { try groups(index, $0) }
            rows = windowed(rows)
        } else if let reducer {
            rows = try reduce(index, ranges, reducer)
        } else {
            (rows, offset) = try self.rows(index, ranges)
        }
        return result(rows, totalRows: try index.count(), offset: offset)
    }

    private func result(_ rows: [QueryRow], totalRows: Int, offset: Int?) -> QueryResult {
        QueryResult(
            rows, core: snapshot.core, sequence: record?.lastSequence ?? 0,
            purge: record?.lastPurge ?? 0, totalRows: totalRows, offset: offset,
            place: record?.place)
    }

    // MARK: - Rows

    private func rows(_ index: IndexReader, _ ranges: [RowRange]) throws -> ([QueryRow], Int?) {
        // What a filter or another order leaves is not known before all rows have been looked at.
        let isWindowed = query.filter != nil || query.sort != nil
        var skip = isWindowed ? 0 : query.skip
        let limit = isWindowed ? Int.max : query.limit ?? .max
        var found = IndexedRowCollector(coder, core: snapshot.core)
        let flag = CancellationFlag.current
        for range in ranges where found.count < limit {
            if ranges.count > 1, skip > 0 {
                let count = try index.count(in: range)
                if skip >= count {
                    skip -= count
                    continue
                }
            }
            try index.forEachRow(in: range, descending: query.descending, skip: skip) {
                try flag?.check()
                try found.append(key: $0, value: $1)
                return found.count < limit
            }
            skip = 0
        }
        var rows = try found.finish().map(row)
        if isWindowed { rows = windowed(rows) }
        return (rows, try offset(index, ranges))
    }

    /// The rows of the view before the first of the result.
    private func offset(_ index: IndexReader, _ ranges: [RowRange]) throws -> Int? {
        guard query.includeOffset, ranges.count == 1, let range = ranges.first else { return nil }
        let before =
            query.descending
            ? RowRange(lower: range.upper, upper: nil) : RowRange(lower: nil, upper: range.lower)
        let isBounded = query.descending ? range.upper != nil : range.lower != nil
        return query.skip + (isBounded ? try index.count(in: before) : 0)
    }

    private func row(_ indexed: IndexedRow) throws -> QueryRow {
        let row = QueryRow(.index(indexed))
        guard query.includeDocuments, let id = row.documentID else { return row }
        return QueryRow(
            .index(indexed), including: try snapshot.document(DocumentID.parse(id)))
    }

    /// Applies the filter and the order of the query, and then skip and limit.
    private func windowed(_ rows: [QueryRow]) -> [QueryRow] {
        var rows = query.filter.map { rows.filter($0) } ?? rows
        if let sort = query.sort { rows.sort(by: sort) }
        return Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }

    // MARK: - Reductions

    private func reduce(
        _ index: IndexReader, _ ranges: [RowRange], _ reducer: any ViewReducer
    ) throws -> [QueryRow] {
        guard let value = try self.value(index, ranges, reducer) else { return [] }
        return windowed([made(.null, value)])
    }

    /// What the rows of ranges reduce to; nil when there are none.
    private func value(
        _ index: IndexReader, _ ranges: [RowRange], _ reducer: any ViewReducer
    ) throws -> JSONValue? {
        var parts: [PackedValue] = []
        let flag = CancellationFlag.current
        for range in ranges {
            if !reducer.isStored {
                try index.forEachRow(in: range) { _, value in
                    try flag?.check()
                    parts.append(RowValue.decode(value))
                    return true
                }
            } else if let value = try index.reduce(range, with: reducer).value {
                parts.append(value)
            }
        }
        guard let first = parts.first else { return nil }
        do {
            let isWhole = parts.count == 1 && reducer.isStored
            return reducer.result(try isWhole ? first : reducer.rereduce(parts))
        } catch {
            throw ReductionFailure("\(error)")
        }
    }

    private func made(_ key: JSONValue, _ value: JSONValue?) -> QueryRow {
        QueryRow(
            .made(.init(key: key, value: value, documentID: nil, core: snapshot.core)))
    }

    /// The groups of a range: each is found from its first row, and skipped as a whole.
    private func groups(_ index: IndexReader, _ range: RowRange) throws -> [QueryRow] {
        var groups: [QueryRow] = []
        var rest = range
        // Without a filter no more groups than wanted need be reduced.
        let isWindowed = query.filter != nil || query.sort != nil
        let wanted = isWindowed ? Int.max : query.skip + (query.limit ?? .max / 2)
        while groups.count < wanted, let key = try firstKey(index, rest) {
            let (group, name) = group(of: key)
            let inside = group.clamped(to: range)
            let value = try reducer.flatMap { try self.value(index, [inside], $0) }
            groups.append(made(name, value))
            if query.descending {
                rest.upper = inside.lower
            } else {
                guard let end = group.upper else { break }
                rest.lower = end
            }
        }
        return groups
    }

    private func firstKey(_ index: IndexReader, _ range: RowRange) throws -> JSONValue? {
        var first: JSONValue?
        try index.forEachRow(in: range, descending: query.descending) { key, _ in
            first = try RowKey.emittedKey(in: key, coder)
            return false
        }
        return first
    }

    /// The rows that are in one group with a key, and the group's key, which is written as in the first
    /// of its rows.
    private func group(of key: JSONValue) -> (rows: RowRange, key: JSONValue) {
        if case .level(let level) = query.grouping, case .array(let items) = key,
            items.count >= level
        {
            var prefix: [UInt8] = []
            coder.appendPrefix(of: items.prefix(level), to: &prefix)
            return (RowRange(prefix: prefix), .array(Array(items.prefix(level))))
        }
        return (QueryRanges(query: query, coder: coder).equal(to: key), key)
    }
}
