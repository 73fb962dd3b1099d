// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// What one search may read and keep; beyond that it is refused.
final class SearchBudget {
    /// Rows that are read.
    static let mostRows = 50_000_000
    /// Bytes that are kept: pages of rows, documents of patterns and ranges, what is counted, and hits.
    static let mostBytes = 64 << 20

    private var rows: Int
    private var bytes: Int
    /// How many cursors there are, each of which keeps a page of rows.
    var cursors = 0

    init(rows: Int = mostRows, bytes: Int = mostBytes) {
        self.rows = rows
        self.bytes = bytes
    }

    func read(_ count: Int) throws {
        rows -= count
        guard rows >= 0 else {
            throw DatabaseError(
                .invalidQuery, "The search reads more rows than one may; narrow it down.")
        }
    }

    func keep(_ count: Int) throws {
        guard bytes >= count else {
            throw DatabaseError(
                .invalidQuery,
                "The search finds more than it can keep in memory; narrow its patterns, ranges, counts or groups."
            )
        }
        bytes -= count
    }

    /// Takes back what was kept and is no longer.
    func giveBack(_ count: Int) { bytes += count }
}

/// Reads the rows of a search index, in the snapshot of the thread's read.
struct SearchReader {
    let view: DatabaseView
    let budget: SearchBudget
    private let mode: ViewQuery.UpdateMode
    private let partition: String?
    /// Whether what the rows of all partitions come to is asked for, and none of them.
    private let isOfAll: Bool

    /// - Parameters:
    ///   - view: The index.
    ///   - mode: `.never` for an index that was brought up to date before the read began; `.before` in a database that
    ///     keeps none, which then has one in memory.
    ///   - partition: The partition whose rows are read, of an index that is made for partitions.
    ///   - isOfAll: Whether what the rows of all partitions come to is asked for, and none of them.
    ///   - budget: What may be read and kept.
    init(
        _ view: DatabaseView, mode: ViewQuery.UpdateMode, partition: String? = nil,
        ofAll isOfAll: Bool = false, budget: SearchBudget = SearchBudget()
    ) {
        self.view = view
        self.partition = partition
        self.isOfAll = isOfAll
        self.mode = mode
        self.budget = budget
    }

    private func query(_ keys: KeySelection) -> ViewQuery {
        var query = view.query(keys)
        query.updateMode = mode
        query.partition = partition
        query.countsAllPartitions = isOfAll
        query.mapOnly = true
        return query
    }

    /// Rows of a key from a document on.
    func rows(of key: JSONValue, from id: DocumentID?, skipping: Int, limit: Int) throws
        -> QueryResult
    {
        var query = query(.keys([key]))
        query.startKeyDocumentID = id
        query.skip = skipping
        query.limit = limit
        let found = try query.run()
        try budget.read(found.count + 1)
        return found
    }

    /// How many documents have rows of a key.
    func count(of key: JSONValue) throws -> Int {
        let (first, last) = (
            try place(of: key, isBehind: false), try place(of: key, isBehind: true)
        )
        return max(0, last - first)
    }

    /// How many rows stand before those of a key, or before what is behind them.
    private func place(of key: JSONValue, isBehind: Bool) throws -> Int {
        var query = query(.all)
        query.startKey = key
        query.inclusiveStart = !isBehind
        query.includeOffset = true
        query.limit = 0
        try budget.read(1)
        return try query.run().offset ?? 0
    }

    /// Goes through the rows of a range of keys.
    ///
    /// - Parameters:
    ///   - lower: The first key.
    ///   - isLowerIn: Whether rows of it are in the range.
    ///   - upper: The last key.
    ///   - isUpperIn: Whether rows of it are in the range.
    ///   - body: Gets a key and a document, and returns false to end.
    /// - Throws: What the body throws, and `DatabaseError`.
    func forEachRow(
        from lower: JSONValue, _ isLowerIn: Bool, to upper: JSONValue, _ isUpperIn: Bool,
        _ body: (JSONValue, DocumentID) throws -> Bool
    ) throws {
        var next = query(.all)
        next.startKey = lower
        next.inclusiveStart = isLowerIn
        next.endKey = upper
        next.inclusiveEnd = isUpperIn
        var limit = 32
        while true {
            next.limit = limit
            let found = try next.run()
            try budget.read(found.count + 1)
            var last: (JSONValue, DocumentID)?
            for row in found {
                guard let id = row.sourceDocumentID else { continue }
                let key = row.key
                last = (key, id)
                guard try body(key, id) else { return }
            }
            guard found.count == limit, let last else { return }
            next.startKey = last.0
            next.startKeyDocumentID = last.1
            next.inclusiveStart = true
            next.skip = 1
            limit = min(1_024, limit * 4)
        }
    }

    /// The sums of ``SearchTotals``.
    func totals() throws -> JSONValue? {
        var query = query(.all)
        query.mapOnly = false
        return try query.run().first?.value
    }
}
