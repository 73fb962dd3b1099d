// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON

/// What a text index of `_find` has, as design documents of the language `query` declare it:
///
///     {"indexes": {"name": {"index": {"fields": [{"name": "address.city", "type": "string"}],
///                                     "default_field": {"enabled": true, "analyzer": "standard"},
///                                     "default_analyzer": "keyword", "index_array_lengths": true,
///                                     "partial_filter_selector": {…}},
///                           "analyzer": {…}}}}
package struct TextDefinition: Sendable {
    /// The definition as it was given.
    package let json: JSONValue
    /// The fields, each with its type (``TextField/name(_:_:)``); nil for all that documents have.
    package let fields: NameSet?
    /// Whether words are found in all texts together.
    package let hasDefault: Bool
    /// Whether arrays are found by their lengths.
    package let hasLengths: Bool
    /// Which documents are in the index; nil for all.
    package let filter: DocumentSelector?

    /// Reads a definition.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    package init(json: JSONValue) throws {
        guard json.object != nil else { throw Self.failure("it is an object") }
        self.json = json
        fields = try Self.fields(json["fields"])
        switch json["default_field"] {
        case nil: hasDefault = true
        case .bool(let flag)?: hasDefault = flag
        case .object(let options)?:
            guard let flag = (options["enabled"] ?? true).bool else {
                throw Self.failure("`enabled` of `default_field` is true or false")
            }
            hasDefault = flag
        case _?: throw Self.failure("`default_field` is true, false or an object")
        }
        guard let lengths = (json["index_array_lengths"] ?? true).bool else {
            throw Self.failure("`index_array_lengths` is true or false")
        }
        hasLengths = lengths
        // What an old index calls its filter.
        let filters = ["partial_filter_selector", "selector"].compactMap { json[$0] }
        filter = try filters.first { $0 != [:] }.map { try DocumentSelector(json: $0) }
        _ = try SearchAnalyzers(["analyzer": analyzer], for: .clouseau)
    }

    /// The analyzers, as design documents name those of a search index.
    package var analyzer: JSONValue {
        guard hasDefault else { return "keyword" }
        return [
            "name": "perfield", "default": json["default_analyzer"] ?? "keyword",
            "fields": [
                TextField.all: json["default_field"]?["analyzer"] ?? "standard"
            ],
        ]
    }

    /// Reads `[{"name": "age", "type": "number"}]`; all fields are `"all_fields"`, or an empty list.
    ///
    /// - Returns: The fields with their types; nil for all.
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    package static func fields(_ json: JSONValue?) throws -> NameSet? {
        guard let json, json.string.map({ !$0.hasSameBytes(as: "all_fields") }) ?? true else {
            return nil
        }
        guard let items = json.array, items.count <= mostFields else {
            throw failure("`fields` are a list of up to \(mostFields)")
        }
        guard !items.isEmpty else { return nil }
        return NameSet(
            try items.map { item in
                guard let object = item.object, object.count == 2,
                    let name = object["name"]?.string, !name.isEmpty,
                    let type = object["type"]?.string.flatMap(TextField.Kind.init(rawValue:)),
                    TextField.Kind.declared.contains(type)
                else {
                    throw failure("a field has a `name` and the `type` string, number or boolean")
                }
                return TextField.name(TextField.path(name), type)
            })
    }

    private static let mostFields = 256

    private static func failure(_ expected: String) -> DatabaseError {
        DatabaseError(.invalidQuery, "A text index cannot be made: \(expected).")
    }
}
