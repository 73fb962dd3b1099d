// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// `_nouveau`: searches in the form of CouchDB's newer search service.
extension Call {
    /// `GET`, `POST /{db}/_design/{ddoc}/_nouveau/{index}`, also below `/{db}/_partition/{partition}`
    func nouveau() throws -> ListenerResponse {
        let beginning = ContinuousClock.now
        let index = try searchIndex(.nouveau)
        let arguments = try searchArguments
        var query = try nouveauQuery(arguments)
        query.partition = try searchedPartition(index, arguments)
        let includesDocuments = try arguments.flag("include_docs") ?? false
        if try !query.updates && !hidesDocuments && !index.isBuilt {
            throw HTTPFailure.notFound("The index has not been built; leave out `update`.")
        }
        let result = try search(index, query)
        var answer = LongText(site)
        answer.text.raw("{\"total_hits_relation\":\"EQUAL_TO\",\"total_hits\":")
        answer.text.number(UInt64(clamping: result.total))
        answer.text.raw(",\"ranges\":")
        answer.text.value(result.ranges.map(Self.counted) ?? .null)
        answer.text.raw(",\"counts\":")
        answer.text.value(result.counts.map(Self.counted) ?? .null)
        answer.text.raw(",\"hits\":")
        try append(result.hits, withDocuments: includesDocuments, to: &answer) {
            Self.shown($0, query.order)
        }
        answer.text.raw(",\"bookmark\":")
        answer.text.string(try result.end?.text ?? arguments.text("bookmark") ?? "nil")
        answer.text.raw(",\"update_latency\":")
        let (seconds, attoseconds) = (ContinuousClock.now - beginning).components
        answer.text.number(
            UInt64(clamping: max(1, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)))
        answer.text.raw("}")
        return try answer.response()
    }

    /// What a hit was sorted by, each value with its type; at last its ID, if it is not among them.
    private static func shown(_ hit: SearchHit, _ order: [SearchOrder]) -> JSONValue {
        var values = zip(hit.order, order).map { value, order -> JSONValue in
            guard let value else { return .null }
            if value.string != nil { return ["@type": "string", "value": value] }
            let type: JSONValue = order.key == .score ? "float" : "double"
            return ["@type": type, "value": .double(value.double ?? 0)]
        }
        if !order.contains(where: { $0.key == .document }) {
            values.append(["@type": "string", "value": .string(hit.id.text)])
        }
        return .array(values)
    }

    private func nouveauQuery(_ arguments: SearchArguments) throws -> SearchQuery {
        guard let text = try arguments.text("q") else {
            throw HTTPFailure.queryParse("q parameter is mandatory")
        }
        var query = SearchQuery(text)
        if let locale = try arguments.text("locale") {
            query.numbers = try Self.refusing { try SearchNumbers(locale: locale) }
        }
        query.limit = try Self.nouveauCount(arguments, "limit", Self.mostHits) ?? 25
        query.mostLabels = try Self.nouveauCount(arguments, "top_n", 1_000) ?? 10
        if let sort = try arguments.texts("sort"), !sort.isEmpty {
            guard sort.count <= Self.mostOrders else { throw SearchArguments.invalid("sort") }
            query.order = try sort.map { try SearchOrder($0, for: .nouveau) }
        }
        if let bookmark = try arguments.text("bookmark"), bookmark != "nil" {
            query.after = try Self.refusing { try SearchPosition(bookmark, query.order) }
        }
        query.updates = try arguments.flag("update") ?? true
        query.counts = try arguments.fields("counts")
        query.ranges = try nouveauRanges(arguments)
        return query
    }

    private static func nouveauCount(_ arguments: SearchArguments, _ name: String, _ most: Int)
        throws -> Int?
    {
        guard let value = try arguments.value(name) else { return nil }
        guard let number = value.int64 else {
            throw HTTPFailure.queryParse("\(name) parameter must be an integer")
        }
        guard number > 0 else {
            throw HTTPFailure.queryParse("\(name) parameter must be greater than zero")
        }
        guard number <= most else {
            throw HTTPFailure.badRequest("\(name) must be less than or equal to \(most)")
        }
        return Int(clamping: number)
    }

    /// `{"price": [{"label": "cheap", "min": 0, "max": 100, "max_inclusive": false}]}`
    private func nouveauRanges(_ arguments: SearchArguments) throws -> [SearchQuery.Range]? {
        guard let value = try arguments.value("ranges") else { return nil }
        guard let fields = value.object else { throw SearchArguments.invalid("ranges") }
        try SearchArguments.checkFields(fields.count, "ranges")
        var ranges: [SearchQuery.Range] = []
        for (field, list) in fields {
            guard let list = list.array else {
                throw HTTPFailure.queryParse("range values must be lists of objects")
            }
            try SearchArguments.checkRanges(ranges.count + list.count)
            for item in list {
                guard let item = item.object, let label = item["label"]?.string else {
                    throw HTTPFailure.queryParse(
                        "all values in ranges parameter must be objects with a label")
                }
                var range = SearchQuery.Range(field: field, label: label)
                for (name, isLower) in [("min", true), ("max", false)] {
                    let isIncluded = item["\(name)_inclusive"]?.bool ?? true
                    guard let end = item[name], end != .null else { continue }
                    guard let number = end.double else { throw SearchArguments.invalid("ranges") }
                    if isLower {
                        (range.lower, range.includesLower) = (number, isIncluded)
                    } else {
                        (range.upper, range.includesUpper) = (number, isIncluded)
                    }
                }
                ranges.append(range)
            }
        }
        return ranges
    }

    /// `GET /{db}/_design/{ddoc}/_nouveau_info/{index}`
    func nouveauInfo() throws -> ListenerResponse {
        let index = try searchIndex(.nouveau)
        let state = try index.statistics()
        return .json([
            "name": .string("_design/\(name(0))/\(name(1))"),
            "search_index": [
                "update_seq": JSONValue(state.sequence), "purge_seq": JSONValue(state.purge),
                // It counts what is hidden.
                "num_docs": hidesDocuments ? .null : JSONValue(state.documents),
                "disk_size": JSONValue(state.bytes),
                "signature": .string(HexText.text(Fingerprint.of(index.signature))),
            ],
        ])
    }

    /// `POST /_nouveau_analyze`
    func nouveauAnalyze() throws -> ListenerResponse {
        let body = try objectBody()
        guard let text = body["text"]?.string else {
            throw HTTPFailure.badRequest("text parameter must be a string")
        }
        guard let analyzer = body["analyzer"] else {
            throw HTTPFailure.badRequest("analyzer parameter is mandatory")
        }
        return try Self.analyzed(text, analyzer, .nouveau)
    }
}
