// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// Decides whether a revision is let through.
///
/// ```swift
/// database.setFilter(named: "byOwner") { revision, parameters in
///     revision["owner"].value == parameters["name"]
/// }
/// ```
///
/// It should depend on the revision and the parameters alone: a replication remembers what it has
/// passed over. It runs on the thread that reads, and possibly on several at once.
public typealias FilterFunction =
    @Sendable (_ revision: Document, _ parameters: JSONObject) throws -> Bool

extension Database {
    /// Registers a filter, or replaces the one of that name.
    ///
    /// Filters hold for every handle on the database in this process, until they are removed or the
    /// last handle is closed. They are not stored.
    ///
    /// - Parameters:
    ///   - name: The name by which changes and replications ask for it.
    ///   - function: The filter. Tombstones come to it, too; those it passes over do not delete the
    ///     document where the changes go.
    public func setFilter(named name: String, _ function: @escaping FilterFunction) {
        core.filters[name] = function
    }

    /// The filter of a name; nil when there is none.
    public func filter(named name: String) -> FilterFunction? { core.filters[name] }

    /// The filter of a name that the app has registered, or `design/filter` of a design document where these are run.
    ///
    /// - Throws: `DatabaseError` when the design document cannot be read.
    package func anyFilter(named name: String) throws -> FilterFunction? {
        if let filter = core.filters[name] { return filter }
        return try core.designFunctions.current?.filter(named: name)
    }

    /// Removes the filter of a name; a missing one is fine. What uses it goes on with it.
    public func removeFilter(named name: String) { core.filters[name] = nil }

    /// The names of all filters, in order.
    public var filterNames: [String] { core.filters.all.map(\.name) }

    /// Returns the changes after a sequence whose current revision a filter lets through.
    ///
    /// ```swift
    /// let mine = try database.changes(filter: "byOwner", parameters: ["name": "Waldo"])
    /// ```
    ///
    /// The feed is read in short steps, so that a filter that passes over everything holds no old
    /// snapshot: a document that changes meanwhile may come twice, its last state last.
    ///
    /// - Parameters:
    ///   - sequence: Where the last reading ended; 0 for the beginning.
    ///   - limit: How many changes at most; nil for all.
    ///   - name: The filter's name.
    ///   - parameters: What the filter gets with each revision.
    /// - Returns: The changes let through; the next reading begins after all that were looked at.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when no filter has that name or `limit` is negative, as
    ///   `changes(since:limit:)`, and what the filter throws.
    public func changes(
        since sequence: SequenceNumber = 0, limit: Int? = nil, filter name: String,
        parameters: JSONObject = [:]
    ) throws -> ChangesBatch {
        try checkOpen()
        guard let filter = try anyFilter(named: name) else {
            throw DatabaseError.filterNotFound(name)
        }
        var batch = ChangesBatch(changes: [], lastSequence: sequence)
        while true {
            let left = limit.map { $0 - batch.changes.count }
            let start = batch.lastSequence
            let step = try core.read { snapshot in
                try snapshot.changes(since: start, limit: left, examining: Self.filterStep) {
                    try filter($0, parameters)
                }
            }
            batch.changes += step.batch.changes
            batch.lastSequence = step.batch.lastSequence
            if step.isAtEnd || batch.changes.count >= limit ?? .max { return batch }
        }
    }

    /// How many changes are looked at in one snapshot.
    private static let filterStep = 10_000
}
