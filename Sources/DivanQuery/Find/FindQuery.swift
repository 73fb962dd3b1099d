// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

/// A query of documents by selector: CouchDB's `_find` as a value.
///
/// ```swift
/// var query = try database.find(selector: ["type": "post", "stars": ["$gte": 3]])
/// query.sort = [.descending("createdAt"), .ascending("title")]
/// query.fields = ["_id", "title", "author.name"]
/// query.limit = 20
/// let page = try query.run()
/// query.bookmark = page.bookmark
/// let next = try query.run()
/// ```
///
/// Indexes make it fast and change nothing else: any selector and any order work without one. See
/// ``PropertyIndex``, and ``explain()`` for what a query does.
///
/// ## Order
///
/// Documents are sorted by the collation `.unicode`; equal ones by their IDs. A document that lacks a
/// property of `sort` comes before those that have it, even if it is null there. Without `sort` the order
/// is not defined, but stays the same from page to page.
///
/// Design documents are not found.
public struct FindQuery: Sendable {
    var database: QueriedDatabase
    /// What documents must match.
    public var selector: DocumentSelector
    /// The partition whose documents are found, in a partitioned database; nil for those of all. Set by
    /// `DatabasePartition.find(selector:configure:)`.
    public var partition: String?
    /// What they are sorted by; empty for any order.
    public var sort: [SortKey] = []
    /// The paths of the properties to give; nil for whole documents.
    public var fields: [String]?
    /// How many documents at most; nil for all. (Over HTTP `_find` gives 25 unless told.)
    public var limit: Int?
    /// How many documents to pass over first.
    public var skip = 0
    /// Where to go on: the bookmark of the page before; nil for the beginning.
    public var bookmark: String?
    /// The name of the index to use; nil for the best. One with a filter must be named, and finds only
    /// what its filter lets through.
    public var useIndex: String?
    /// Which of the documents that match are found at all; nil for all of them. Pages and bookmarks are those of these
    /// documents.
    package var isVisible: (@Sendable (Document) -> Bool)?
    /// Whether the indexes are brought up to date first; otherwise the result may be old.
    public var updatesIndexes = true
    /// Whether the index that is named is read however little it narrows the documents down, and without a name
    /// documents are found in the order of their IDs. `sort` then has the properties of the index, or `_id`, all in one
    /// direction.
    package var readsInOrder = false
    /// Whether `_conflicts` is a property of documents in conflict: the IDs of the revisions that lost.
    package var seesConflicts = false

    /// Makes a query.
    public init(_ selector: DocumentSelector, in database: Database) {
        self.selector = selector
        self.database = QueriedDatabase(database)
    }

    /// Runs the query.
    ///
    /// - Returns: The documents, with a bookmark for the next page.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for an invalid path, bookmark or index, and when it cannot be told of
    ///   a document whether it matches, which `documentID` names; `.databaseClosed`, `.io`, `.corrupted`, or as
    ///   `Database.updateIndexes(progress:)`.
    public func run() throws -> FindResult {
        try database.checkOpen()
        return try FindRun(self).run()
    }

    /// Runs the query and hands its documents over one by one, so that they are never in memory together.
    ///
    /// - Parameters:
    ///   - begin: Called before the first document, and again where the query begins anew in another way: what was
    ///     handed over until then does not count.
    ///   - take: Gets a document.
    /// - Returns: The result without its documents.
    /// - Throws: As ``run()``, and what `take` throws.
    package func run(begin: () -> Void, take: (FindRow) throws -> Void) throws -> FindResult {
        try database.checkOpen()
        return try FindRun(self).run(begin: begin, take: take)
    }

    /// Whether the bookmark is none, or one of this query.
    package var isBookmarkValid: Bool {
        bookmark == nil || (try? FindRun(self).planned.start) != nil
    }

    /// Runs the query and tells how: which index was chosen, at what estimated cost, and what was read
    /// in fact.
    ///
    /// - Returns: What was done, in words and numbers.
    /// - Throws: As ``run()``.
    public func explain() throws -> FindExplanation {
        try database.checkOpen()
        return try FindRun(self).explain()
    }
}

/// A property to sort by.
public struct SortKey: Sendable, Hashable {
    /// The path to the property, as in a selector.
    public var path: String
    /// Whether greater values come first.
    public var isDescending: Bool

    /// Makes a sort key.
    public init(_ path: String, isDescending: Bool = false) {
        self.path = path
        self.isDescending = isDescending
    }

    /// The least value first.
    public static func ascending(_ path: String) -> SortKey { SortKey(path) }

    /// The greatest value first.
    public static func descending(_ path: String) -> SortKey { SortKey(path, isDescending: true) }

    /// Reads the form that CouchDB has: `"name"` or `{"name": "desc"}`.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    public init(json: JSONValue) throws {
        if let path = json.string {
            self.init(path)
            return
        }
        guard case .object(let object) = json, object.count == 1,
            let direction = object.values[0].string, direction == "asc" || direction == "desc"
        else {
            throw DatabaseError(
                .invalidQuery,
                "What is sorted by is a name, or an object of a name and \"asc\" or \"desc\".")
        }
        self.init(object.keys[0], isDescending: direction == "desc")
    }
}
