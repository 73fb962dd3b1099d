// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

extension FindQuery {
    /// Runs the query on the documents that a search finds, in the order of that.
    ///
    /// What the search finds is tested by the selector, so it may find more; what it does not find is left out.
    ///
    /// - Parameters:
    ///   - index: The index.
    ///   - search: What is searched for, in which order, and where the page before ended.
    ///   - take: Gets a document.
    /// - Returns: The result without its documents; the bookmark is a position of the search.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for what cannot be searched for; as ``run()``, and what `take`
    ///   throws.
    package func run(
        in index: SearchIndex, _ search: SearchQuery, take: (FindRow) throws -> Void
    ) throws -> FindResult {
        let start = ContinuousClock.now
        let run = try FindRun(self)
        var search = search
        search.partition = partition
        search.updates = updatesIndexes
        search.fields = []
        search.limit = (limit ?? .max).addingSaturated(skip)
        var (skipped, statistics, position) = (0, FindStatistics(), SearchPosition?.none)
        let most = limit ?? .max
        if most > 0 {
            try SearchRun(index, search).forEachHit { hit in
                // A condition may take long.
                try CancellationFlag.check()
                statistics.rowsExamined += 1
                position = SearchPosition(hit.order, hit.id)
                let found = try database.core.read { try $0.document(hit.id) }
                guard let document = found else { return true }
                statistics.documentsExamined += 1
                let isWanted = try database.core.read { try run.planned.isWanted(document, $0) }
                guard isWanted else { return true }
                guard skipped == skip else {
                    skipped += 1
                    return true
                }
                var row = FindRow(document: document, projection: run.projection)
                if seesConflicts, run.projection?.wants(.conflicts) ?? false {
                    row.conflicts = try database.core.read { try $0.conflicts(of: document.id) }
                }
                try take(row)
                statistics.resultsReturned += 1
                return statistics.resultsReturned < most
            }
        }
        statistics.duration = ContinuousClock.now - start
        return FindResult(
            rows: [], bookmark: position?.text, statistics: statistics, warning: nil,
            indexNames: [])
    }
}
