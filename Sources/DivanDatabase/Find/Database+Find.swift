// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

extension Database {
    /// Finds documents by a selector, in any order, with or without an index.
    ///
    /// ```swift
    /// let page = try database.find(
    ///     selector: ["type": "post", "stars": ["$gte": 3]], sort: [.descending("createdAt")], limit: 20)
    /// for row in page { print(row.id, row.properties["title"] ?? "untitled") }
    /// ```
    ///
    /// - Parameter query: What to find; see ``FindQuery``.
    /// - Returns: The documents, with a bookmark for the next page.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a path, a bookmark or an index that cannot be,
    ///   `.databaseClosed`, `.io`, `.corrupted`, or as `updateIndexes(progress:)`.
    public func find(_ query: FindQuery) throws -> FindResult {
        try checkOpen()
        return try FindRun(query, core).run()
    }

    /// Finds documents by a selector, as `find(_:)`.
    ///
    /// - Parameters:
    ///   - selector: What documents must match, as JSON.
    ///   - sort: What they are sorted by.
    ///   - fields: The properties to give; nil for whole documents.
    ///   - limit: How many documents at most.
    ///   - skip: How many documents to pass over first.
    ///   - bookmark: Where to go on.
    ///   - useIndex: The name of the index to use.
    /// - Returns: The documents.
    /// - Throws: Also `.invalidQuery` for a selector that makes no sense.
    public func find(
        selector: JSONValue, sort: [SortKey] = [], fields: [String]? = nil, limit: Int? = nil,
        skip: Int = 0, bookmark: String? = nil, useIndex: String? = nil
    ) throws -> FindResult {
        var query = FindQuery(try Selector(json: selector))
        (query.sort, query.fields, query.limit) = (sort, fields, limit)
        (query.skip, query.bookmark, query.useIndex) = (skip, bookmark, useIndex)
        return try find(query)
    }

    /// Runs a query and tells how: which index was chosen, at what price, and what was read in fact.
    ///
    /// - Parameter query: The query.
    /// - Returns: What was done, in words and numbers.
    /// - Throws: As `find(_:)`.
    public func explain(_ query: FindQuery) throws -> FindExplanation {
        try checkOpen()
        return try FindRun(query, core).explain()
    }
}
