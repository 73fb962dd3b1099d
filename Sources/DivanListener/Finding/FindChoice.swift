// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// What a `_find` reads, chosen as CouchDB does: by the conditions and the order alone, whatever the documents are, so
/// that the same query gives the same rows in the same order however the database grows.
///
/// Of the indexes whose fields a query asks for, and that have its order, the one is read that has conditions on most
/// of its leading fields; then the one with the fewest fields; then the first by name. Where there is none, all
/// documents are read. An index on part of the documents must be named. A text index is read where no other index serves, and
/// the client must name one if there are several.
struct FindChoice: Sendable {
    /// An index that may be read, and how far the conditions lead into it.
    struct Ranked: Sendable {
        /// Its place among the indexes.
        var place: Int
        var ranges: [FindRange?]
        /// How many fields with conditions do not help to find its rows.
        var distance: Int
    }

    let request: FindRequest
    let indexes: [FindIndex]
    /// Why each index cannot be read.
    let reasons: [[String]]
    /// The places of the indexes that were thought of, of those among them that are made for a partition if the query is
    /// of one, of those that could be read, and of those left after the client named one.
    let considered: [Int]
    let inScope: [Int]
    let usable: [Int]
    let filtered: [Int]
    /// Those that the choice was made among, the best one first.
    let ranked: [Ranked]

    /// Chooses.
    ///
    /// - Parameters:
    ///   - request: What is asked.
    ///   - indexes: All documents, and the indexes by their names.
    /// - Throws: `HTTPFailure` 400 where the named index does not serve and no other may be taken.
    init(_ request: FindRequest, _ indexes: [FindIndex]) throws {
        self.request = request
        let indexes = indexes.filter(\.isReadable)
        self.indexes = indexes
        let order = request.sort.map(\.path)
        reasons = indexes.map { $0.reasonsAgainst(request.selector, sortedBy: order) }
        let places = Array(indexes.indices)
        let named = places.filter { indexes[$0].isNamed(by: request.useIndex) }
        considered = places.filter { !indexes[$0].isPartial || named.contains($0) }
        let isPartitioned = request.partition != nil
        let inScope = considered.filter { place in
            indexes[place].isPartitioned.map { $0 == isPartitioned } ?? true
        }
        self.inScope = inScope
        let usable = inScope.filter { [reasons] in reasons[$0].isEmpty }
        self.usable = usable
        let serving = usable.filter(named.contains)
        if serving.isEmpty, !usable.isEmpty, !request.allowsFallback,
            !request.useIndex.isEmpty || usable.count < 2
        {
            throw HTTPFailure.invalidIndex(request.useIndex)
        }
        filtered = serving.isEmpty ? usable : serving
        let texts = filtered.filter { indexes[$0].text != nil }
        guard texts.isEmpty || filtered.contains(where: { indexes[$0].index != nil }) else {
            guard texts.count == 1 else {
                throw HTTPFailure(
                    400, "multiple_text_indexes",
                    "You must specify an index with the `use_index` parameter.")
            }
            ranked = [Ranked(place: texts[0], ranges: [], distance: 0)]
            return
        }
        ranked = Self.ranked(filtered, indexes, request.selector)
    }

    private static func ranked(
        _ filtered: [Int], _ indexes: [FindIndex], _ selector: FindSelector
    ) -> [Ranked] {
        let made = filtered.filter { indexes[$0].index != nil }
        var ranges = selector.ranges
        if made.isEmpty { ranges.append(("_id", .everyID)) }
        return (made.isEmpty ? filtered : made).map { place in
            let found = indexes[place].columns.map { column in
                ranges.first { $0.field.hasSameBytes(as: column) }
            }
            let leading = found.prefix { $0 != nil }.map { $0.flatMap(\.range) }
            return Ranked(place: place, ranges: leading, distance: ranges.count - leading.count)
        }.sorted { left, right in
            let columns = (indexes[left.place].columns.count, indexes[right.place].columns.count)
            return (left.distance, columns.0, left.place)
                < (right.distance, columns.1, right.place)
        }
    }

    /// The index that is read; nil where none serves.
    var chosen: FindIndex? { ranked.first.map { indexes[$0.place] } }

    /// Whether no document can be found, so that nothing is read.
    var isNothing: Bool {
        guard !request.selector.isEmptyList, let ranges = ranked.first?.ranges else { return true }
        return ranges.count == 1 && ranges[0] == nil
    }

    /// Refuses a query that no index serves.
    ///
    /// - Parameter inPartitions: Whether the database is partitioned.
    /// - Throws: `HTTPFailure` 400.
    func checkUsable(inPartitions: Bool = false) throws {
        guard chosen == nil else { return }
        guard !request.selector.isTextSearch else {
            throw HTTPFailure(
                400, "no_usable_index",
                "No text index serves this `$text`; make one of the type `text`, with a default field."
            )
        }
        let kind = inPartitions ? (request.partition == nil ? "global " : "partitioned ") : ""
        throw HTTPFailure(
            400, "no_usable_index",
            "No \(kind)index exists for this sort, try indexing by the sort fields.")
    }
}

extension HTTPFailure {
    /// An index that was named and does not serve, or that had to be named.
    fileprivate static func invalidIndex(_ names: [String]) -> HTTPFailure {
        guard let design = names.first else {
            return HTTPFailure(
                400, "invalid_index", "You must specify an index with the `use_index` parameter.")
        }
        let name = names.count > 1 ? ", \(names[1].prefix(100))" : ""
        return HTTPFailure(
            400, "invalid_index",
            "_design/\(IndexLabel.design(design).prefix(100))\(name) specified by `use_index` could "
                + "not be found or it is not suitable.")
    }
}
