// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import DivanStorage

/// One run of a query: brings the index up to date, then reads rows and documents in one snapshot.
struct QueryRun {
    let query: ViewQuery

    func run() throws -> QueryResult {
        try DatabaseError.check(skip: query.skip, limit: query.limit)
        let asked = [query.startKey, query.endKey].compactMap(\.self) + (query.keys ?? [])
        try DatabaseError.check(nestingOf: asked, "A key of the query")
        switch query.source {
        case .view(let view): return try run(view)
        case .allDocuments(let core, _): return try AllDocumentsRun(query: query, core: core).run()
        }
    }

    private func run(_ view: DatabaseView) throws -> QueryResult {
        let definition = try view.definition()
        let reducer = query.mapOnly ? nil : view.reducer
        try check(view, reducer)
        try checkPartition(view, definition)
        if view.isOneShot { return try answerFromScan(view, definition, reducer) }
        if query.updateMode == .before {
            // One look at the index tells whether it is up to date, and answers if so.
            if let result = try answerIfUpToDate(view, definition, reducer) { return result }
            // A query that must not write, or would not see what it writes, builds what the index
            // lacks in memory.
            guard view.core.maintainsIndexes else {
                return try answerFromScan(view, definition, reducer)
            }
            return try view.core.answer(
                afterUpdate: { try view.updateIndex() },
                ifCurrent: { try view.mayAnswer(in: $0, withDocuments: query.includeDocuments) }
            ) { try answer(view, definition, reducer, view.record(in: $0), $0) }
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
            guard try view.mayAnswer(in: snapshot, withDocuments: true) else { return nil }
            return try answer(view, definition, reducer, view.record(in: snapshot), snapshot)
        }
    }

    /// Answers from the index as it is; one that another definition has made has no rows for this one, whose keys may lie
    /// in another order.
    private func answer(
        _ view: DatabaseView, _ definition: IndexDefinition, _ reducer: (any ViewReducer)?,
        _ record: IndexRecord?, _ snapshot: Snapshot
    ) throws -> QueryResult {
        try DatabaseCore.blaming(nil) {
            do {
                let made = record.flatMap { $0.isMade(by: definition) ? $0 : nil }
                return try IndexRun(
                    query: query, snapshot: snapshot, coder: definition.coder, record: made,
                    reducer: reducer
                ).run()
            } catch let error as InterruptedReduction {
                throw error.cause
            } catch let error as ReductionFailure {
                throw DatabaseError.reduceFailed(view.name, error)
            } catch let error as IndexCorruption {
                throw DatabaseError.damagedIndex(view.name, error)
            }
        }
    }

    /// Answers from a scan of the documents.
    ///
    /// All cores scan before the snapshot is taken. Where another writer has committed meanwhile, and documents come
    /// with the rows, this thread scans once more, in the snapshot itself.
    private func answerFromScan(
        _ view: DatabaseView, _ definition: IndexDefinition, _ reducer: (any ViewReducer)?
    ) throws -> QueryResult {
        let scanned = try view.scan()
        return try view.core.read { snapshot in
            let isOld = try query.includeDocuments && scanned?.mark != snapshot.state().mark
            // None was needed when the stored index was up to date.
            let scanned = isOld || scanned == nil ? try view.scan() : scanned
            guard let scanned else {
                return try answer(view, definition, reducer, view.record(in: snapshot), snapshot)
            }
            return try answer(view, definition, reducer, scanned, snapshot)
        }
    }

    private func answer(
        _ view: DatabaseView, _ definition: IndexDefinition, _ reducer: (any ViewReducer)?,
        _ scanned: ScannedIndex, _ snapshot: Snapshot
    ) throws -> QueryResult {
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
        } catch let error as InterruptedReduction {
            throw error.cause
        } catch let error as ReductionFailure {
            throw DatabaseError.reduceFailed(view.name, error)
        }
    }

    /// Refuses a query of a partition where rows do not lie by partitions, and the reverse.
    private func checkPartition(_ view: DatabaseView, _ definition: IndexDefinition) throws {
        guard let partition = query.partition else {
            guard definition.isPartitioned, !query.countsAllPartitions else { return }
            throw DatabaseError(
                .invalidQuery,
                "The view '\(view.name)' is made for partitions; ask it for one by `partition`.")
        }
        guard definition.isPartitioned else {
            throw DatabaseError(
                .invalidQuery,
                "The view '\(view.name)' is not made for partitions; ask it without one, or set its "
                    + "`isPartitioned`.")
        }
        try DatabasePartition.check(partition, in: view.core)
    }

    private func check(_ view: DatabaseView, _ reducer: (any ViewReducer)?) throws {
        if case .level(let level) = query.grouping, level < 1 {
            throw DatabaseError(
                .invalidQuery, "A group level of \(level) groups nothing; use 1 or more.")
        }
        if query.keys != nil, query.grouping != .none, query.grouping != .exact {
            throw DatabaseError(
                .invalidQuery,
                "A query of single keys can be grouped by .exact only; use a range for group levels."
            )
        }
    }
}
