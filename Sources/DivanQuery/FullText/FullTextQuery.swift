// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
public import DivanModel
internal import DivanStorage

/// A search in a full-text index.
///
/// ```swift
/// var search = index.search("couch potato")
/// search.limit = 10
/// for row in try search.run() { print(row.score, row.documentID) }
/// ```
///
/// A query is a value: change its properties and run it as often as you like. The best documents come
/// first, those of equal score in the order of their IDs.
public struct FullTextQuery: Sendable {
    enum Condition: Sendable {
        case text(String)
        case expression(FullTextExpression)
    }

    let index: FullTextIndex
    let condition: Condition

    /// How many rows to pass over.
    public var skip = 0
    /// How many rows at most; nil for all.
    public var limit: Int?
    /// Whether the best documents come first; otherwise they come in the order of their IDs.
    public var isRanked = true
    /// Whether rows carry their documents, which their matches and snippets are found in.
    public var includeDocuments = true
    /// When the index is brought up to date.
    public var updateMode = ViewQuery.UpdateMode.before

    init(index: FullTextIndex, condition: Condition) {
        self.index = index
        self.condition = condition
    }

    /// Runs the search.
    ///
    /// - Returns: The rows, all of one moment.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the text makes no sense, or `skip` or
    ///   `limit` is negative; also `.databaseClosed`, `.io`, `.corrupted`, and as
    ///   `FullTextIndex.updateIndex(progress:)`.
    public func run() throws -> FullTextResult {
        let expression =
            switch condition {
            case .text(let text): try FullTextExpression(parsing: text)
            case .expression(let expression): expression
            }
        guard skip >= 0, limit ?? 0 >= 0 else {
            throw DatabaseError(.invalidQuery, "skip and limit count rows; use 0 or more.")
        }
        let plan = FullTextPlan(expression, index.analyzer)
        // A search without words brings the index up to date, too, as every search does.
        let mayBeCurrent = plan != nil || !index.core.maintainsIndexes
        let result =
            if updateMode == .before, mayBeCurrent, let result = try answer(plan, .ifCurrent) {
                // Mostly nothing has changed since the last search.
                result
            } else {
                try answerOnceUpdated(plan)
            }
        if updateMode == .after {
            let index = index
            BlockingWork.start { try? index.updateIndex() }
        }
        return result
    }

    /// What a search reads.
    private enum Reading {
        /// The index, if it has all that the documents have.
        case ifCurrent
        /// The index as it is.
        case asItIs
        case scanned(ScannedIndex)
    }

    /// Brings the index up to date where that is wanted, and answers; where it cannot be brought up to date, answers from one
    /// made in memory.
    private func answerOnceUpdated(_ plan: FullTextPlan?) throws -> FullTextResult {
        var reading = Reading.asItIs
        if updateMode == .before {
            if index.core.maintainsIndexes {
                try index.updateIndex()
            } else {
                reading = .scanned(try ScannedIndex(index.core, index.makeDefinition()))
            }
        }
        return try answer(plan, reading) ?? FullTextResult([], sequence: 0)
    }

    /// Answers in one snapshot; nil where the index is not made, or not as the reading asks.
    private func answer(_ plan: FullTextPlan?, _ reading: Reading) throws -> FullTextResult? {
        let core = index.core
        return try core.read { snapshot in
            try DatabaseCore.blaming(nil) {
                do {
                    return try answer(plan, reading, snapshot)
                } catch let error as IndexCorruption {
                    throw DatabaseError.damagedIndex(index.name, error)
                }
            }
        }
    }

    private func answer(_ plan: FullTextPlan?, _ reading: Reading, _ snapshot: Snapshot) throws
        -> FullTextResult?
    {
        // A search without words finds nothing in any index.
        guard let plan else {
            return FullTextResult([], sequence: try snapshot.state().lastSequence)
        }
        if case .scanned(let scanned) = reading {
            var result = try scanned.readText { try rows(plan, $0, snapshot) }
            result.sequence = scanned.mark.sequence
            result.isScanned = true
            return result
        }
        // Another definition's rows would be read in a wrong way.
        guard let record = try snapshot.indexRecord(index.indexName),
            record.isMade(by: index.signature)
        else { return nil }
        if case .ifCurrent = reading, try record.isOutdated(in: snapshot.state()) { return nil }
        var result = try rows(plan, snapshot.textReader(of: record), snapshot)
        result.sequence = record.lastSequence
        return result
    }

    private func rows(_ plan: FullTextPlan, _ text: TextIndexReader, _ snapshot: Snapshot) throws
        -> FullTextResult
    {
        let wanted = limit.flatMap { limit in
            let (sum, isTooLarge) = skip.addingReportingOverflow(limit)
            return isTooLarge ? nil : sum
        }
        var run = FullTextRun(text, isRanked: isRanked, limit: wanted)
        let found = try run.find(plan)
        let items = plan.items
        let flag = CancellationFlag.current
        let rows = try found.dropFirst(skip).prefix(limit ?? .max).map { found in
            try flag?.check()
            return FullTextRow(
                documentID: found.id, score: found.score,
                document: includeDocuments
                    ? try snapshot.document(found.id) : nil,
                index: index, items: items)
        }
        var result = FullTextResult(rows, sequence: 0)
        result.totalMatches = run.total
        result.totalDocuments = Int(clamping: text.totals.documents)
        return result
    }

    // MARK: - Live

    /// Makes a live query of the search: see ``LiveQuery``. It looks at every commit, and tells of
    /// results that differ.
    ///
    /// - Parameter interval: The least time from one look at changes to the next.
    /// - Returns: The live query, which has not begun.
    public func live(interval: Duration = .milliseconds(200)) -> LiveQuery<FullTextResult> {
        LiveQuery(FullTextLiveSource(query: self), interval: interval)
    }
}

/// A search as the question of a live query.
private struct FullTextLiveSource: LiveSource {
    let query: FullTextQuery

    var core: DatabaseCore { query.index.core }
    var isClosed: Bool { core.isClosed || query.index.registry.isClosed }

    func follow(_ changed: @escaping @Sendable () -> Void) -> [any Sendable] {
        [query.index.registry.follow(nil, changed)]
    }

    func fetch() throws -> LiveFetch<FullTextResult> {
        var query = query
        query.updateMode = .before
        // Any document that has texts changes the scores of all.
        return LiveFetch(rows: try query.run(), dependency: DependencyOnEverything())
    }

    func difference(from old: FullTextResult?, to new: FullTextResult) -> RowDifference {
        RowDifference(
            from: old.map(Array.init) ?? [], to: Array(new), by: \.documentID,
            orBy: { _ in nil as Int? })
    }
}

/// The documents that a search found, all of one moment.
///
/// A collection with random access. Results are equal when their rows are.
public struct FullTextResult: RandomAccessCollection, Sendable {
    private let rows: [FullTextRow]
    /// Every change up to here is in the result.
    public internal(set) var sequence: SequenceNumber
    /// How many documents match, whatever `skip` and `limit` left of them.
    public internal(set) var totalMatches = 0
    /// How many documents have words.
    public internal(set) var totalDocuments = 0
    /// Whether the documents were looked through, since the index is old and the database is open for
    /// reading only.
    public internal(set) var isScanned = false

    init(_ rows: [FullTextRow], sequence: SequenceNumber) {
        self.rows = rows
        self.sequence = sequence
    }

    /// The position of the first row.
    public var startIndex: Int { 0 }

    /// The position after the last row.
    public var endIndex: Int { rows.count }

    /// The row at a position.
    public subscript(position: Int) -> FullTextRow { rows[position] }
}

extension FullTextResult: Equatable {
    /// Results are equal when their rows are, in the same order.
    public static func == (left: FullTextResult, right: FullTextResult) -> Bool {
        left.rows == right.rows
    }
}
