// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanQuery

// Queries that a text index answers.
extension FindChoice {
    /// What is searched for in the text index that was chosen.
    ///
    /// - Parameter database: The database.
    /// - Returns: The index and the search; nil when no text index was chosen.
    /// - Throws: `HTTPFailure` 400 for an order whose type is not known, for a bookmark of another query, and for a selector of
    ///   too many conditions.
    func textSearch(in database: Database) throws -> (index: SearchIndex, search: SearchQuery)? {
        guard let text = chosen?.text,
            let index = try database.designDocuments.searchIndex(of: text)
        else { return nil }
        var search = SearchQuery(
            try TextSearch(index, text.definition).expression(request.selector))
        search.partition = request.partition
        if !request.sort.isEmpty { search.order = try request.sort.map(searchOrder) }
        if let bookmark = request.bookmark {
            do { search.after = try SearchPosition(bookmark, search.order) } catch {
                throw HTTPFailure.invalidBookmark(.string(bookmark))
            }
        }
        return (index, search)
    }

    /// The query of the database that tests what the search finds.
    func tested(in database: Database) throws -> FindQuery {
        var query = FindQuery(
            try DocumentSelector(json: request.selector.executable), in: database)
        query.partition = request.partition
        query.limit = request.limit
        query.skip = request.skip
        query.fields = request.fields
        query.updatesIndexes = request.updates && !request.isStale
        query.seesConflicts = request.conflicts
        return query
    }

    /// `age:number`, or `age` where the conditions on it tell what it is.
    private func searchOrder(_ key: SortKey) throws -> SearchOrder {
        let parts = key.path.utf8.split(
            separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        var kinds: [TextField.Kind] = []
        var name = key.path
        if parts.count > 1, let end = parts.last,
            let kind = TextField.Kind(rawValue: String(Substring(end))),
            kind == .string || kind == .number
        {
            kinds = [kind]
            name = String(Substring(key.path.utf8.dropLast(end.count + 1)))
        } else {
            let path = try FieldPath(key.path)
            kinds = Array(Set(request.selector.kinds(of: path)))
        }
        guard kinds.count == 1 else {
            throw HTTPFailure(
                400, "text_sort_error",
                "Unspecified or ambiguous sort type. Try appending :number or :string to the sort "
                    + "field. \(key.path.prefix(100))")
        }
        let path = try FieldPath(name)
        guard path != .documentID else {
            return SearchOrder(.document, isDescending: key.isDescending)
        }
        return SearchOrder(
            .field(TextField.name(path.names, kinds[0]), kinds[0] == .number ? .number : .text),
            isDescending: key.isDescending)
    }

    /// How the order is shown.
    var shownOrder: JSONValue {
        guard !request.sort.isEmpty else { return "relevance" }
        return .array(
            request.sort.map { .string(($0.isDescending ? "-" : "") + $0.path) })
    }
}

extension FindSelector {
    /// What kinds of values conditions compare a field with.
    fileprivate func kinds(of path: FieldPath) -> [TextField.Kind] {
        switch self {
        case .all(let parts), .any(let parts): parts.flatMap { $0.kinds(of: path) }
        case .field(path, .operation(_, let value)):
            value.textKind.map { $0 == .boolean ? [] : [$0] } ?? []
        default: []
        }
    }
}

extension TextDefinition {
    /// The definition as `_index` lists it.
    var listed: JSONValue {
        var object = json.object ?? [:]
        object["fields"] = .array(
            (json["fields"]?.array ?? []).map { field in
                .object([field["name"]?.string ?? "": field["type"] ?? .null])
            })
        if object["partial_filter_selector"] == [:] { object["partial_filter_selector"] = nil }
        return .object(object)
    }
}
