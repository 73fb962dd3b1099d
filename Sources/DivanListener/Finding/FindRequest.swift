// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanQuery

/// What a `_find` or `_explain` asks, read from its body.
struct FindRequest: Sendable {
    /// How many documents come unless the client says how many.
    static let defaultLimit = 25

    var query: FindQuery
    var limit: Int
    /// Whether documents tell which of their revisions conflict.
    var conflicts: Bool
    var wantsStatistics: Bool
    /// The index that was named and is not there.
    var missingIndex: String?
    /// Whether another way may be taken where the named index, or any at all, does not serve.
    var allowsFallback = true

    init(_ body: JSONObject, _ database: Database) throws {
        guard let selector = body["selector"] else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: selector")
        }
        guard selector.object != nil else {
            throw HTTPFailure(400, "invalid_selector_json", "Selector must be a JSON object")
        }
        query = FindQuery(try DocumentSelector(json: selector), in: database)
        limit = try Self.count(body, "limit") ?? Self.defaultLimit
        query.limit = limit
        query.skip = try Self.count(body, "skip") ?? 0
        if let fields = body["fields"], fields.array?.isEmpty != true, fields != "all_fields" {
            query.fields = try DocumentFormat.texts(fields, "fields", of: "property names")
        }
        if let sort = body["sort"] {
            guard let keys = sort.array else {
                throw HTTPFailure(400, "invalid_sort_json", "Sort must be an array of fields.")
            }
            query.sort = try keys.map { try SortKey(json: $0) }
        }
        if let given = body["bookmark"], given != .null {
            guard let bookmark = given.string else {
                throw HTTPFailure.badRequest("`bookmark` must be a string.")
            }
            if bookmark != "nil", !bookmark.isEmpty { query.bookmark = bookmark }
        }
        conflicts = try Self.flag(body, "conflicts", false)
        wantsStatistics = try Self.flag(body, "execution_stats", false)
        query.updatesIndexes = try Self.flag(body, "update", true)
        allowsFallback = try Self.flag(body, "allow_fallback", true)
        // Of a cluster, which this is not; a value that makes no sense is a mistake all the same.
        _ = try Self.flag(body, "stable", false)
        _ = try Self.count(body, "r")
        if let named = body["use_index"] { try use(named, database) }
    }

    /// Takes the index that a client names by its design document, and perhaps its own name.
    private mutating func use(_ named: JSONValue, _ database: Database) throws {
        let parts = named.string.map { [$0] } ?? (named.array ?? []).compactMap(\.string)
        guard let design = parts.first else { return }
        let wanted = IndexLabel.design(design)
        let found = try database.indexes().map(\.name).first { name in
            let label = IndexLabel(name)
            return label.design.hasSameBytes(as: wanted)
                && (parts.count < 2 || label.name.hasSameBytes(as: parts[1]))
        }
        query.useIndex = found
        if found == nil { missingIndex = parts.joined(separator: ", ") }
    }

    /// Refuses a query whose index is not there, or does not serve it, where nothing else may.
    func checkIndex(in database: Database) throws {
        guard !allowsFallback else { return }
        let refusal = HTTPFailure(
            400, "no_usable_index", "No index serves this query, and no other way is allowed.")
        guard missingIndex == nil else { throw refusal }
        // Reading everything may be cheaper than an index that would do, and one whose rows are all in
        // question is no narrower way; what counts is that there is one.
        let explanation = try query.explain()
        let asked = query.selector.json.object ?? [:]
        var serving = NameSet(explanation.candidates.flatMap(\.indexNames))
        if let read = explanation.index { serving.insert(read.name) }
        for index in try database.indexes()
        where index.paths.first.map({ asked[$0] != nil }) ?? false {
            serving.insert(index.name)
        }
        guard query.useIndex.map(serving.contains) ?? !serving.isEmpty else { throw refusal }
    }

    private static func flag(_ body: JSONObject, _ key: String, _ default: Bool) throws -> Bool {
        guard let value = body[key] else { return `default` }
        guard let flag = value.bool else {
            throw HTTPFailure.badRequest("`\(key)` must be true or false.")
        }
        return flag
    }

    private static func count(_ body: JSONObject, _ key: String) throws -> Int? {
        guard let value = body[key] else { return nil }
        guard let number = value.int64, number >= 0 else {
            throw HTTPFailure.badRequest("`\(key)` must be a number of 0 or more.")
        }
        return Int(clamping: number)
    }
}

/// How an index of the database is called on the wire: by a design document and a name.
///
/// `design/name` on the wire's side is one name on the database's; one without a slash, which an app
/// gave, is both.
struct IndexLabel: Equatable {
    @ByBytes var design: String
    @ByBytes var name: String

    init(design: String, name: String) {
        self.design = design
        self.name = name
    }

    init(_ indexName: String) {
        let parts = DesignItem.parts(indexName)
        self.init(design: parts[0], name: parts.count > 1 ? parts[1] : parts[0])
    }

    /// The names that the database may have for it.
    var indexNames: [String] {
        design.hasSameBytes(as: name) ? ["\(design)/\(name)", name] : ["\(design)/\(name)"]
    }

    /// The name of a design document without `_design/`.
    static func design(_ text: String) -> String {
        text.afterBytePrefix("_design/") ?? text
    }
}
