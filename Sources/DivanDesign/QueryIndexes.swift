// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
internal import DivanLogging
internal import DivanModel
package import DivanQuery

/// Indexes that design documents of the language `query` declare, as CouchDB's `_index` makes them.
///
///     {"_id": "_design/people", "language": "query",
///      "views": {"by_age": {"map": {"fields": {"age": "asc"}, "partial_filter_selector": {…}},
///                           "reduce": "_count",
///                           "options": {"def": {"fields": ["age"]}}}}}        index people/by_age, on age
///
/// The design documents are what counts: an index named `design/name` is there as long as such a document declares it. An index of the app whose
/// name has no design document is left alone.
package enum QueryIndexes {
    /// The language of such design documents.
    package static let language = "query"

    /// The indexes that a design document declares; those that make no sense are left out, and the log names them.
    ///
    /// - Parameters:
    ///   - document: The design document.
    ///   - inPartitions: Whether the database is partitioned: then they are made for partitions unless the document
    ///     says otherwise.
    /// - Returns: The indexes.
    static func declared(in document: Document, inPartitions: Bool) -> [PropertyIndex] {
        guard document["language"].string == language else { return [] }
        let design = document.id.text.afterBytePrefix("_design/") ?? ""
        let isPartitioned = DesignViews.isPartitioned(document.body, inPartitions: inPartitions)
        var indexes: [PropertyIndex] = []
        document.body["views"]?.forEachProperty { name, view in
            let full = DesignItem.name(design, name)
            orLog(full) {
                guard var index = try index(full, view) else { return }
                index.isPartitioned = isPartitioned
                indexes.append(index)
            }
        }
        return indexes
    }

    /// Does something for an index; one that makes no sense is told of in the log.
    private static func orLog(_ name: String, _ body: () throws -> Void) {
        do { try body() } catch {
            Log.database.warning(
                "The index '\(name.prefix(200))' of a design document is left out: \(error)")
        }
    }

    private static func index(_ name: String, _ view: PackedValue) throws -> PropertyIndex? {
        guard let map = view["map"], map.isObject, let fields = map["fields"] else { return nil }
        // The order of the fields counts, which that of an object's members does not everywhere.
        let list = view["options"]?["def"]?["fields"]?.jsonValue().array
        let keys = try list?.map { try SortKey(json: $0).path }
        let filter = map["partial_filter_selector"]?.jsonValue()
        return PropertyIndex(
            named: name, on: keys ?? fields.keys, collation: .unicode,
            filter: try filter.flatMap { $0 == [:] ? nil : try DocumentSelector(json: $0) })
    }

    /// The view that declares an index.
    ///
    /// - Parameters:
    ///   - index: The index.
    ///   - isDescending: Whether its fields are to be shown as descending.
    /// - Returns: The view, as it stands in a design document.
    package static func view(of index: PropertyIndex, isDescending: Bool = false) -> JSONValue {
        let direction: JSONValue = isDescending ? "desc" : "asc"
        let fields = index.paths.map { (key: $0, value: direction) }
        let filter = index.filter?.json ?? [:]
        let given = index.paths.map { isDescending ? [$0: "desc"] : JSONValue.string($0) }
        return [
            "map": ["fields": .object(JSONObject(fields)), "partial_filter_selector": filter],
            "reduce": "_count",
            "options": ["def": ["fields": .array(given)]],
        ]
    }

    /// Whether the fields of an index are descending in the view that declares it.
    package static func isDescending(_ view: JSONValue) -> Bool {
        view["map"]?["fields"]?.object?.values.first == "desc"
    }

    /// Where the names of indexes are kept that were made for design documents, so that no other index is deleted with them.
    private static let record: DocumentID = "_divan/indexes"

    /// Makes the indexes of a database those that its design documents declare.
    ///
    /// An index of the app that has the name of a declared one stays as it is.
    ///
    /// - Parameters:
    ///   - documents: All design documents.
    ///   - database: The database.
    /// - Throws: `DatabaseError`.
    static func update(_ documents: [Document], in database: Database) throws {
        let names = try database.localDocument(record)?["names"]?.array ?? []
        let known = NameSet(names.compactMap(\.string))
        var declared: NameMap<PropertyIndex> = [:]
        let isPartitioned = database.isPartitioned
        for document in documents {
            for index in self.declared(in: document, inPartitions: isPartitioned) {
                declared[index.name] = index
            }
        }
        guard !declared.isEmpty || !known.isEmpty else { return }
        var there: NameMap<PropertyIndex> = [:]
        for index in try database.indexes() { there[index.name] = index }
        for name in known where declared[name] == nil { try database.deleteIndex(named: name) }
        var made = NameSet([])
        for index in declared.values {
            let other = there[index.name]
            guard other == nil || other == index || known.contains(index.name) else { continue }
            do {
                try database.createIndex(index)
                made.insert(index.name)
            } catch let error as DatabaseError where error.code == .invalidQuery {
                orLog(index.name) { throw error }
            }
        }
        guard made != known else { return }
        try database.putLocalDocument(
            record, ["names": .array(made.sorted().map { .string($0) })])
    }
}
