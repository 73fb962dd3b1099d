// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

// Queries of one partition of a partitioned database.
extension DatabasePartition {
    /// Makes a query of the documents of the partition by a selector.
    ///
    /// ```swift
    /// try readings.createIndex(byTemperature)                  // a PropertyIndex whose isPartitioned is true
    /// let warm = try readings.partition("sensor-1").find(selector: ["celsius": ["$gt": 20]])
    /// for row in try warm.run() { print(row.id) }
    /// ```
    ///
    /// An index with ``PropertyIndex/isPartitioned`` finds them by the rows of the partition alone. Without one the
    /// documents of the partition are read, and no others.
    ///
    /// - Parameters:
    ///   - selector: What documents must match, as JSON.
    ///   - configure: Sets properties of the query: its order, its fields, its limit and the rest.
    /// - Returns: The query, to be run.
    /// - Throws: As `Database.find(selector:configure:)`. Running it throws `.invalidQuery` when the database is not
    ///   partitioned, and `.invalidID` for a name that breaks the rules.
    public func find(
        selector: JSONValue, configure: (inout FindQuery) throws -> Void = { _ in }
    ) throws -> FindQuery {
        let name = name
        return try database.find(selector: selector) { query in
            query.partition = name
            try configure(&query)
        }
    }

    /// Makes a query of the rows that the documents of the partition have in a view.
    ///
    /// - Parameters:
    ///   - view: The view, which is made for partitions: ``DatabaseView/isPartitioned``.
    ///   - keys: Which keys it finds; all unless given.
    /// - Returns: The query, to be changed and run. Running it throws `.invalidQuery` for a view that is not made for
    ///   partitions.
    public func query(_ view: DatabaseView, _ keys: KeySelection = .all) -> ViewQuery {
        var query = view.query(keys)
        query.partition = name
        return query
    }

    /// Makes a query of all documents of the partition: one row a document, its key the document's whole ID.
    ///
    /// - Parameter keys: Which IDs it finds; all unless given. One of another partition is found as one that no document
    ///   has.
    /// - Returns: The query.
    public func allDocumentsQuery(_ keys: KeySelection = .all) -> ViewQuery {
        var query = database.allDocumentsQuery(keys)
        query.partition = name
        return query
    }
}
