// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// The parameter `full_text` of views, as clients of Couchbase Lite 1.x send it: a search in a full-text index of the app.
extension Call {
    private static let mostTexts = 200
    /// Of more rows than these the best are kept in memory.
    private static let mostFound = 10_000

    /// `GET`, `POST /{db}/_design/{ddoc}/_view/{name}?full_text=…`
    ///
    /// - Parameters:
    ///   - words: What to look for.
    ///   - given: The parameters.
    /// - Returns: The documents, the best first unless `ranking` is `false`, each with the places of the words, and with `snippets` a
    ///   passage that shows them.
    /// - Throws: `HTTPFailure` 404 where the app has no full-text index of the name, 400 for parameters that are wrong.
    func searchText(_ words: String, _ given: QueryParameters) throws -> ListenerResponse {
        let full = DesignItem.name(name(0), name(1))
        guard let index = try database.existingFullTextIndex(named: full) else {
            throw HTTPFailure.notFound("missing_full_text_index")
        }
        guard try partition(given) == nil else {
            throw HTTPFailure.queryParse("`partition` parameter is not supported with `full_text`")
        }
        let wanted = try given.count("limit") ?? Self.mostTexts
        guard wanted <= Self.mostTexts else {
            throw HTTPFailure.queryParse("Limit is too large, must not exceed \(Self.mostTexts)")
        }
        var search = index.search(words)
        search.isRanked = try given.flag("ranking", default: true)
        search.updateMode = try Self.updateMode(given)
        let skip = try given.count("skip") ?? 0
        guard skip <= Self.mostFound else {
            throw HTTPFailure.queryParse("Skip is too large, must not exceed \(Self.mostFound)")
        }
        // Documents are read one by one, when their rows are written.
        search.includeDocuments = false
        // Rows that are hidden do not count, so they are passed over and counted here.
        (search.skip, search.limit) = hidesDocuments ? (0, Self.mostFound) : (skip, wanted)
        let hasSnippets = try given.flag("snippets")
        let hasDocuments = try given.flag("include_docs")
        let result = try search.run()
        var answer = LongText(site)
        answer.text.raw("{\"total_rows\":")
        answer.text.value(hidesDocuments ? .null : JSONValue(result.totalMatches))
        answer.text.raw(",\"offset\":")
        answer.text.value(hidesDocuments ? .null : JSONValue(skip))
        answer.text.raw(",\"rows\":[\n")
        var (passed, written) = (hidesDocuments ? 0 : skip, 0)
        for row in result where written < wanted {
            guard let document = try readableDocument(row.documentID) else { continue }
            guard passed >= skip else {
                passed += 1
                continue
            }
            if written > 0 { answer.text.raw(",\n") }
            written += 1
            append(row.with(document), hasSnippets: hasSnippets, &answer.text)
            if hasDocuments {
                answer.text.raw(",\"doc\":")
                try DocumentFormat().append(document, nil, to: &answer.text)
            }
            answer.text.raw("}")
            try answer.settle()
        }
        answer.text.raw("\n]}")
        return try answer.response()
    }

    private func append(_ row: FullTextRow, hasSnippets: Bool, _ text: inout JSONText) {
        text.raw("{\"id\":")
        text.string(row.documentID.text)
        text.raw(",\"value\":null")
        if hasSnippets {
            text.raw(",\"snippet\":")
            text.value(row.snippet(start: "[", end: "]").map { .string($0) } ?? .null)
        }
        let texts = row.texts
        text.raw(",\"matches\":")
        text.value(
            .array(
                row.matches.map { match in
                    let units = texts[match.text].utf16
                    let start = units.distance(from: units.startIndex, to: match.range.lowerBound)
                    let length = units.distance(
                        from: match.range.lowerBound, to: match.range.upperBound)
                    return [
                        "term": JSONValue(match.term), "text": JSONValue(match.text),
                        "range": [JSONValue(start), JSONValue(length)],
                    ]
                }))
    }
}
