// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// What the routes of both search services have in common.
extension Call {
    /// The search index that the path names.
    ///
    /// - Parameters:
    ///   - service: The service whose form the design document has for it.
    ///   - takesFields: Whether it may be an index of fields, as `_index` makes it, which only `_find` asks.
    /// - Returns: The index.
    /// - Throws: `HTTPFailure` 404 when it is not there, 400 when it is malformed or has an unknown analyzer, 501 when
    ///   nothing runs its function.
    func searchIndex(_ service: SearchService, takesFields: Bool = false) throws -> SearchIndex {
        let document = try design(name(0))
        let declared = document[service == .clouseau ? "indexes" : "nouveau"]
        guard declared[name(1)].value != nil else {
            throw HTTPFailure.notFound("\(name(1).prefix(200)) not found.")
        }
        let isOfFields = takesFields && declared[name(1)]["index"].value?.object != nil
        guard isOfFields || declared[name(1)]["index"].string != nil else {
            throw HTTPFailure(
                400, "invalid_design_doc",
                "index `\(name(1).prefix(200))` must have parameter `index`")
        }
        return try Self.refusing {
            guard
                let index = try database.designDocuments.searchIndex(
                    name(1), service, of: document)
            else { throw HTTPFailure.notFound("\(name(1).prefix(200)) not found.") }
            return index
        }
    }

    /// The partition that a search is of, by the path or by the parameter; nil for a whole index.
    ///
    /// - Parameters:
    ///   - index: The index, which is made for partitions or is not.
    ///   - arguments: Where the parameter may be.
    /// - Returns: The name.
    /// - Throws: `HTTPFailure` 400 where the index is to be asked in the other way, for two different names, and for one
    ///   that no partition has.
    func searchedPartition(_ index: SearchIndex, _ arguments: SearchArguments) throws -> String? {
        let unsupported = HTTPFailure.badRequest("`partition` not supported on this index")
        let given = try arguments.text("partition")
        guard try given == nil || database.isPartitioned else { throw unsupported }
        var name = try partition(query)
        if let given {
            try Self.check(partition: given)
            guard name == nil || given.hasSameBytes(as: name) else {
                throw HTTPFailure.badRequest(
                    "Multiple conflicting values for `partition` provided")
            }
            name = given
        }
        guard index.isPartitioned != (name != nil) else { return name }
        throw index.isPartitioned
            ? HTTPFailure.badRequest(
                "`partition` parameter is mandatory for queries to this index.")
            : unsupported
    }

    /// Says of what a search cannot answer that the request is a bad one, as CouchDB does.
    static func refusing<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as DatabaseError where error.code == .invalidQuery
        {
            throw HTTPFailure.badRequest(error.message)
        }
    }

    /// Runs a search among the documents that the user may read.
    func search(_ index: SearchIndex, _ query: SearchQuery) throws -> SearchResult {
        var query = query
        if hidesDocuments {
            let call = self
            // How far behind an index is tells of what others have written.
            query.updates = true
            query.includes = { try call.readableDocument($0) != nil }
        }
        return try Self.refusing { try index.run(query) }
    }

    /// What the query of the request or, of a `POST`, its body asks for.
    var searchArguments: SearchArguments {
        get throws {
            request.head.method == "POST"
                ? SearchArguments(body: try objectBody()) : SearchArguments(query: query)
        }
    }

    /// Appends hits, each with what it was sorted by as the service shows that.
    func append(
        _ hits: [SearchHit], withDocuments includesDocuments: Bool, to answer: inout LongText,
        order: (SearchHit) -> JSONValue
    ) throws {
        answer.text.raw("[")
        for (place, hit) in hits.enumerated() {
            if place > 0 { answer.text.raw(",\n") }
            answer.text.raw("{\"id\":")
            answer.text.string(hit.id.text)
            answer.text.raw(",\"order\":")
            answer.text.value(order(hit))
            answer.text.raw(",\"fields\":")
            answer.text.value(.object(hit.fields))
            if includesDocuments { try appendDocument(of: hit, to: &answer) }
            answer.text.raw("}")
            try answer.settle()
        }
        answer.text.raw("]")
    }

    /// Appends `,"doc":…` for a hit; null where the document is gone meanwhile.
    private func appendDocument(of hit: SearchHit, to answer: inout LongText) throws {
        answer.text.raw(",\"doc\":")
        if let document = try readableDocument(hit.id) {
            var format = DocumentFormat()
            format.budget = site.longDocuments
            try format.reserve(document, nil, for: &answer.text)
            try format.append(document, nil, to: &answer.text)
        } else {
            answer.text.raw("null")
        }
        try answer.settle()
    }

    /// Counts as both services show them.
    static func counted(_ counts: SearchResult.Counts) -> JSONValue {
        var object = JSONObject()
        for (field, labels) in counts {
            var found = JSONObject()
            for (label, count) in labels { found[label] = JSONValue(count) }
            object[field] = .object(found)
        }
        return .object(object)
    }

    /// `POST /{db}/_search_cleanup`, `_nouveau_cleanup`
    func cleanSearches() throws -> ListenerResponse {
        try database.designDocuments.removeUnusedSearches()
        return .done(status: 202)
    }
}
