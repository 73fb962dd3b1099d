// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanQuery

// `_find`, `_explain` and `_index`.
extension Call {
    /// `POST /{db}/_find`
    func find() throws -> ListenerResponse {
        let database = try database
        let request = try FindRequest(try objectBody(), database)
        try request.checkIndex(in: database)
        var answer = LongText(site)
        var isFirst = true
        let result = try visible(request.query).run {
            answer.restart()
            answer.text.raw("{\"docs\":[\n")
            isFirst = true
        } take: { row in
            if !isFirst { answer.text.raw(",\n") }
            isFirst = false
            try append(row, request, to: &answer.text)
            try answer.settle()
        }
        write(result, request, to: &answer.text)
        return try answer.response()
    }

    /// What stands behind the documents.
    private func write(_ result: FindResult, _ request: FindRequest, to text: inout JSONText) {
        text.raw("\n],\n\"bookmark\":")
        text.string(result.bookmark ?? "nil")
        if request.wantsStatistics {
            text.raw(",\n\"execution_stats\":")
            text.value(statistics(result.statistics))
        }
        let missing = request.missingIndex.map {
            "There is no index \($0.prefix(100)); another way was taken."
        }
        if let warning = missing ?? result.warning {
            text.raw(",\n\"warning\":")
            text.string(warning)
        }
        text.raw("}")
    }

    private func append(_ row: FindRow, _ request: FindRequest, to text: inout JSONText) throws {
        var format = DocumentFormat()
        format.budget = site.longDocuments
        try format.reserve(row.document, nil, for: &text)
        guard !row.appendProperties(to: &text.bytes) else { return }
        format.conflicts = request.conflicts
        let tree = request.conflicts ? try database.revisionTree(of: row.id) : nil
        try format.append(row.document, tree, to: &text)
    }

    /// A query that finds what the user may read.
    private func visible(_ query: FindQuery) -> FindQuery {
        var query = query
        if hidesDocuments { query.isVisible = mayRead }
        return query
    }

    private func statistics(_ statistics: FindStatistics) -> JSONValue {
        let (seconds, attoseconds) = statistics.duration.components
        // What was examined counts what is hidden, too.
        return [
            "total_keys_examined": hidesDocuments ? nil : JSONValue(statistics.rowsExamined),
            "total_docs_examined": hidesDocuments
                ? nil : JSONValue(statistics.documentsExamined),
            "total_quorum_docs_examined": 0,
            "results_returned": JSONValue(statistics.resultsReturned),
            "execution_time_ms": .double(Double(seconds) * 1e3 + Double(attoseconds) / 1e15),
        ]
    }

    /// `POST /{db}/_explain`
    func explain() throws -> ListenerResponse {
        let database = try database
        let request = try FindRequest(try objectBody(), database)
        let explanation = try request.query.explain()
        let fields = request.query.fields
        return .json([
            "dbname": .string(database.name),
            "index": explanation.index.map(Self.describe) ?? Self.allDocumentsIndex,
            "selector": SelectorForm.normal(request.query.selector.json),
            "limit": JSONValue(request.limit),
            "skip": JSONValue(request.query.skip),
            "fields": fields.map { .array($0.map { .string($0) }) } ?? "all_fields",
            "access": .string(explanation.access),
            "estimated_rows": hidesDocuments ? nil : JSONValue(explanation.estimatedRows),
            "actual_rows": hidesDocuments ? nil : JSONValue(explanation.actualRows),
            "is_sorted": .bool(explanation.isSorted),
        ])
    }

    // MARK: - Indexes

    /// `GET /{db}/_index`
    func indexes() throws -> ListenerResponse {
        let indexes = try database.indexes()
        return .json([
            "total_rows": JSONValue(indexes.count + 1),
            "indexes": .array([Self.allDocumentsIndex] + indexes.map(Self.describe)),
        ])
    }

    private static let allDocumentsIndex: JSONValue = [
        "ddoc": nil, "name": "_all_docs", "type": "special",
        "def": ["fields": [["_id": "asc"]]],
    ]

    private static func describe(_ index: PropertyIndex) -> JSONValue {
        let label = IndexLabel(index.name)
        var definition: JSONObject = [
            "fields": .array(index.paths.map { .object([$0: "asc"]) })
        ]
        if let filter = index.filter { definition["partial_filter_selector"] = filter.json }
        return [
            "ddoc": .string("_design/" + label.design), "name": .string(label.name),
            "type": "json", "partitioned": false, "def": .object(definition),
        ]
    }

    /// `POST /{db}/_index`
    func createIndex() throws -> ListenerResponse {
        let body = try objectBody()
        guard let definition = body["index"]?.object, let list = definition["fields"]?.array else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: index")
        }
        for name in ["type", "ddoc", "name"]
        where body[name].map({ $0.string == nil && $0 != .null }) ?? false {
            throw HTTPFailure.badRequest("`\(name)` must be a string.")
        }
        guard ["json", nil].contains(body["type"]?.string) else {
            throw HTTPFailure.notImplemented("Only indexes of the type json are available.")
        }
        guard !list.isEmpty else {
            throw HTTPFailure(400, "invalid_index_fields", "An index needs a field.")
        }
        let paths = try list.map { try SortKey(json: $0).path }
        let partial = definition["partial_filter_selector"] ?? body["partial_filter_selector"]
        let filter = try partial.flatMap { $0 == [:] ? nil : try DocumentSelector(json: $0) }
        let made = Self.name(of: paths, filter)
        let label = IndexLabel(
            design: IndexLabel.design(body["ddoc"]?.string ?? made),
            name: body["name"]?.string ?? made)
        guard !label.design.isEmpty, !label.design.utf8.contains(UInt8(ascii: "/")),
            !label.name.isEmpty
        else {
            throw HTTPFailure.badRequest("`ddoc` and `name` must be names.")
        }
        let isNew = try database.createIndex(
            PropertyIndex(
                named: label.indexNames[0], on: paths, collation: .unicode, filter: filter))
        return .json([
            "result": isNew ? "created" : "exists", "id": .string("_design/" + label.design),
            "name": .string(label.name),
        ])
    }

    /// A name that the same definition has each time.
    private static func name(of paths: [String], _ filter: DocumentSelector?) -> String {
        let text = JSONValue.array(paths.map { .string($0) }).description
        return HexText.text(Fingerprint.of(text + (filter?.json.description ?? "")))
    }

    /// `DELETE /{db}/_index/{ddoc}/json/{name}`
    func deleteIndex() throws -> ListenerResponse {
        let label = IndexLabel(design: IndexLabel.design(name(0)), name: name(1))
        let database = try database
        // No design document of an index has a slash in its name; with one it would be another's.
        guard !label.design.utf8.contains(UInt8(ascii: "/")),
            try label.indexNames.contains(where: { try database.deleteIndex(named: $0) })
        else {
            throw HTTPFailure.notFound("Index does not exist")
        }
        return .done()
    }

    /// `POST /{db}/_index/_bulk_delete`
    func deleteIndexes() throws -> ListenerResponse {
        guard let designs = try objectBody()["docids"]?.array else {
            throw HTTPFailure.badRequest("`docids` should be an array.")
        }
        let database = try database
        var success: [JSONValue] = []
        var fail: [JSONValue] = []
        for design in designs.compactMap(\.string) {
            let names = try database.indexes().map(\.name)
                .filter { IndexLabel($0).design.hasSameBytes(as: IndexLabel.design(design)) }
            for name in names { try database.deleteIndex(named: name) }
            if names.isEmpty {
                fail.append(["id": .string(design), "error": "not_found"])
            } else {
                success.append(["id": .string(design), "ok": true])
            }
        }
        return .json(["success": .array(success), "fail": .array(fail)])
    }
}
