// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

extension Database {
    /// Makes a query of documents by a selector, in any order, with or without an index.
    ///
    /// ```swift
    /// let posts = try database.find(selector: ["type": "post", "stars": ["$gte": 3]]) {
    ///     $0.sort = [.descending("createdAt")]
    ///     $0.limit = 20
    /// }
    /// for row in try posts.run() { print(row.id, row.properties["title"] ?? "untitled") }
    /// ```
    ///
    /// - Parameters:
    ///   - selector: What documents must match, as JSON.
    ///   - configure: Sets properties of the query: its order, its fields, its limit and the rest.
    /// - Returns: The query, to be run. Where it is a variable, its properties can be set later, too.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a selector that makes no sense, and what `configure`
    ///   throws.
    public func find(
        selector: JSONValue, configure: (inout FindQuery) throws -> Void = { _ in }
    ) throws -> FindQuery {
        var query = FindQuery(try DocumentSelector(json: selector), in: self)
        try configure(&query)
        return query
    }
}
