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
    var includeDocuments = false
    var includeDeleted = false
    var conflicts = false
    /// Whether rows tell the revisions in conflict, and whether there are no other rows, as Couchbase Lite 1.x has it.
    var showsConflicts = false
    var onlyConflicts = false
    var updateSequence = false
    var format = DocumentFormat()

    /// Reads the query's parameters; those in the body, of the same names, count before them.
    init(_ query: QueryParameters, body: JSONObject = [:]) throws {
        var query = query
        for (key, value) in body where key != "keys" && key != "queries" {
            query[key] =
                value.string.map {
                    key.hasByteSuffix("key") ? JSONValue.string($0).description : $0
                }
                ?? value.description
        }
        descending = try query.flag("descending")
        inclusiveEnd = try query.flag("inclusive_end", default: true)
        includeDocuments = try query.flag("include_docs")
        includeDeleted = try query.flag("include_deleted")
        conflicts = try query.flag("conflicts")
        onlyConflicts = try query.flag("only_conflicts")
        showsConflicts = try query.flag("include_conflicts") || onlyConflicts
        updateSequence = try query.flag("update_seq")
        try query.checkMapOnly()
        skip = try query.count("skip") ?? 0
        limit = try query.count("limit")
        if try query.flag("attachments") { format.attachments = .inline }
        format.showsEncoding = try query.flag("att_encoding_info")
        format.conflicts = conflicts
        try readKeys(query, body)
    }

    private mutating func readKeys(_ query: QueryParameters, _ body: JSONObject) throws {
        if let list = try body["keys"] ?? query.json("keys") {
            guard let items = list.array else {
                throw HTTPFailure.badRequest("`keys` member must be an array.")
            }
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
        }
        if let key = try query.json("endkey", "end_key") {
            endKey = key.string
            if key.string == nil, Self.isAbove(key) == descending { isEmpty = true }
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
        let end = prefix.dropLast() + "0"
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
        options.descending = descending
        options.includeDeleted = includeDeleted
        options.includeDocuments = includeDocuments
        options.onlyConflicts = onlyConflicts
        options.showConflicts = showsConflicts
        options.limit = step
        return options
    }
}
