// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

extension Database {
    /// Makes a query with a map function of its own: for a question that is asked once.
    ///
    /// ```swift
    /// let query = database.query { document, emit in
    ///     if document["type"].string == "task" { emit(document["owner"], nil) }
    /// }
    /// for row in try query.run() { print(row.key) }
    /// ```
    ///
    /// It answers what a view with the same functions would, and is changed and run like a view's query.
    /// Nothing is stored: each run maps all documents and sorts the rows in memory. So it suits small
    /// databases, tests and tools; for repeated queries make a view.
    ///
    /// - Parameters:
    ///   - keys: Which keys it finds; all unless given.
    ///   - reduce: What folds rows, if anything.
    ///   - collation: The order of keys.
    ///   - map: The map function; see ``DatabaseView``. A document that it fails for has no rows.
    /// - Returns: The query.
    public func query(
        _ keys: KeySelection = .all, reduce: Reduce? = nil, collation: Collation = .unicode,
        map: @escaping DatabaseView.Map
    ) -> ViewQuery {
        let view = DatabaseView(name: "one-shot", core: core, registry: views, isOneShot: true)
        view.collation = collation
        view.setMap(version: "1", reduce: reduce, map)
        return view.query(keys)
    }
}
