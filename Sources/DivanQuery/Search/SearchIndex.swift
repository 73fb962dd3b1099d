// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
package import DivanModel

/// A search index: a view whose rows are the terms and numbers of fields that a function has given each document.
///
/// It is brought up to date, rebuilt, bounded and encrypted as every view is; what is its own is the form of the rows:
///
///     key                       value                            one row for each
///     [1, field, term]          [words, boost, place, place …]   document that has the term in the field
///     [2, field, number]        null                             document that has the number in the field
///     [0]                       a record                         document that has fields
///
///     {"s": {"title": "Cat"},                  what results show: fields with `store`
///      "v": {"price": 3, "state": "new"},      what results are sorted, grouped and counted by
///      "f": ["state"],                         the fields that they are counted by
///      "w": [12, 2]}                           words, and fields that have words: totals are kept by the index
///
/// Texts in keys are in the order of their bytes (`ascii`), and numbers by value. Rows of one key are in the
/// order of document IDs. That is all that the evaluation needs:
///
///     +couch -title:po*  price:[2 TO 5]        [1,default,couch]   ──► a, c, f, …   read on demand, 4 to 1,024 rows at a time
///                                              [1,title,po…]       ──► {b, f}       collected and sorted
///                                              [2,price,2…5]       ──► {a, b}       collected and sorted
///                                              merged by ID        ──► a (matches two), c
///
/// ## Costs
///
/// A row takes its key, its document's ID and about two bytes for each place; neighbours share what they begin with. A
/// search reads the rows of its words once, in proportion to the documents of the rarest word if that is required. It keeps
/// the documents of patterns and ranges in memory, and a page of rows for each word, smaller where rows are long or words are
/// many. What it may read and keep is bounded (``SearchBudget``); beyond that it is refused.
///
/// ## Invariants
///
/// `SearchRowsTests` and `SearchReferenceTests` compare them with a reference on random documents and queries.
///
/// 1. A document has at most one row of each key, and exactly one with the key `[0]` if it has any.
/// 2. What matches comes in ascending order of document IDs from every part of an evaluation, and once.
/// 3. A document matches an expression if and only if it does so for the reference, whatever the pages' sizes.
/// 4. Of two results with the same request on the same snapshot, the second page goes on where the first ended: their
///    hits are disjoint and in order.
package struct SearchIndex: Sendable {
    let view: DatabaseView
    let analyzers: SearchAnalyzers
    let service: SearchService

    /// Makes one of a view that `define` has given its functions.
    package init(_ view: DatabaseView, _ analyzers: SearchAnalyzers, _ service: SearchService) {
        self.view = view
        self.analyzers = analyzers
        self.service = service
    }

    /// Gives a view the functions of a search index.
    ///
    /// - Parameters:
    ///   - view: The view.
    ///   - version: What the rows depend on.
    ///   - mapper: What makes the rows, by ``SearchRows``.
    ///   - isPartitioned: Whether rows lie by the partitions of their documents. Then each partition is searched as if its
    ///     documents were all there are.
    package static func define(
        _ view: DatabaseView, version: String, by mapper: any GroupMapper,
        isPartitioned: Bool = false
    ) {
        view.setMap(
            version: version, by: mapper, place: 0, reduce: Reduce(reducer: SearchTotals()),
            collation: .ascii, includesDesign: false, isPartitioned: isPartitioned)
    }

    /// Whether it is asked for one partition, and for no more.
    package var isPartitioned: Bool { view.isPartitioned }

    /// Finds documents.
    ///
    /// - Parameter query: What is asked.
    /// - Returns: The hits, and what was counted beside them.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for what cannot be answered; as the view's queries.
    package func run(_ query: SearchQuery) throws -> SearchResult {
        try SearchRun(self, query).run()
    }

    /// The number of words that the analyzer of a field finds in a text.
    package func words(of text: String, in field: String) -> Int {
        analyzers[field].tokens(of: text).count
    }

    /// Whether texts of a field are one word each, as they are.
    package func isKeyword(_ field: String) -> Bool { analyzers[field].kind == .keyword }

    /// How an index stands.
    package struct Statistics: Sendable {
        /// The documents that have fields in it.
        package var documents: Int
        /// The bytes of its rows.
        package var bytes: Int
        /// The change up to which it goes, and the purge.
        package var (sequence, purge): (SequenceNumber, UInt64)
    }

    /// How the index stands, without bringing it up to date.
    package func statistics() throws -> Statistics {
        let bytes = try view.storedBytes
        return try view.core.read { snapshot in
            let record = try view.record(in: snapshot)
            let totals = try SearchReader(view, mode: .never, ofAll: true).totals()
            return Statistics(
                documents: Int(clamping: totals?[0]?.int64 ?? 0), bytes: bytes,
                sequence: record?.lastSequence ?? 0,
                purge: record?.lastPurge ?? 0)
        }
    }

    /// What the rows depend on.
    package var signature: String { view.version ?? "" }

    /// Whether the stored index has been built by these functions.
    package var isBuilt: Bool {
        get throws {
            guard let stored = try view.storedVersion else { return false }
            return stored.hasSameBytes(as: view.version)
        }
    }
}
