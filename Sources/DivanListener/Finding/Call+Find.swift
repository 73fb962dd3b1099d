// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// `_find` and `_explain`.
extension Call {
    /// `POST /{db}/_find`
    func find() throws -> ListenerResponse {
        let database = try indexedDatabase
        let choice = try FindChoice(
            try findRequest(), try FindIndex.all(in: database, describes: false))
        if !site.options.sortsWithoutIndex || choice.request.selector.isTextSearch {
            try choice.checkUsable(inPartitions: database.isPartitioned)
        }
        var answer = LongText(site)
        var isFirst = true
        let result = try run(choice, in: database) {
            answer.restart()
            answer.text.raw("{\"docs\":[\n")
            isFirst = true
        } take: { row in
            if !isFirst { answer.text.raw(",\n") }
            isFirst = false
            try append(row, choice.request, to: &answer.text)
            try answer.settle()
        }
        write(result, choice, to: &answer.text)
        return try answer.response()
    }

    private func run(
        _ choice: FindChoice, in database: Database, begin: () -> Void,
        take: (FindRow) throws -> Void
    ) throws -> FindResult {
        guard let (index, asked) = try choice.textSearch(in: database) else {
            return try visible(try choice.query(in: database)).run(begin: begin, take: take)
        }
        begin()
        var search = asked
        var query = visible(try choice.tested(in: database))
        // Nothing is found, and nothing need be searched for.
        if choice.request.selector.isEmptyList { query.limit = 0 }
        if hidesDocuments {
            let call = self
            query.updatesIndexes = true
            search.includes = { try call.readableDocument($0) != nil }
        }
        do { return try query.run(in: index, search, take: take) } catch let error
            as DatabaseError where error.code == .invalidQuery
        {
            throw HTTPFailure(400, "text_search_error", error.message)
        }
    }

    /// What the body asks for, in the partition that the path or the query names.
    private func findRequest() throws -> FindRequest {
        try FindRequest(
            try objectBody(), partition: try partition(query),
            inPartitions: try database.isPartitioned)
    }

    /// What stands behind the documents.
    private func write(_ result: FindResult, _ choice: FindChoice, to text: inout JSONText) {
        text.raw("\n],\n\"bookmark\":")
        // A page behind the last one has the place of that one.
        text.string(result.bookmark ?? choice.request.bookmark ?? "nil")
        if choice.request.wantsStatistics {
            text.raw(",\n\"execution_stats\":")
            text.value(statistics(result.statistics, choice.request))
        }
        if let warning = choice.warning(
            result.statistics, readIndexes: !result.indexNames.isEmpty, hides: hidesDocuments)
        {
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

    private func statistics(_ statistics: FindStatistics, _ request: FindRequest) -> JSONValue {
        let (seconds, attoseconds) = statistics.duration.components
        // What was examined counts what is hidden, too.
        let documents = hidesDocuments ? nil : JSONValue(statistics.documentsExamined)
        let isQuorum = request.copies > 1
        return [
            "total_keys_examined": hidesDocuments ? nil : JSONValue(statistics.rowsExamined),
            "total_docs_examined": isQuorum ? 0 : documents,
            "total_quorum_docs_examined": isQuorum ? documents : 0,
            "results_returned": JSONValue(statistics.resultsReturned),
            "execution_time_ms": .double(Double(seconds) * 1e3 + Double(attoseconds) / 1e15),
        ]
    }

    /// `POST /{db}/_explain`
    func explain() throws -> ListenerResponse {
        let database = try indexedDatabase
        let request = try findRequest()
        let choice = try FindChoice(request, try FindIndex.all(in: database))
        var answer: JSONObject = [
            "dbname": .string(database.name), "index": choice.chosen?.json ?? .null,
            "partitioned": .bool(database.isPartitioned), "selector": request.selector.shown,
            "opts": request.options,
            "limit": JSONValue(request.limit), "skip": JSONValue(request.skip),
            "fields": request.fieldsJSON, "index_candidates": choice.candidates(besides: []),
            "selector_hints": choice.selectorHints,
        ]
        if let (_, search) = try choice.textSearch(in: database) {
            answer["query"] = .string("\(search.expression ?? .all)")
            answer["partition"] = request.partition.map { .string($0) } ?? .null
            answer["sort"] = choice.shownOrder
        } else if choice.chosen != nil {
            answer["mrargs"] = choice.viewArguments
            answer["covering"] = .bool(choice.isCovered)
            try explain(choice, in: database, &answer)
        }
        return .json(.object(answer))
    }

    /// What the database does in fact, which CouchDB does not tell.
    private func explain(
        _ choice: FindChoice, in database: Database, _ answer: inout JSONObject
    ) throws {
        // The choice goes by counts of all documents, and tells of hidden ones.
        guard !hidesDocuments else { return }
        let explanation = try choice.query(in: database).explain()
        answer["index_candidates"] = choice.candidates(besides: explanation.indexNames)
        answer["access"] = .string(explanation.access)
        answer["estimated_rows"] = JSONValue(explanation.estimatedRows)
        answer["actual_rows"] = JSONValue(explanation.actualRows)
        answer["is_sorted"] = .bool(explanation.isSorted)
    }

    /// The database, whose indexes are those that its design documents declare.
    var indexedDatabase: Database {
        get throws {
            let database = try database
            if !site.options.readOnly { try database.designDocuments.updateIndexes() }
            return database
        }
    }
}
