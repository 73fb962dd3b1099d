// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// What a request for all documents asks: the options of `_all_docs` and its relatives.
struct AllDocumentsRequest: Sendable {
    var keys: [JSONValue]?
    var startKey: String?
    var endKey: String?
    /// Whether no document can be in the range: its ends are of types that no ID has.
    var isEmpty = false
    var inclusiveEnd = true
    var descending = false
    var skip = 0
    var limit: Int?
    /// What the IDs begin with, where the list is of such documents alone.
    var prefix: String?
    /// What the IDs of a partition begin with, where the list is of one.
    var partitionPrefix: String?
    var includeDocuments = false
    var includeDeleted = false
    var conflicts = false
    /// Whether rows tell the revisions in conflict, and whether there are no other rows, as Couchbase Lite 1.x has it.
    var showsConflicts = false
    var onlyConflicts = false
    var updateSequence = false
    var format = DocumentFormat()

    /// Reads the query's parameters, and those in the body, of the same names.
    ///
    /// - Parameters:
    ///   - query: The parameters of the query.
    ///   - body: Those of the body, or of one of its `queries`.
    ///   - bodyWins: Whether those of the body count where both say something, as they do in `queries`.
    /// - Throws: `HTTPFailure` 400 for a parameter that is wrong, or that goes with another one that is given not at all.
    init(_ query: QueryParameters, body: JSONObject = [:], bodyWins: Bool = false) throws {
        var query = query
        var keys = body["keys"]
        for (key, value) in body where key != "keys" && key != "queries" {
            guard bodyWins || !query.names(key) else { continue }
            query[key] =
                value.string.map {
                    key.hasByteSuffix("key") ? JSONValue.string($0).description : $0
                }
                ?? value.description
        }
        if !bodyWins, let given = try query.json("keys") { keys = given }
        descending = try query.flag("descending")
        inclusiveEnd = try query.flag("inclusive_end", default: true)
        includeDocuments = try query.flag("include_docs")
        includeDeleted = try query.flag("include_deleted")
        conflicts = try query.flag("conflicts")
        onlyConflicts = try query.flag("only_conflicts")
        showsConflicts = try query.flag("include_conflicts") || onlyConflicts
        updateSequence = try query.flag("update_seq")
        try query.checkMapOnly()
        // They mean nothing here, and are checked as those of a view.
        _ = try Call.updateMode(query)
        for name in ["stable", "sorted"] { _ = try query.flag(name) }
        skip = try query.count("skip") ?? 0
        limit = try query.count("limit")
        if try query.flag("attachments") { format.attachments = .inline }
        format.showsEncoding = try query.flag("att_encoding_info")
        format.conflicts = conflicts
        try readKeys(query, keys ?? query.json("keys"))
    }

    private mutating func readKeys(_ query: QueryParameters, _ list: JSONValue?) throws {
        if let list {
            guard let items = list.array else { throw HTTPFailure.keysNoArray }
            let isRange = ["key", "startkey", "endkey"].contains(where: query.names)
            // The same key by both is one.
            let isSame = try items.count == 1 && items.first == query.json("key")
            if !items.isEmpty, isRange, !isSame { throw HTTPFailure.keysAndRange }
            keys = items
        }
        if let key = try query.json("key") {
            guard let text = key.string else {
                isEmpty = true
                return
            }
            (startKey, endKey) = (text, text)
            return
        }
        // Numbers and the like stand before all IDs, arrays and objects behind them.
        if let key = try query.json("startkey", "start_key") {
            startKey = key.string
            if key.string == nil, Self.isAbove(key) != descending { isEmpty = true }
        } else {
            startKey = query["startkey_docid"] ?? query["start_key_doc_id"]
        }
        if let key = try query.json("endkey", "end_key") {
            endKey = key.string
            if key.string == nil, Self.isAbove(key) == descending { isEmpty = true }
        } else {
            endKey = query["endkey_docid"] ?? query["end_key_doc_id"]
        }
    }

    private static func isAbove(_ key: JSONValue) -> Bool {
        switch key {
        case .array, .object: true
        default: false
        }
    }

    /// Whether an ID is in the range; for lists that are small.
    func contains(_ id: String) -> Bool {
        if isEmpty { return false }
        if let keys { return keys.contains { id.hasSameBytes(as: $0.string) } }
        let low = descending ? endKey : startKey
        let high = descending ? startKey : endKey
        if let low, id.utf8.lexicographicallyPrecedes(low.utf8) { return false }
        if let high, high.utf8.lexicographicallyPrecedes(id.utf8) { return false }
        return inclusiveEnd || !id.hasSameBytes(as: endKey)
    }

    /// The range narrowed to IDs that begin with a text.
    mutating func narrow(to prefix: String) {
        self.prefix = prefix
        // The byte behind the prefix's last one ends it: "_design/" to "_design0".
        narrow(to: prefix, below: prefix.dropLast() + "0")
    }

    /// The range narrowed to a partition. Of a list of IDs, those of others are listed as missing.
    mutating func narrow(toPartition name: String) {
        partitionPrefix = "\(name):"
        narrow(to: "\(name):", below: "\(name);")
    }

    /// The end itself is no document's ID.
    private mutating func narrow(to prefix: String, below end: some StringProtocol) {
        var (low, high) = descending ? (endKey, startKey) : (startKey, endKey)
        if low.map({ $0.utf8.lexicographicallyPrecedes(prefix.utf8) }) ?? true { low = prefix }
        if high.map({ end.utf8.lexicographicallyPrecedes($0.utf8) }) ?? true { high = String(end) }
        (startKey, endKey) = descending ? (high, low) : (low, high)
    }

    /// The options of the database for one step of the enumeration.
    func options(limit step: Int) -> AllDocumentsOptions {
        var options = AllDocumentsOptions()
        options.startID = startKey.map { DocumentID($0) }
        options.endID = endKey.map { DocumentID($0) }
        options.excludesEnd = !inclusiveEnd
        options.descending = descending
        options.includeDeleted = includeDeleted
        options.includeDocuments = includeDocuments
        options.onlyConflicts = onlyConflicts
        options.showConflicts = showsConflicts
        options.limit = step
        return options
    }
}
