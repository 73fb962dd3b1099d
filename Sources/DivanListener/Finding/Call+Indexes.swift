// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// `_index`.
extension Call {
    /// `GET /{db}/_index`
    func indexes() throws -> ListenerResponse {
        let indexes = try FindIndex.all(in: try indexedDatabase)
        let limit = try number("limit", atLeast: 1) ?? indexes.count
        let skip = try number("skip", atLeast: 0) ?? 0
        return .json([
            "total_rows": JSONValue(indexes.count),
            "indexes": .array(indexes.dropFirst(skip).prefix(limit).map(\.json)),
        ])
    }

    private func number(_ name: String, atLeast least: Int) throws -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text, radix: 10), number >= least else {
            throw HTTPFailure(
                400, "invalid_list_index_params",
                "`limit` is a number of 1 or more, and `skip` one of 0 or more.")
        }
        return number
    }

    /// `POST /{db}/_index`
    func createIndex() throws -> ListenerResponse {
        let request = try IndexRequest(
            try objectBody(), inPartitions: try database.isPartitioned)
        let isNew = try declare(request)
        return .json([
            "result": isNew ? "created" : "exists",
            "id": .string("_design/" + request.label.design), "name": .string(request.label.name),
        ])
    }

    /// `DELETE /{db}/_index/{ddoc}/text/{name}`
    func deleteTextIndex() throws -> ListenerResponse {
        let label = IndexLabel(design: IndexLabel.design(name(0)), name: name(1))
        let database = try database
        let isThere = try database.designDocuments.textIndexes().contains {
            IndexLabel(design: $0.design, name: $0.name) == label
        }
        guard isThere else { throw HTTPFailure.missing }
        try database.inBatch { try undeclare([label.name], label.design, in: ["indexes"]) }
        try database.designDocuments.removeUnusedSearches()
        return .done()
    }

    /// `DELETE /{db}/_index/{ddoc}/json/{name}`
    func deleteIndex() throws -> ListenerResponse {
        let label = IndexLabel(design: IndexLabel.design(name(0)), name: name(1))
        let database = try database
        // No design document of an index has a slash in its name; with one it would be another's.
        guard !label.design.utf8.contains(UInt8(ascii: "/")),
            try database.indexes().contains(where: { IndexLabel($0.name) == label })
        else {
            throw HTTPFailure.missing
        }
        try database.inBatch {
            try undeclare([label.name], label.design, in: ["views"])
            for name in label.indexNames { try database.deleteIndex(named: name) }
        }
        return .done()
    }

    /// `POST /{db}/_index/_bulk_delete`
    func deleteIndexes() throws -> ListenerResponse {
        let body = try objectBody()
        let options = FindOptions(body)
        try options.allow(only: ["docids", "w"])
        _ = try options.count("w", atLeast: 1)
        guard let json = body["docids"] else {
            throw HTTPFailure(400, "missing_required_key", "Missing required key: docids")
        }
        guard let items = json.array else {
            throw HTTPFailure(
                400, "invalid_bulk_docs",
                "Bulk Delete requires an array of non-null docids. Docids: \(json.shown)")
        }
        // Judged before the first one is deleted.
        let designs = try items.map { item in
            guard let name = item.string else {
                throw HTTPFailure(400, "invalid_index_name", "Invalid index name: \(item.shown)")
            }
            _ = try FindOptions.indexNames(item)
            return IndexLabel.design(name)
        }
        let database = try database
        var success: [JSONValue] = []
        var fail: [JSONValue] = []
        for design in designs {
            let names = try database.indexes().map(\.name)
                .filter { IndexLabel($0).design.hasSameBytes(as: design) }
            let texts = try database.designDocuments.textIndexes()
                .filter { $0.design.hasSameBytes(as: design) }
            let id = JSONValue.string("_design/" + design)
            try database.inBatch {
                try undeclare(
                    names.map { IndexLabel($0).name } + texts.map(\.name), design,
                    in: ["views", "indexes"])
                for name in names { try database.deleteIndex(named: name) }
            }
            if !texts.isEmpty { try database.designDocuments.removeUnusedSearches() }
            if names.isEmpty, texts.isEmpty {
                fail.append(["id": id, "error": "not_found"])
            } else {
                success.append(["id": id, "ok": true])
            }
        }
        return .json(["success": .array(success), "fail": .array(fail)])
    }

    // MARK: - Design documents of indexes

    /// Writes an index into its design document, and makes it.
    ///
    /// - Returns: Whether it was not there before.
    private func declare(_ request: IndexRequest) throws -> Bool {
        let database = try database
        let isNew = try database.inBatch {
            let isChanged = try writeDeclaration(of: request)
            guard case .json(let index, _) = request.kind else { return isChanged }
            return try database.createIndex(index) || isChanged
        }
        try database.designDocuments.updateIndexes()
        return isNew
    }

    /// Writes the view, or the search index, that declares an index.
    ///
    /// - Returns: Whether the design document did not have it.
    private func writeDeclaration(of request: IndexRequest) throws -> Bool {
        let label = request.label
        let id = DocumentID("_design/\(label.design)")
        let current = try database.document(withID: id)
        var body =
            current?.body.jsonValue().object ?? ["language": .string(QueryIndexes.language)]
        guard body["language"]?.string == QueryIndexes.language else {
            throw HTTPFailure(
                400, "invalid_design_doc",
                "The design document '\(id)' has functions; choose another `ddoc` for the index.")
        }
        try Self.setPartitioned(request.partitioned, of: id, in: &body, isNew: current == nil)
        let (member, declaration) =
            switch request.kind {
            case .json(let index, let isDescending):
                ("views", QueryIndexes.view(of: index, isDescending: isDescending))
            case .text(let definition): ("indexes", TextIndex.declaration(of: definition))
            }
        var declared = body[member]?.object ?? [:]
        guard declared[label.name] != declaration else { return false }
        declared[label.name] = declaration
        body[member] = .object(declared)
        try rewrite(id, body, over: current)
        return true
    }

    /// Says in a new design document whether its indexes are made for partitions, where the client says so; an old one must
    /// say the same.
    private static func setPartitioned(
        _ wanted: Bool?, of id: DocumentID, in body: inout JSONObject, isNew: Bool
    ) throws {
        var options = body["options"]?.object ?? [:]
        guard options["partitioned"]?.bool != wanted else { return }
        guard isNew, let wanted else {
            throw HTTPFailure(
                400, "invalid_partitioned_option",
                "Requested partitioned option does not match existing value on design document "
                    + "\(id.text.prefix(200))")
        }
        options["partitioned"] = .bool(wanted)
        body["options"] = .object(options)
    }

    /// Takes indexes out of their design document, which goes with the last one.
    private func undeclare(_ names: [String], _ design: String, in members: [String]) throws {
        let id = DocumentID("_design/\(design)")
        guard let current = try database.document(withID: id),
            current["language"].string == QueryIndexes.language
        else { return }
        var body = current.body.jsonValue().object ?? [:]
        for member in members {
            guard var declared = body[member]?.object else { continue }
            for name in names { declared[name] = nil }
            body[member] = declared.isEmpty ? nil : .object(declared)
        }
        let isEmpty = body["views"] == nil && body["indexes"] == nil
        try rewrite(id, isEmpty ? nil : body, over: current)
    }

    /// Saves a design document as the user; nil deletes it.
    private func rewrite(_ id: DocumentID, _ body: JSONObject?, over current: Document?) throws {
        let change = body.map { PackedValue(.object($0)) } ?? PackedValue(["_deleted": true])
        let base = current?.revisionID
        let received = try permitted(id, ReceivedDocument(change), .edit(of: base))
        _ = try Self.naming(id) {
            try database.put(
                id, body: received.body, parent: base, isDeleted: received.isDeleted)
        }
    }
}
