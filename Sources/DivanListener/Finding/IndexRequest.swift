// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

/// The index that a client asks for, read from the body of `_index`.
struct IndexRequest {
    /// What is made.
    enum Kind {
        /// An index on properties, and whether the client named them as descending. The rows are read in either direction.
        case json(PropertyIndex, isDescending: Bool)
        case text(TextDefinition)
    }

    let label: IndexLabel
    let kind: Kind
    /// What the client says of partitions; nil for what is usual in the database.
    let partitioned: Bool?

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
        let isText = try Self.isText(try options.text("type"))
        let (given, design) = (try options.name("name"), try options.name("ddoc"))
        _ = try options.count("w", atLeast: 1)
        partitioned = try body["partitioned"] == nil ? nil : options.flag("partitioned", false)
        guard inPartitions || partitioned != true else {
            throw HTTPFailure.badRequest(
                "`partitioned` is for partitioned databases, and this is none; leave it out.")
        }
        guard let definition = json.object else {
            throw HTTPFailure(
                400, "invalid_index",
                "\(isText ? "Text" : "JSON") indexes must be an object, not: \(json.shown)")
        }
        if isText {
            let text = try Self.text(definition)
            let made = HexText.text(Fingerprint.of("text \(text.json)"))
            label = try Self.label(design, given, made)
            kind = .text(text)
            return
        }
        try FindOptions(definition).allow(only: ["fields", "partial_filter_selector"])
        guard let fields = definition["fields"] else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: fields")
        }
        let keys = try SortKey.list(fields)
        guard !keys.isEmpty else {
            throw HTTPFailure(400, "invalid_index_fields", "An index needs a field.")
        }
        let paths = keys.map(\.path)
        let filter = try definition["partial_filter_selector"].flatMap(Self.filter)
        let made = Self.name(of: paths, filter)
        label = try Self.label(design, given, made)
        var index = PropertyIndex(
            named: label.indexNames[0], on: paths, collation: .unicode, filter: filter)
        index.isPartitioned = partitioned ?? inPartitions
        kind = .json(index, isDescending: keys[0].isDescending)
    }

    private static func label(_ design: String?, _ name: String?, _ made: String) throws
        -> IndexLabel
    {
        let label = IndexLabel(design: IndexLabel.design(design ?? made), name: name ?? made)
        guard !label.design.isEmpty, !label.design.utf8.contains(UInt8(ascii: "/")) else {
            throw HTTPFailure.badRequest("`ddoc` must be the name of a design document.")
        }
        return label
    }

    /// Reads what a text index is to have, with CouchDB's values for what is not said.
    private static func text(_ given: JSONObject) throws -> TextDefinition {
        try FindOptions(given).allow(only: [
            "default_analyzer", "default_field", "partial_filter_selector", "selector", "fields",
            "index_array_lengths",
        ])
        let fields = given["fields"] ?? []
        do { _ = try TextDefinition.fields(fields) } catch {
            throw HTTPFailure(
                400, "invalid_index_fields_definition",
                "Text Index field definitions must be of the form {\"name\": \"non-empty fieldname\", "
                    + "\"type\": \"boolean,number, or string\"}. Def: \(fields.shown)")
        }
        for name in ["partial_filter_selector", "selector"] {
            _ = try given[name].flatMap(filter)
        }
        let definition: JSONObject = [
            "default_analyzer": given["default_analyzer"] ?? "keyword",
            "default_field": given["default_field"] ?? [:],
            "partial_filter_selector": given["partial_filter_selector"] ?? [:],
            "selector": given["selector"] ?? [:],
            "fields": fields == [] ? "all_fields" : fields,
            "index_array_lengths": given["index_array_lengths"] ?? true,
        ]
        do { return try TextDefinition(json: .object(definition)) } catch let error
            as DatabaseError
        {
            throw HTTPFailure(400, "invalid_index", error.message)
        }
    }

    private static func isText(_ type: String?) throws -> Bool {
        switch type {
        case nil, "json"?: return false
        // One full text serves both of CouchDB's kinds.
        case "text"?, "nouveau"?: return true
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
