// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanQuery

extension FindChoice {
    /// The query of the database that reads what was chosen, in its order.
    ///
    /// - Throws: `HTTPFailure` 400 for a bookmark of another query.
    func query(in database: Database) throws -> FindQuery {
        var query = FindQuery(try DocumentSelector(json: conditions), in: database)
        query.partition = request.partition
        query.limit = request.limit
        query.skip = request.skip
        query.fields = request.fields
        query.updatesIndexes = request.updates && !request.isStale
        query.seesConflicts = request.conflicts
        query.sort = order
        if let chosen {
            query.useIndex = chosen.index?.name
            query.readsInOrder = true
        }
        query.bookmark = request.bookmark
        guard query.isBookmarkValid else {
            throw HTTPFailure.invalidBookmark(request.bookmark.map { .string($0) } ?? .null)
        }
        return query
    }

    /// Whether rows are read from the last one on.
    var isReversed: Bool { request.sort.first?.isDescending ?? false }

    /// The order in which the rows of the chosen index lie.
    private var order: [SortKey] {
        chosen?.columns.map { SortKey($0, isDescending: isReversed) } ?? request.sort
    }

    /// What a document must fulfil: the selector, and whatever brings a row into the chosen index.
    private var conditions: JSONValue {
        // Nothing is found; the query must see that by itself.
        guard !request.selector.isEmptyList, let index = chosen?.index else {
            return request.selector.executable
        }
        var parts: [JSONValue] = []
        if request.selector != .everything { parts.append(request.selector.executable) }
        for path in index.paths.compactMap({ try? FieldPath($0) }) {
            parts.append([path.selectorKey: ["$exists": true]])
        }
        if let filter = index.filter { parts.append(filter.json) }
        return ["$and": .array(parts)]
    }

    // MARK: - Advice

    /// What the answer says of how the query was served; nil where there is nothing to say.
    ///
    /// - Parameters:
    ///   - statistics: What was done.
    ///   - readIndexes: Whether the database found documents by indexes although none was chosen.
    ///   - hides: Whether the user may not learn how many documents there are.
    /// - Returns: The sentences, each on a line.
    func warning(_ statistics: FindStatistics, readIndexes: Bool, hides: Bool) -> String? {
        var warnings: [String] = []
        if let names = namesNotUsed { warnings.append(names) }
        // Whether indexes were of use tells of documents that may be hidden.
        if chosen?.index == nil, chosen?.text == nil, !readIndexes || hides {
            warnings.append("No matching index found, create an index to optimize query time.")
        }
        if !hides, statistics.documentsExamined > 10 * max(1, statistics.resultsReturned) {
            warnings.append(
                "The number of documents examined is high in proportion to the number of results "
                    + "returned. Consider adding a more specific index to improve this.")
        }
        return warnings.isEmpty ? nil : warnings.joined(separator: "\n")
    }

    private var namesNotUsed: String? {
        guard let design = request.useIndex.first,
            chosen.map({ !$0.isNamed(by: request.useIndex) }) ?? true
        else { return nil }
        let shown = "_design/\(IndexLabel.design(design).prefix(100))"
        guard request.useIndex.count > 1 else {
            return "\(shown) was not used because it does not contain a valid index for this query."
        }
        let name = request.useIndex[1].prefix(100)
        return "\(shown), \(name) was not used because it is not a valid index for this query."
    }
}
