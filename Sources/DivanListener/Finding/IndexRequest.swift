// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// The index that a client asks for, read from the body of `_index`.
struct IndexRequest {
    let label: IndexLabel
    let index: PropertyIndex
    /// What the client says of partitions; nil for what is usual in the database.
    let partitioned: Bool?
    /// Whether the client named the fields as descending. The rows are read in either direction.
    let isDescending: Bool

    /// Reads a body.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - inPartitions: Whether the database is partitioned.
    /// - Throws: `HTTPFailure` 400 or 503.
    init(_ body: JSONObject, inPartitions: Bool = false) throws {
        guard let json = body["index"] else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: index")
        }
        let options = FindOptions(body)
        try options.allow(only: ["index", "type", "name", "ddoc", "w", "partitioned"])
        try Self.checkType(try options.text("type"))
        let (given, design) = (try options.name("name"), try options.name("ddoc"))
        _ = try options.count("w", atLeast: 1)
        partitioned = try body["partitioned"] == nil ? nil : options.flag("partitioned", false)
        guard inPartitions || partitioned != true else {
            throw HTTPFailure.badRequest(
                "`partitioned` is for partitioned databases, and this is none; leave it out.")
        }
        guard let definition = json.object else {
            throw HTTPFailure(
                400, "invalid_index", "JSON indexes must be an object, not: \(json.shown)")
        }
        try FindOptions(definition).allow(only: ["fields", "partial_filter_selector"])
        guard let fields = definition["fields"] else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: fields")
        }
        let keys = try SortKey.list(fields)
        guard !keys.isEmpty else {
            throw HTTPFailure(400, "invalid_index_fields", "An index needs a field.")
        }
        isDescending = keys[0].isDescending
        let paths = keys.map(\.path)
        let filter = try definition["partial_filter_selector"].flatMap(Self.filter)
        let made = Self.name(of: paths, filter)
        label = IndexLabel(
            design: IndexLabel.design(design ?? made), name: given ?? made)
        guard !label.design.isEmpty, !label.design.utf8.contains(UInt8(ascii: "/")) else {
            throw HTTPFailure.badRequest("`ddoc` must be the name of a design document.")
        }
        var index = PropertyIndex(
            named: label.indexNames[0], on: paths, collation: .unicode, filter: filter)
        index.isPartitioned = partitioned ?? inPartitions
        self.index = index
    }

    private static func checkType(_ type: String?) throws {
        switch type {
        case nil, "json"?: break
        case "text"?, "nouveau"?:
            throw HTTPFailure(503, "required index service unavailable", type ?? "")
        case let type?:
            throw HTTPFailure(
                400, "invalid_index", "Invalid type for index: \(type.prefix(100))")
        }
    }

    private static func filter(_ json: JSONValue) throws -> DocumentSelector? {
        let selector = try FindSelectorParser.parse(json)
        return selector == .everything ? nil : try DocumentSelector(json: json)
    }

    /// A name that the same definition has each time.
    private static func name(of paths: [String], _ filter: DocumentSelector?) -> String {
        let text = JSONValue.array(paths.map { .string($0) }).description
        return HexText.text(Fingerprint.of(text + (filter?.json.description ?? "")))
    }
}
