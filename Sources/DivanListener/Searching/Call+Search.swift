// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// `_search`: searches in the form of CouchDB's search service with Lucene 4 (dreyfus and clouseau).
extension Call {
    /// `GET`, `POST /{db}/_design/{ddoc}/_search/{index}`, also below `/{db}/_partition/{partition}`
    func search() throws -> ListenerResponse {
        let index = try searchIndex(.clouseau)
        let arguments = try searchArguments
        var query = try searchQuery(arguments, index)
        let includesDocuments = try arguments.flag("include_docs") ?? false
        query.fields = try arguments.texts("include_fields").map { NameSet($0) }
        let result = try search(index, query)
        var answer = LongText(site)
        if let groups = result.groups {
            let isOld = try arguments.value("group_field") == nil
            try append(groups, of: result, isOld, includesDocuments, to: &answer)
        } else {
            answer.text.raw("{\"total_rows\":")
            answer.text.number(UInt64(clamping: result.total))
            answer.text.raw(",\"bookmark\":")
            answer.text.string(try result.end?.text ?? arguments.text("bookmark") ?? "nil")
            answer.text.raw(",\"rows\":")
            try append(result.hits, includesDocuments, to: &answer)
            if let counts = result.counts {
                answer.text.raw(",\"counts\":")
                answer.text.value(Self.counted(counts))
            }
            if query.ranges != nil {
                answer.text.raw(",\"ranges\":")
                answer.text.value(try ranges(result, arguments))
            }
            answer.text.raw("}")
        }
        return try answer.response()
    }

    /// What was counted in ranges; a field without ranges is there, too.
    private func ranges(_ result: SearchResult, _ arguments: SearchArguments) throws -> JSONValue {
        var object = Self.counted(result.ranges ?? []).object ?? [:]
        for (field, _) in try arguments.value("ranges")?.object ?? [:] where object[field] == nil {
            object[field] = [:]
        }
        return .object(object)
    }

    private func append(
        _ groups: [SearchGroup], of result: SearchResult, _ isOld: Bool,
        _ includesDocuments: Bool, to answer: inout LongText
    ) throws {
        answer.text.raw(isOld ? "{\"total_hits\":" : "{\"total_rows\":")
        answer.text.number(UInt64(clamping: result.total))
        if isOld {
            answer.text.raw(",\"total_grouped_hits\":")
            answer.text.number(UInt64(clamping: result.total))
        }
        answer.text.raw(",\"groups\":[")
        for (place, group) in groups.enumerated() {
            if place > 0 { answer.text.raw(",\n") }
            answer.text.raw("{\"by\":")
            answer.text.value(group.value ?? .null)
            answer.text.raw(isOld ? ",\"total_hits\":" : ",\"total_rows\":")
            answer.text.number(UInt64(clamping: group.total))
            answer.text.raw(isOld ? ",\"hits\":" : ",\"rows\":")
            try append(group.hits, includesDocuments, to: &answer)
            answer.text.raw("}")
        }
        answer.text.raw("]}")
    }

    private func append(
        _ hits: [SearchHit], _ includesDocuments: Bool, to answer: inout LongText
    ) throws {
        try append(hits, withDocuments: includesDocuments, to: &answer) { hit in
            .array(hit.order.map { $0 ?? .null } + [JSONValue(hit.number)])
        }
    }

    // MARK: - What is asked

    private func searchQuery(_ arguments: SearchArguments, _ index: SearchIndex) throws
        -> SearchQuery
    {
        guard let text = try arguments.text("q", "query") else {
            throw HTTPFailure.queryParse("Query must include a 'q' or 'query' argument")
        }
        var query = SearchQuery(text)
        query.partition = try searchedPartition(index, arguments)
        let isInPartitions = try database.isPartitioned
        query.limit = try Self.bounded(
            arguments, "limit", 0...(isInPartitions ? Self.mostHitsInPartitions : Self.mostHits),
            or: isInPartitions ? Self.mostHitsInPartitions : 25)
        if query.partition != nil {
            let isOfOne = try Self.ofWholeIndexes.allSatisfy { try arguments.value($0) == nil }
            guard isOfOne else { throw Self.incompatibleWithPartition }
        }
        if let sort = try arguments.texts("sort"), !sort.isEmpty {
            query.order = try Self.order(sort, "sort")
        }
        if let bookmark = try arguments.text("bookmark"), bookmark != "nil" {
            query.after = try Self.refusing { try SearchPosition(bookmark, query.order) }
        }
        if let stale = try arguments.text("stale") {
            guard stale == "ok" else {
                throw HTTPFailure.queryParse("stale only available as stale=ok")
            }
            query.updates = false
        }
        query.counts = try arguments.fields("counts")
        query.ranges = try ranges(arguments)
        query.drilldown = try drilldown(arguments)
        query.grouping = try grouping(arguments)
        guard try arguments.value("highlight_fields") == nil else {
            throw HTTPFailure.badRequest(
                "Highlights are not served; leave out `highlight_fields`.")
        }
        return query
    }

    /// What is not asked of a partition.
    private static let ofWholeIndexes = [
        "counts", "ranges", "drilldown", "group_field", "group_by", "group_sort", "group_limit",
    ]

    private static let incompatibleWithPartition = HTTPFailure.badRequest(
        "`partition` and any of `drilldown`, `ranges`, `group_field`, `group_sort`, `group_limit` or "
            + "`group_by` are incompatible")

    private static func order(_ texts: [String], _ name: String) throws -> [SearchOrder] {
        guard texts.count <= mostOrders else { throw SearchArguments.invalid(name) }
        return try texts.map { try SearchOrder($0, for: .clouseau) }
    }

    /// The most parts that an order has.
    static let mostOrders = 32
    /// The most hits of a page, and the most groups.
    static let mostHits = 200
    /// The most hits in a partitioned database, and how many there are unless the client says so.
    private static let mostHitsInPartitions = 2_000

    private static func bounded(
        _ arguments: SearchArguments, _ name: String, _ range: ClosedRange<Int>, or standard: Int
    ) throws -> Int {
        guard let number = try arguments.integer(name) else { return standard }
        guard number <= range.upperBound else {
            throw HTTPFailure.queryParse(
                "Value for \(name) is too large, must not exceed \(range.upperBound)")
        }
        guard number >= range.lowerBound else {
            throw HTTPFailure.queryParse(
                range.lowerBound == 0
                    ? "\(name) must be greater than or equal to zero"
                    : "\(name) must be greater than zero")
        }
        return number
    }

    /// `{"price": {"cheap": "[0 TO 100]"}}`
    private func ranges(_ arguments: SearchArguments) throws -> [SearchQuery.Range]? {
        guard let value = try arguments.value("ranges") else { return nil }
        guard let fields = value.object else { throw SearchArguments.invalid("ranges") }
        try SearchArguments.checkFields(fields.count, "ranges")
        var ranges: [SearchQuery.Range] = []
        for (field, labels) in fields {
            guard let labels = labels.object else { throw SearchArguments.invalid("ranges") }
            try SearchArguments.checkRanges(ranges.count + labels.count)
            for (label, range) in labels {
                guard let text = range.string else { throw SearchArguments.invalid("ranges") }
                ranges.append(
                    try Self.refusing {
                        try SearchQuery.Range(field: field, label: label, text: text)
                    })
            }
        }
        return ranges
    }

    /// `["state", "new", "old"]`, or a list of such lists; in a query there may be several.
    private func drilldown(_ arguments: SearchArguments) throws -> [(
        field: String, values: [String]
    )] {
        var given: [JSONValue] = []
        if request.head.method == "POST" {
            if let value = try arguments.value("drilldown") { given = [value] }
        } else {
            given = try RequestTarget.values(of: "drilldown", in: request.head.target).map { text in
                guard let value = try? JSONParser.parse(text) else {
                    throw SearchArguments.invalid("drilldown")
                }
                return value
            }
        }
        let lists = try given.flatMap { value -> [[JSONValue]] in
            guard let items = value.array else { throw SearchArguments.invalid("drilldown") }
            guard items.first?.array != nil else { return [items] }
            return try items.map { item in
                guard let list = item.array else { throw SearchArguments.invalid("drilldown") }
                return list
            }
        }
        // Of several lists of one field a document has a value of any.
        var merged: [(field: String, values: [String])] = []
        var places: NameMap<Int> = [:]
        for list in lists {
            guard let field = list.first?.string else { throw SearchArguments.invalid("drilldown") }
            let values = list.dropFirst().map { $0.string ?? $0.description }
            if let place = places[field] {
                merged[place].values += values
            } else {
                places[field] = merged.count
                merged.append((field: field, values: values))
            }
        }
        try SearchArguments.checkFields(merged.count, "drilldown")
        return merged
    }

    private func grouping(_ arguments: SearchArguments) throws -> SearchQuery.Grouping? {
        guard let field = try arguments.text("group_field", "group_by") else { return nil }
        let limit = try Self.bounded(arguments, "group_limit", 1...Self.mostHits, or: 10)
        let order = try arguments.texts("group_sort").map { try Self.order($0, "group_sort") }
        return SearchQuery.Grouping(
            field: try SearchOrder.field(field).name, limit: limit, order: order ?? [.score])
    }

    // MARK: - Information

    /// `GET /{db}/_design/{ddoc}/_search_info/{index}`
    func searchInfo() throws -> ListenerResponse {
        let index = try searchIndex(.clouseau, takesFields: true)
        let state = try index.statistics()
        let last = try database.read { try $0.lastSequence }
        return .json([
            "name": .string("_design/\(name(0))/\(name(1))"),
            "search_index": [
                "pending_seq": JSONValue(last), "doc_del_count": 0,
                // It counts what is hidden.
                "doc_count": hidesDocuments ? .null : JSONValue(state.documents),
                "disk_size": JSONValue(state.bytes), "committed_seq": JSONValue(state.sequence),
            ],
        ])
    }

    /// `GET /{db}/_design/{ddoc}/_search_disk_size/{index}`
    func searchDiskSize() throws -> ListenerResponse {
        let bytes = try searchIndex(.clouseau, takesFields: true).statistics().bytes
        return .json([
            "name": .string("_design/\(name(0))/\(name(1))"),
            "search_index": ["disk_size": JSONValue(bytes)],
        ])
    }

    /// `GET`, `POST /_search_analyze`
    func searchAnalyze() throws -> ListenerResponse {
        var (analyzer, text): (JSONValue?, JSONValue?)
        if request.head.method == "POST" {
            let body = try objectBody()
            (analyzer, text) = (body["analyzer"], body["text"])
        } else {
            (analyzer, text) = (
                query["analyzer"].map { .string($0) }, query["text"].map { .string($0) }
            )
        }
        guard let analyzer else { throw HTTPFailure.badRequest("analyzer parameter is mandatory") }
        guard analyzer.string != nil || !(analyzer.object?.isEmpty ?? true) else {
            throw HTTPFailure.badRequest("analyzer parameter must be a string or an object")
        }
        guard let text else { throw HTTPFailure.badRequest("text parameter is mandatory") }
        guard let text = text.string else {
            throw HTTPFailure.badRequest("text parameter must be a string")
        }
        return try Self.analyzed(text, analyzer, .clouseau)
    }

    /// The terms of a text.
    static func analyzed(_ text: String, _ analyzer: JSONValue, _ service: SearchService) throws
        -> ListenerResponse
    {
        let tokens = try refusing {
            try SearchAnalyzer(named: analyzer, for: service).tokens(of: text)
        }
        return .json(["tokens": .array(tokens.map { .string($0.term) })])
    }
}
