// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON
public import DivanModel

/// A question to a view, or to all documents.
///
/// ```swift
/// var latest = posts.query()
/// latest.descending = true
/// latest.limit = 20
/// for row in try latest.run() { print(row.key) }
/// ```
///
/// A query is a value: change its properties and run it as often as you like. Rows come in the order
/// of their keys. On a view with a reduce the result is the reduced value, in one row or, grouped, in
/// one row a group, unless ``mapOnly`` asks for the rows themselves.
public struct ViewQuery: Sendable {
    enum Source: Sendable {
        case view(DatabaseView)
        case allDocuments(DatabaseCore, ViewRegistry)
    }

    /// When the index is brought up to date.
    public enum UpdateMode: Sendable {
        /// Before the query runs: the result has every change committed by then.
        case before
        /// Not at all: the result may be old, and the query does not wait for indexing. Documents that come with
        /// rows are the current ones, as with CouchDB's `stale=ok`: they may be newer than their rows, and are missing
        /// where they were deleted since.
        case never
        /// After the query ran, in the background; the result is that of ``never``.
        case after
    }

    /// How rows are put together in groups.
    public enum Grouping: Sendable, Equatable {
        /// Not at all.
        case none
        /// Rows whose keys are arrays with the same so many first items; rows with other keys when
        /// the keys are equal. At least 1.
        case level(Int)
        /// Rows with equal keys.
        case exact
    }

    /// Which documents a query of all documents finds.
    public enum AllDocumentsMode: Sendable {
        /// Those that are not deleted.
        case allDocuments
        /// Those, and the deleted ones.
        case includeDeleted
        /// Those that are not deleted; rows of documents in conflict have their leaves.
        case showConflicts
        /// Those that are in conflict.
        case onlyConflicts
    }

    var source: Source

    // MARK: - Which rows

    /// The partition whose rows are found, in a view or a database that is partitioned; nil for those of all.
    ///
    /// A view that is made for partitions (``DatabaseView/isPartitioned``) is asked for one, and no other view is. A
    /// query of all documents finds those of the partition. See `DatabasePartition.query(_:_:)`.
    public var partition: String?

    /// Whether a view that is made for partitions is asked for the number of its rows, or what they come to, and for none
    /// of them.
    var countsAllPartitions = false

    /// The key at which the rows begin; nil for the first. When `descending`, the largest.
    public var startKey: JSONValue?
    /// The key at which the rows end; nil for the last. When `descending`, the smallest.
    public var endKey: JSONValue?
    /// Among rows whose key is `startKey`, the document ID at which the rows begin.
    public var startKeyDocumentID: DocumentID?
    /// Among rows whose key is `endKey`, the document ID at which the rows end.
    public var endKeyDocumentID: DocumentID?
    /// Whether rows at the start itself are found.
    public var inclusiveStart = true
    /// Whether rows at the end itself are found.
    public var inclusiveEnd = true
    /// Only these keys, in this order; `startKey` and `endKey` are then ignored. `startKeyDocumentID` and
    /// `endKeyDocumentID` then say of each key with which documents its rows begin and end.
    public var keys: [JSONValue]?
    /// If above 0, the end (when `descending`, the start) also matches what begins with it: 1 matches
    /// strings and arrays that begin with the key; 2 applies that to the last item of an array key;
    /// and so on. Without meaning for other keys.
    public var prefixMatchLevel = 0
    /// Whether rows come in the opposite order; the start is then above the end.
    public var descending = false
    /// How many rows to pass over.
    public var skip = 0
    /// How many rows at most; nil for all. 0 gives none.
    public var limit: Int?

    // MARK: - What becomes of them

    /// Whether the rows themselves are wanted, though the view has a reduce.
    public var mapOnly = false
    /// How rows are put together in groups.
    public var grouping = Grouping.none
    /// Whether rows carry their documents, of the moment of the rows.
    ///
    /// If other writers commit while the index is brought up to date, the query tries again, and at last keeps them
    /// waiting. With another ``updateMode`` than `.before`, documents may be newer than their rows.
    public var includeDocuments = false
    /// Whether the result tells its ``QueryResult/offset`` in the view, for which the counts of some
    /// hundred rows are looked at: more than reading a few rows takes.
    public var includeOffset = false
    /// When the index is brought up to date; a live query always does so before.
    public var updateMode = UpdateMode.before
    /// Makes what a row or group has for a value whose reduction failed, of the failure's text; nil to throw it.
    package var valueOfFailure: (@Sendable (_ reason: String) -> JSONValue)?
    /// Is told, while rows are collected, how many bytes those so far take in memory, and throws where that is too many.
    package var willHold: (@Sendable (_ bytes: Int) throws -> Void)?
    /// For a query of all documents: which of them.
    public var allDocumentsMode = AllDocumentsMode.allDocuments
    /// Keeps the rows for which it returns true. `skip` and `limit` count those.
    public var filter: (@Sendable (QueryRow) -> Bool)?
    /// Sorts the rows in another order, before `skip` and `limit`: whether the first comes before the
    /// second.
    public var sort: (@Sendable (QueryRow, QueryRow) -> Bool)?

    init(source: Source, keys: KeySelection) {
        self.source = source
        switch keys.kind {
        case .range(let start, let end): (startKey, endKey) = (start, end)
        case .keys(let keys): self.keys = keys
        }
    }

    /// How many first items of array keys make a group; 0 for no grouping. The form of `grouping` that
    /// Couchbase Lite 1.x has. With less than 0 the query is refused.
    public var groupLevel: Int {
        get { if case .level(let level) = grouping { level } else { 0 } }
        set { grouping = newValue == 0 ? .none : .level(newValue) }
    }

    // MARK: - Running

    /// Runs the query.
    ///
    /// - Returns: The rows, all of one moment, and their documents of the same, unless the
    ///   ``updateMode`` lets rows be older.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the view has no map function, `skip`
    ///   or `limit` is negative, or a grouping or reduction makes no sense; what the view's reduce
    ///   threw is its `underlying`. Also `.databaseClosed`, `.io`, `.corrupted`, and as `DatabaseView.updateIndex(progress:)`.
    public func run() throws -> QueryResult { try QueryRun(query: self).run() }
}

extension Database {
    /// Makes a query of all documents: one row a document, its key the document's ID.
    ///
    /// ```swift
    /// var query = database.allDocumentsQuery()
    /// query.startKey = "m"
    /// query.limit = 100
    /// ```
    public func allDocumentsQuery(_ keys: KeySelection = .all) -> ViewQuery {
        ViewQuery(source: .allDocuments(core, views), keys: keys)
    }
}
