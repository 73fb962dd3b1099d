// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanQuery

/// What a `_find` may read: an index, or all documents in the order of their IDs.
struct FindIndex: Sendable {
    /// An index on properties; nil for a text index, and for all documents.
    let index: PropertyIndex?
    /// A text index.
    let text: TextIndex?
    let label: IndexLabel?
    /// The fields that the rows are sorted by.
    @ByBytes private(set) var columns: [String]
    /// Whether its design document names the fields as descending, which changes nothing but how it is shown.
    private let isDescending: Bool

    static let allDocuments = FindIndex(
        index: nil, label: nil, columns: ["_id"], isDescending: false)

    private init(
        index: PropertyIndex?, text: TextIndex? = nil, label: IndexLabel?, columns: [String],
        isDescending: Bool
    ) {
        self.index = index
        self.text = text
        self.label = label
        self.isDescending = isDescending
        self.columns = columns
    }

    /// All documents, and the indexes of a database by their names on the wire.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - describes: Whether they are to be shown, for which their design documents are read.
    /// - Returns: The indexes.
    /// - Throws: `DatabaseError`.
    static func all(in database: Database, describes: Bool = true) throws -> [FindIndex] {
        var designs: NameMap<JSONValue> = [:]
        let indexes = try database.indexes().map { index in
            let label = IndexLabel(index.name)
            if describes, designs[label.design] == nil {
                let document = try database.document(withID: "_design/\(label.design)")
                designs[label.design] = document?.body["views"]?.jsonValue() ?? .null
            }
            let view = designs[label.design]?[label.name]
            return FindIndex(
                index: index, label: label, columns: index.paths,
                isDescending: view.map(QueryIndexes.isDescending) ?? false)
        }
        let texts = try database.designDocuments.textIndexes().map { text in
            FindIndex(
                index: nil, text: text, label: IndexLabel(design: text.design, name: text.name),
                columns: [], isDescending: false)
        }
        return [allDocuments] + (indexes + texts).sorted { $0.precedes($1) }
    }

    private func precedes(_ other: FindIndex) -> Bool {
        guard let label, let other = other.label else { return other.label != nil }
        if label.design.hasSameBytes(as: other.design) {
            return label.name.utf8.lexicographicallyPrecedes(other.name.utf8)
        }
        return label.design.utf8.lexicographicallyPrecedes(other.design.utf8)
    }

    /// Whether it is made for partitions; nil for all documents, which serve both.
    var isPartitioned: Bool? { index?.isPartitioned ?? text?.isPartitioned }

    /// Whether it has only a part of the documents.
    var isPartial: Bool { index?.filter != nil || text?.definition.filter != nil }

    /// Whether its rows can be read as they are sorted. An app may make indexes on elements, and such as sort texts by
    /// bytes.
    var isReadable: Bool {
        guard let index else { return true }
        return index.collation ?? .unicode == .unicode
            && !index.paths.contains { $0.utf8.contains(UInt8(ascii: "[")) }
    }

    /// Whether a query names it: by a design document, or by that and a name.
    func isNamed(by names: [String]) -> Bool {
        guard let label, let design = names.first else { return false }
        return label.design.hasSameBytes(as: IndexLabel.design(design))
            && (names.count < 2 || label.name.hasSameBytes(as: names[1]))
    }

    /// As `_index` lists it.
    var json: JSONValue {
        if let text, let label {
            return [
                "ddoc": .string("_design/" + label.design), "name": .string(label.name),
                "type": "text", "partitioned": .bool(text.isPartitioned),
                "def": text.definition.listed,
            ]
        }
        guard let index, let label else {
            return [
                "ddoc": nil, "name": "_all_docs", "type": "special",
                "def": ["fields": [["_id": "asc"]]],
            ]
        }
        let direction: JSONValue = isDescending ? "desc" : "asc"
        var definition: JSONObject = [
            "fields": .array(columns.map { .object([$0: direction]) })
        ]
        if let filter = index.filter {
            // One that no client could have sent, since an app gave it, is shown as it is.
            definition["partial_filter_selector"] =
                (try? FindSelectorParser.parse(filter.json))?.shown ?? filter.json
        }
        return [
            "ddoc": .string("_design/" + label.design), "name": .string(label.name),
            "type": "json", "partitioned": .bool(index.isPartitioned), "def": .object(definition),
        ]
    }
}

// MARK: - What it serves

extension FindIndex {
    /// Why it cannot be read for a selector and an order, in CouchDB's words; nothing where it can.
    ///
    /// Its rows are of documents that have all its fields, so a query must ask for these.
    func reasonsAgainst(_ selector: FindSelector, sortedBy order: [String]) -> [String] {
        if let text { return Self.reasons(against: text, selector, order) }
        // Rows of values tell nothing of words.
        let needsText = selector.isTextSearch ? ["needs_text_search"] : []
        guard index != nil else {
            return needsText + reasonsAgainstAllDocuments(selector, order)
        }
        let sorted = NameSet(order + ["_id", "_rev"])
        let required = columns.filter { !sorted.contains($0) }.compactMap { try? FieldPath($0) }
        var reasons = needsText
        if !selector.fieldsNotRequired(Set(required)).isEmpty { reasons.append("field_mismatch") }
        if !sorts(order, selector) { reasons.append("sort_order_mismatch") }
        return reasons
    }

    private static func reasons(
        against text: TextIndex, _ selector: FindSelector, _ order: [String]
    ) -> [String] {
        guard selector != .everything else { return ["empty_selector"] }
        guard text.definition.hasDefault || !selector.isTextSearch else {
            return ["field_mismatch"]
        }
        guard let fields = text.definition.fields else { return [] }
        let isServed = selector.textFields.allSatisfy { field in
            field.hasSameBytes(as: TextField.all)
                ? text.definition.hasDefault : fields.contains(field)
        }
        guard isServed else { return ["field_mismatch"] }
        // What the index does not have it cannot sort by.
        let isSorted = order.allSatisfy { typedField($0).map { fields.contains($0) } ?? true }
        return isSorted ? [] : ["sort_order_mismatch"]
    }

    /// The field that an order with a type names, as an index names it; nil without a type, and for IDs.
    private static func typedField(_ key: String) -> String? {
        for kind in [TextField.Kind.string, .number] {
            guard key.hasByteSuffix(":" + kind.rawValue) else { continue }
            let name = String(Substring(key.utf8.dropLast(kind.rawValue.utf8.count + 1)))
            return name.hasSameBytes(as: "_id") ? nil : TextField.name(TextField.path(name), kind)
        }
        return nil
    }

    private func reasonsAgainstAllDocuments(_ selector: FindSelector, _ order: [String]) -> [String]
    {
        guard !order.isEmpty else { return [] }
        var reasons: [String] = []
        if !selector.indexableFields.contains(.documentID) { reasons.append("field_mismatch") }
        if !order.hasSameBytes(as: ["_id"]) { reasons.append("sort_order_mismatch") }
        return reasons
    }

    /// Whether its rows come in an order, but for fields at the front that are the same in all of them.
    private func sorts(_ order: [String], _ selector: FindSelector) -> Bool {
        guard let first = order.first else { return true }
        var rest = columns[...]
        while let column = rest.first, !column.hasSameBytes(as: first) {
            guard let path = try? FieldPath(column), selector.isConstant(path) else { return false }
            rest.removeFirst()
        }
        return Array(rest.prefix(order.count)).hasSameBytes(as: order)
    }

    /// Whether a row has all of some fields; nil for all documents, and for no fields.
    func covers(_ fields: [String]?) -> Bool {
        guard index != nil, let fields else { return false }
        let known = NameSet(columns + ["_id"])
        return fields.allSatisfy { known.contains($0) }
    }
}
