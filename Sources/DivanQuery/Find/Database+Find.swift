// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

extension Database {
    /// Makes a query of documents by a selector, in any order, with or without an index.
    ///
    /// ```swift
    /// let posts = try database.find(
    ///     selector: ["type": "post", "stars": ["$gte": 3]], sort: [.descending("createdAt")], limit: 20)
    /// for row in try posts.run() { print(row.id, row.properties["title"] ?? "untitled") }
    /// ```
    ///
    /// - Parameters:
    ///   - selector: What documents must match, as JSON.
    ///   - sort: What they are sorted by.
    ///   - fields: The properties to give; nil for whole documents.
    ///   - limit: How many documents at most.
    ///   - skip: How many documents to pass over first.
    ///   - bookmark: Where to go on.
    ///   - useIndex: The name of the index to use.
    /// - Returns: The query, to be changed and run.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a selector that makes no sense.
    public func find(
        selector: JSONValue, sort: [SortKey] = [], fields: [String]? = nil, limit: Int? = nil,
        skip: Int = 0, bookmark: String? = nil, useIndex: String? = nil
    ) throws -> FindQuery {
        var query = FindQuery(try DocumentSelector(json: selector), in: self)
        (query.sort, query.fields, query.limit) = (sort, fields, limit)
        (query.skip, query.bookmark, query.useIndex) = (skip, bookmark, useIndex)
        return query
    }
}
