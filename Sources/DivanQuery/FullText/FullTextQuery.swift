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
    ///
    /// They are of the moment of the search. If other writers commit while the index is brought up to date, the search
    /// tries again, and at last keeps them waiting.
    public var includeDocuments = true
    /// When the index is brought up to date. Unless that is before, documents may be newer than what the index knows of
    /// them: then they need not match, and are missing where they were deleted since.
    public var updateMode = ViewQuery.UpdateMode.before

    init(index: FullTextIndex, condition: Condition) {
        self.index = index
        self.condition = condition
    }

    /// Runs the search.
    ///
    /// - Returns: The rows, all of one moment, and their documents of the same, unless the
    ///   ``updateMode`` lets rows be older.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the text makes no sense, or `skip`,
    ///   `limit` or a nearness is negative, or an expression nests deeper than 512 levels, or has more than 1,000 words or 16
    ///   beginnings of words; also `.databaseClosed`, `.io`, `.corrupted`, and as
    ///   `FullTextIndex.updateIndex(progress:)`.
    public func run() throws -> FullTextResult {
        let expression =
            switch condition {
            case .text(let text): try FullTextExpression(parsing: text)
            case .expression(let expression): expression
            }
        try DatabaseError.check(skip: skip, limit: limit)
        try expression.check()
        let plan = FullTextPlan(expression, index.analyzer)
        try plan?.check()
        let result = try answer(plan)
        if updateMode == .after {
            let index = index
            BlockingWork.start { try? index.updateIndex() }
        }
        return result
    }

    private func answer(_ plan: FullTextPlan?) throws -> FullTextResult {
        let core = index.core
        guard updateMode == .before else { return try core.read { try answer(plan, $0) } }
        // A search without words brings the index up to date, too, as every search does.
        if plan != nil || !core.maintainsIndexes {
            // Mostly nothing has changed since the last search.
            let found = try core.read { snapshot in
                try mayAnswer(plan, in: snapshot, withDocuments: true)
                    ? answer(plan, snapshot) : nil
            }
            if let found { return found }
        }
        guard core.maintainsIndexes else { return try answerFromScan(plan) }
        return try core.answer(
            afterUpdate: { try index.updateIndex() },
            ifCurrent: { try mayAnswer(plan, in: $0, withDocuments: includeDocuments) }
        ) { try answer(plan, $0) }
    }

    /// Whether the index, as a snapshot has it, may answer.
    ///
    /// - Parameters:
    ///   - plan: What is looked for; nil for a search without words, which finds nothing in any index.
    ///   - snapshot: The snapshot.
    ///   - withDocuments: Whether documents of the snapshot stand beside the rows, which must then be theirs. Otherwise
    ///     rows of an earlier moment fit together as well.
    /// - Returns: Whether the index may answer.
    /// - Throws: `DatabaseError`.
    private func mayAnswer(
        _ plan: FullTextPlan?, in snapshot: Snapshot, withDocuments: Bool
    ) throws -> Bool {
        guard plan != nil else { return true }
        guard let record = try snapshot.indexRecord(index.indexName),
            record.isMade(by: index.signature)
        else { return false }
        return try !withDocuments || !record.isOutdated(in: snapshot.state())
    }

    /// Answers from an index in memory, where the stored one cannot be brought up to date.
    ///
    /// All cores scan before the snapshot is taken. Where another writer has committed meanwhile, and documents come
    /// with the rows, this thread scans once more, in the snapshot itself.
    private func answerFromScan(_ plan: FullTextPlan?) throws -> FullTextResult {
        let core = index.core
        let scanned = try ScannedIndex(core, index.makeDefinition())
        return try core.read { snapshot in
            let isOld = try includeDocuments && scanned.mark != snapshot.state().mark
            return try answer(
                plan, isOld ? ScannedIndex(core, index.makeDefinition()) : scanned, snapshot)
        }
    }

    private func answer(
        _ plan: FullTextPlan?, _ scanned: ScannedIndex, _ snapshot: Snapshot
    ) throws -> FullTextResult {
        guard let plan else { return try nothing(snapshot) }
        return try blaming {
            var result = try scanned.readText { try rows(plan, $0, snapshot) }
            result.sequence = scanned.mark.sequence
            result.isScanned = true
            return result
        }
    }

    /// Answers from the stored index as a snapshot has it.
    private func answer(_ plan: FullTextPlan?, _ snapshot: Snapshot) throws -> FullTextResult {
        guard let plan else { return try nothing(snapshot) }
        return try blaming {
            // Another definition's rows would be read in a wrong way.
            guard let record = try snapshot.indexRecord(index.indexName),
                record.isMade(by: index.signature)
            else { return FullTextResult([], sequence: 0) }
            var result = try rows(plan, snapshot.textReader(of: record), snapshot)
            result.sequence = record.lastSequence
            return result
        }
    }

    /// A search without words finds nothing in any index.
    private func nothing(_ snapshot: Snapshot) throws -> FullTextResult {
        FullTextResult([], sequence: try snapshot.state().lastSequence)
    }

    private func blaming(_ body: () throws -> FullTextResult) throws -> FullTextResult {
        try DatabaseCore.blaming(nil) {
            do { return try body() } catch let error as IndexCorruption {
                throw DatabaseError.damagedIndex(index.name, error)
            }
        }
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
        let items = FullTextItems(plan)
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

/// The documents that a search found, all of one moment unless the search accepts old rows.
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
