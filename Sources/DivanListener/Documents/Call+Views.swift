// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanJSON
internal import DivanModel
internal import DivanQuery

// Views of design documents: those whose functions an app has registered under `design/view`.
extension Call {
    /// `GET`, `POST /{db}/_design/{ddoc}/_view/{name}`
    func queryView() throws -> ListenerResponse {
        var parameters = query
        // As in CouchDB, the query counts where both say something.
        let options = try bodyOptions()
        guard options["queries"] == nil else {
            throw HTTPFailure.badRequest(
                "The `queries` parameter is no longer supported at this endpoint")
        }
        for (key, value) in options where !parameters.names(key) {
            parameters[key] = Self.parameter(key, value)
        }
        if let words = parameters["full_text"] { return try searchText(words, parameters) }
        let view = try view(name(0), name(1))
        // An index that is not brought up to date tells less than the database.
        let isCurrent = try Self.updateMode(parameters) == .before
        let version = "\(view.version ?? "") \(view.hasReduce)"
        return try tagged(isCurrent ? listTag(version) : nil) {
            .json(steps: try listing(of: view, parameters))
        }
    }

    /// `POST /{db}/_design/{ddoc}/_view/{name}/queries`
    func queryViewMany() throws -> ListenerResponse {
        let view = try view(name(0), name(1))
        let all = try queriesInBody().map { body in
            var parameters = query
            for (key, value) in body { parameters[key] = Self.parameter(key, value) }
            // What is wrong with one of them is told before the first is answered.
            _ = try question(to: view, parameters)
            return parameters
        }
        // Each is asked when its turn comes, so that the rows of one alone are in memory.
        return .json(
            steps: ListingSequence(count: all.count) { try listing(of: view, all[$0]) })
    }

    /// Answers each of the body's `queries`, in a list of results.
    func answerQueries(
        _ append: (JSONObject, inout LongText) throws -> Void
    ) throws -> ListenerResponse {
        var answer = LongText(site)
        answer.text.raw("{\"results\":[\n")
        for (index, options) in try queriesInBody().enumerated() {
            if index > 0 { answer.text.raw(",\n") }
            try append(options, &answer)
        }
        answer.text.raw("\n]}")
        return try answer.response()
    }

    /// A parameter in a body is JSON already; keys are read as JSON from a query.
    static func parameter(_ key: String, _ value: JSONValue) -> String {
        guard let text = value.string else { return value.description }
        return ["key", "keys", "startkey", "start_key", "endkey", "end_key"].contains(key)
            ? JSONValue.string(text).description : text
    }

    /// A view by its names: the app's, or what the design document says now.
    func view(_ design: String, _ name: String) throws -> DatabaseView {
        let database = try database
        let full = DesignItem.name(design, name)
        if let view = try database.existingView(named: full), view.isDefined,
            view.groupMapper == nil
        {
            return view
        }
        let document = try self.design(design)
        guard document["views"][name]["map"].string != nil, name != "lib",
            let view = try database.designDocuments.view(name, of: document)
        else { throw HTTPFailure.notFound("missing_named_view") }
        return view
    }

    // MARK: - Rows

    private func isReduced(_ view: DatabaseView, _ parameters: QueryParameters) throws -> Bool {
        try view.hasReduce && parameters["bbox"] == nil && parameters.flag("reduce", default: true)
    }

    /// What parameters ask of a view, and what of it is shown.
    ///
    /// - Parameters:
    ///   - view: The view.
    ///   - parameters: The parameters. All of them are read here, so none is found to be wrong once an answer has begun.
    /// - Returns: The query, and how its rows are written.
    /// - Throws: `HTTPFailure` 400 where a parameter is wrong, 403 where the user may not ask this.
    private func question(
        to view: DatabaseView, _ parameters: QueryParameters
    ) throws -> (query: ViewQuery, display: ViewDisplay, isReduced: Bool) {
        let isReduced = try isReduced(view, parameters)
        var query = try Self.query(view, parameters, isReduced: isReduced)
        query.partition = try partition(parameters)
        try Self.check(view, partition: query.partition)
        query.limit = try limit(query.limit, inPartition: view.isPartitioned)
        if isReduced, hidesDocuments {
            throw HTTPFailure.forbidden(
                "Reduced views are not served: they show what is not yours.")
        }
        return (query, try ViewDisplay(parameters, site), isReduced)
    }

    /// Asks a view, and prepares to write what it answers.
    func listing(of view: DatabaseView, _ parameters: QueryParameters) throws -> ViewListing {
        let question = try question(to: view, parameters)
        var query = question.query
        query.valueOfFailure = { ["error": "builtin_reduce_error", "reason": .string($0)] }
        let (skip, limit) = (query.skip, query.limit)
        // Rows that are left out do not count, so they are passed over and counted when they are written.
        let isNarrowed = hidesDocuments || question.display.box != nil
        if isNarrowed { (query.skip, query.limit) = (0, nil) }
        if query.updateMode == .before { try checkDisk(for: view) }
        let result = try rows(of: query)
        var listing = ViewListing(
            self, result, question.display, isReduced: question.isReduced)
        if isNarrowed { (listing.toSkip, listing.left) = (skip, limit ?? .max) }
        return listing
    }

    /// Runs a query, and reserves memory for its rows while they are found: of one key that is asked for many times there may be
    /// any number. They stay until the client has the last one.
    ///
    /// - Throws: `HTTPFailure` 413 where they could never fit, 503 when there was no room in time.
    private func rows(of query: ViewQuery) throws -> QueryResult {
        let (memory, budget) = (memory, site.memory)
        @Sendable func grow(to bytes: Int) throws {
            try memory.grow(to: bytes, in: budget, orThrow: .rowsTooLarge)
        }
        var query = query
        query.willHold = grow
        while true {
            do {
                let result = try query.run()
                try grow(to: result.heldBytes)
                memory.shrink(to: result.heldBytes)
                return result
            } catch let missing as RequestMemory.NoRoom {
                try reserve(missing.bytes)
            }
        }
    }

    /// Refuses to bring an index up to date where more of the disk is used than is configured.
    private func checkDisk(for view: DatabaseView) throws {
        guard let most = site.configuration.settings.fullestDiskForViews, site.disk.isOver(most),
            try view.lastSequenceIndexed < database.lastSequence
        else { return }
        throw HTTPFailure(507, "insufficient_storage", "not enough room to update index")
    }

    /// When the index is brought up to date: `update` as in CouchDB 3, or `stale` as before it, whose
    /// `false` is Couchbase Lite's.
    static func updateMode(_ given: QueryParameters) throws -> ViewQuery.UpdateMode {
        switch (given["update"], given["stale"]) {
        case (nil, nil), ("true", _), (nil, "false"): return .before
        case ("false", _), (nil, "ok"): return .never
        case ("lazy", _), (nil, "update_after"): return .after
        case (let update, _):
            throw HTTPFailure.queryParse(
                "Invalid value for `\(update == nil ? "stale" : "update")`.")
        }
    }

    /// Refuses a range whose end stands before its beginning, as CouchDB does: it is most often a mistake.
    private static func checkRange(_ query: ViewQuery, _ collation: Collation) throws {
        guard let start = query.startKey, let end = query.endKey,
            DesignDocuments.compare(start, end, by: collation) * (query.descending ? -1 : 1) > 0
        else { return }
        throw HTTPFailure.queryParse(
            "No rows can match your key range, reverse your start_key and end_key or set "
                + "descending=\(!query.descending)")
    }

    private static func query(_ view: DatabaseView, _ given: QueryParameters, isReduced: Bool)
        throws
        -> ViewQuery
    {
        var query = view.query()
        query.includeOffset = !isReduced
        query.startKey = try given.json("startkey", "start_key")
        query.endKey = try given.json("endkey", "end_key")
        query.startKeyDocumentID = given.text("startkey_docid", "start_key_doc_id").map {
            DocumentID($0)
        }
        query.endKeyDocumentID = given.text("endkey_docid", "end_key_doc_id").map { DocumentID($0) }
        if let key = try given.json("key") { query.keys = [key] }
        if let keys = try given.json("keys") {
            guard let list = keys.array else {
                throw HTTPFailure.badRequest("`keys` member must be an array.")
            }
            query.keys = list
        }
        if query.keys != nil, given["keys"] != nil,
            query.startKey != nil || query.endKey != nil || given["key"] != nil,
            try given["key"] == nil || given.json("key") != given.json("keys")?[0]
                || given.json("keys")?.array?.count != 1
        {
            throw HTTPFailure.keysAndRange
        }
        query.inclusiveEnd = try given.flag("inclusive_end", default: true)
        query.inclusiveStart = try given.flag("inclusive_start", default: true)
        query.prefixMatchLevel = try given.count("prefix_match_level") ?? 0
        query.descending = try given.flag("descending")
        if query.descending { query.keys?.reverse() }
        try Self.checkRange(query, view.collation)
        query.skip = try given.count("skip") ?? 0
        query.limit = try given.count("limit")
        query.mapOnly = !isReduced
        query.updateMode = try Self.updateMode(given)
        for name in ["stable", "sorted"] { _ = try given.flag(name) }
        let level = try given.count("group_level") ?? 0
        let isGrouped = try given.flag("group") || level > 0
        if isGrouped, !isReduced {
            throw HTTPFailure.queryParse("Invalid use of grouping on a map view.")
        }
        if try !view.hasReduce && given.flag("reduce") {
            throw HTTPFailure.queryParse("Reduce is invalid for map-only views.")
        }
        if isReduced, try given.flag("include_docs") {
            throw HTTPFailure.queryParse("`include_docs` is invalid for reduce")
        }
        if isReduced, query.keys != nil, given["keys"] != nil, !isGrouped {
            throw HTTPFailure.queryParse("Multi-key fetches for reduce views must use `group=true`")
        }
        if isGrouped { query.grouping = level > 0 ? .level(level) : .exact }
        return query
    }
}
