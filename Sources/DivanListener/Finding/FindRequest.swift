// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// What a `_find` or `_explain` asks, read from its body.
struct FindRequest: Sendable {
    /// How many documents come unless the client says how many.
    static let defaultLimit = 25

    let selector: FindSelector
    var limit = defaultLimit
    var skip = 0
    /// What documents are sorted by, all in one direction.
    var sort: [SortKey] = []
    /// The fields to give; nil for whole documents.
    var fields: [String]?
    /// The design document of the index to use, and perhaps its name.
    @ByBytes var useIndex: [String] = []
    @ByBytes var bookmark: String?
    /// The partition whose documents are found; nil for those of the whole database.
    @ByBytes var partition: String?
    /// How many copies of a document a cluster would compare.
    var copies = 1
    /// Whether documents tell which of their revisions conflict.
    var conflicts = false
    var wantsStatistics = false
    /// Whether indexes are brought up to date first.
    var updates = true
    /// Of a cluster, which this is not.
    var isStable = false
    var isStale = false
    /// Whether another way may be taken where the named index, or any at all, does not serve.
    var allowsFallback = true

    private static let keys: NameSet = [
        "selector", "use_index", "bookmark", "limit", "skip", "sort", "fields", "partition", "r",
        "conflicts", "stale", "update", "stable", "execution_stats", "allow_fallback",
    ]

    /// Reads a body.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - partition: The partition that the path or the query names.
    ///   - inPartitions: Whether the database is partitioned.
    /// - Throws: `HTTPFailure` 400.
    init(_ body: JSONObject, partition: String? = nil, inPartitions: Bool = false) throws {
        guard let json = body["selector"] else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: selector")
        }
        selector = try FindSelectorParser.parse(json)
        let options = FindOptions(body)
        try options.allow(only: Self.keys)
        useIndex = try options.indexNames("use_index")
        bookmark = try options.bookmark()
        limit = try options.count("limit") ?? limit
        skip = try options.count("skip") ?? skip
        if let json = body["sort"] { sort = try SortKey.list(json) }
        fields = try options.fields()
        copies = try options.count("r", atLeast: 1) ?? copies
        conflicts = try options.flag("conflicts", conflicts)
        isStale = try options.stale()
        updates = try options.flag("update", updates)
        isStable = try options.flag("stable", isStable)
        wantsStatistics = try options.flag("execution_stats", wantsStatistics)
        allowsFallback = try options.flag("allow_fallback", allowsFallback)
        self.partition = try Self.partition(options, partition, inPartitions)
    }

    private static func partition(
        _ options: FindOptions, _ named: String?, _ inPartitions: Bool
    ) throws -> String? {
        guard let given = try options.text("partition") else { return named }
        guard named == nil || given.hasSameBytes(as: named) else {
            throw HTTPFailure.badRequest("Conflicting value for `partition` in query string")
        }
        guard !given.isEmpty else { return nil }
        guard inPartitions else {
            throw HTTPFailure.badRequest(
                "`partition` is for partitioned databases, and this is none; leave it out.")
        }
        try Call.check(partition: given)
        return given
    }

    /// The options as `_explain` repeats them.
    var options: JSONValue {
        let order = sort.map {
            (key: $0.path, value: JSONValue.string($0.isDescending ? "desc" : "asc"))
        }
        return [
            "use_index": .array(useIndex.map { .string($0) }),
            "bookmark": .string(bookmark ?? "nil"), "limit": JSONValue(limit),
            "skip": JSONValue(skip), "sort": .object(JSONObject(order)), "fields": fieldsJSON,
            "partition": .string(partition ?? ""), "r": JSONValue(copies),
            "conflicts": .bool(conflicts),
            "stale": isStale ? "ok" : false, "update": .bool(updates), "stable": .bool(isStable),
            "execution_stats": .bool(wantsStatistics), "allow_fallback": .bool(allowsFallback),
        ]
    }

    /// The fields as they are shown.
    var fieldsJSON: JSONValue { .array((fields ?? []).map { .string($0) }) }
}
