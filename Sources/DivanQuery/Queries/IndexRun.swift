// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Reads the rows, groups or reduction of an index.
struct IndexRun {
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
        let all = QueryRanges(query: query, coder: coder)
        let (ranges, whole) = (all.ranges, all.whole)
        var rows: [QueryRow]
        var offset: Int?
        if query.grouping != .none {
            rows = []
            var held = 0
            for range in ranges { try addGroups(to: &rows, holding: &held, index, range) }
            rows = windowed(rows)
        } else if let reducer {
            rows = try reduce(index, ranges, reducer)
        } else {
            (rows, offset) = try self.rows(index, ranges, whole)
        }
        return result(rows, totalRows: try index.count(in: whole), offset: offset)
    }

    private func result(_ rows: [QueryRow], totalRows: Int, offset: Int?) -> QueryResult {
        QueryResult(
            rows, core: snapshot.core, sequence: record?.lastSequence ?? 0,
            purge: record?.lastPurge ?? 0, totalRows: totalRows, offset: offset,
            place: record?.place)
    }

    private func rows(
        _ index: IndexReader, _ ranges: [RowRange], _ whole: RowRange
    ) throws -> ([QueryRow], Int?) {
        // What a filter or another order leaves is not known before all rows have been looked at.
        let isWindowed = query.filter != nil || query.sort != nil
        var skip = isWindowed ? 0 : query.skip
        let limit = isWindowed ? Int.max : query.limit ?? .max
        var found = IndexedRowCollector(coder, core: snapshot.core, query.willHold)
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
        return (rows, try offset(index, ranges, whole))
    }

    /// The rows of the view before the first of the result.
    private func offset(
        _ index: IndexReader, _ ranges: [RowRange], _ whole: RowRange
    ) throws -> Int? {
        guard query.includeOffset, ranges.count == 1, let range = ranges.first else { return nil }
        let before =
            query.descending
            ? RowRange(lower: range.upper, upper: nil) : RowRange(lower: nil, upper: range.lower)
        let isBounded = query.descending ? range.upper != nil : range.lower != nil
        return query.skip.addingSaturated(
            isBounded ? try index.count(in: before.clamped(to: whole)) : 0)
    }

    private func row(_ indexed: IndexedRow) throws -> QueryRow {
        let row = QueryRow(.index(indexed))
        guard query.includeDocuments, let id = row.documentID else { return row }
        return QueryRow(
            .index(indexed), including: try snapshot.document(id.checked()))
    }

    /// Applies the filter and the order of the query, and then skip and limit.
    func windowed(_ rows: [QueryRow]) -> [QueryRow] {
        var rows = query.filter.map { rows.filter($0) } ?? rows
        if let sort = query.sort { rows.sort(by: sort) }
        return Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }
}
