// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

extension FindChoice {
    /// How the rows are read, as arguments of a view.
    var viewArguments: JSONValue {
        let (start, end) = (startKey, endKey)
        return [
            "include_docs": .bool(request.copies == 1 && !isCovered), "view_type": "map",
            "reduce": false, "partition": request.partition.map { .string($0) } ?? .null,
            "start_key": isReversed ? end : start,
            "end_key": isReversed ? start : end, "direction": isReversed ? "rev" : "fwd",
            "stable": .bool(request.isStable || request.isStale),
            "update": .bool(request.updates && !request.isStale),
            // CouchDB's word where nothing was asked.
            "conflicts": request.conflicts ? true : "undefined",
        ]
    }

    /// Whether the rows of the index have all that the query asks for.
    var isCovered: Bool {
        chosen?.covers(request.fields.map { $0 + request.selector.fields }) ?? false
    }

    private static let greatest: JSONValue = "<MAX>"

    private var startKey: JSONValue {
        guard let ranges = ranked.first?.ranges, !isNothing else { return .null }
        guard chosen?.index != nil else {
            guard let lower = ranges.first??.lower else { return .null }
            return lower.value ?? ""
        }
        var keys: [JSONValue] = []
        for range in ranges {
            guard let value = range?.lower.value else { break }
            keys.append(value)
        }
        return .array(keys)
    }

    private var endKey: JSONValue {
        guard let ranges = ranked.first?.ranges, !isNothing else { return .null }
        guard chosen?.index != nil else {
            return ranges.first.flatMap { $0?.upper.value } ?? Self.greatest
        }
        var keys: [JSONValue] = []
        for range in ranges {
            guard let value = range?.upper.value else { break }
            keys.append(value)
        }
        return .array(keys + [Self.greatest])
    }

    /// By which conditions an index could find rows, and by which not.
    var selectorHints: JSONValue {
        let indexable = NameSet(request.selector.indexableFields.map(\.text))
        let other = NameSet(request.selector.fields).subtracting(indexable)
        func list(_ names: NameSet) -> JSONValue { .array(names.sorted().map { .string($0) }) }
        let words = NameSet(
            request.selector.textFields.map { field in
                // The colon is that of the type: those of names stand before it.
                guard let end = field.utf8.lastIndex(of: UInt8(ascii: ":")) else { return field }
                return String(field[..<end])
            })
        return [
            [
                "type": "json", "indexable_fields": list(indexable),
                "unindexable_fields": list(other),
            ],
            [
                "type": "text", "indexable_fields": list(words),
                "unindexable_fields": list(NameSet(request.selector.fields).subtracting(words)),
            ],
        ]
    }

    // MARK: - Candidates

    /// What was not read, and why: the last one by name first.
    ///
    /// - Parameter read: The indexes that the database reads in fact, by their names. Where CouchDB would look through all
    ///   documents, as for `$or`, these may be several, and none of them is a candidate that does not serve.
    /// - Returns: The candidates, each with CouchDB's analysis.
    func candidates(besides read: [String]) -> JSONValue {
        let winner = ranked.first?.place
        let read = NameSet(read)
        let others = indexes.indices.reversed().filter { place in
            place != winner && !(indexes[place].index.map { read.contains($0.name) } ?? false)
        }
        return .array(
            others.map { place in
                let (isUsable, reason, ranking) = judgement(place)
                let index = indexes[place]
                return [
                    "index": index.json,
                    "analysis": [
                        "usable": .bool(isUsable), "reasons": [["name": .string(reason)]],
                        "ranking": JSONValue(ranking),
                        "covering": index.index == nil
                            ? nil : .bool(index.covers(request.fields)),
                    ],
                ]
            })
    }

    /// Where an index stands behind the chosen one, and why.
    private func judgement(_ place: Int) -> (isUsable: Bool, reason: String, ranking: Int) {
        let ofKind = Set(ranked.map(\.place))
        let (all, considered) = (Set(indexes.indices), Set(considered))
        let (usable, filtered, inScope) = (Set(usable), Set(filtered), Set(inScope))
        if let position = ranked.firstIndex(where: { $0.place == place }) {
            return (true, reasonBehind(position), position)
        }
        // Each class stands behind the one before, if that has any.
        let unfavored = max(1, ranked.count)
        let excluded = unfavored + (filtered.subtracting(ofKind).isEmpty ? 0 : 1)
        let unusable = excluded + (usable.subtracting(filtered).isEmpty ? 0 : 1)
        let outside = unusable + (inScope.subtracting(usable).isEmpty ? 0 : 1)
        let partial = outside + (considered.subtracting(inScope).isEmpty ? 0 : 1)
        if !considered.contains(place), all.contains(place) {
            return (false, "is_partial", partial)
        }
        if !inScope.contains(place) { return (false, "scope_mismatch", outside) }
        if !usable.contains(place) {
            return (false, reasons[place].first ?? "field_mismatch", unusable)
        }
        if !filtered.contains(place) { return (true, "excluded_by_user", excluded) }
        return (true, "unfavored_type", unfavored)
    }

    private func reasonBehind(_ position: Int) -> String {
        let (candidate, winner) = (ranked[position], ranked[0])
        if candidate.distance > 0 { return "less_overlap" }
        let width = (indexes[candidate.place].columns.count, indexes[winner.place].columns.count)
        return width.0 > width.1 ? "too_many_fields" : "alphabetically_comes_after"
    }
}
