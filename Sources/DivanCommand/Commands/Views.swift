// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

extension Command {
    /// `divan view`: queries of a view.
    static let view = Command(
        CommandSchema(
            name: "view",
            summary: "Query a view, one row a line.",
            discussion: """
                VIEW is a view of a design document, as design/view, or one that --define has made. \
                A view that was defined before needs no --define. \(ViewDefinition.help) Keys in \
                options are JSON. The index is kept in the database and brought up to date first; in a \
                database that you may not write to, the documents are scanned.
                """,
            arguments: [
                .database,
                ArgumentSchema(name: "VIEW", summary: "Name of a view."),
            ],
            options: [
                .value(
                    "define", "d", "FILE", "Define the view by this JSON file; - is the input.",
                    completion: .file),
                .value("key", "k", "JSON", "Only rows with this key.", repeats: true),
                .value("start", nil, "JSON", "Begin at this key."),
                .value("end", nil, "JSON", "End at this key, which is included."),
                .value("prefix", nil, "JSON", "Only keys that begin with this text or array."),
                .flag("descending", nil, "Go backwards; --start is then the highest key."),
                .value("limit", "n", "COUNT", "Stop after so many rows."),
                .value("skip", nil, "COUNT", "Leave out so many rows at the beginning."),
                .value("group-level", "g", "LEVEL", "Group by so many items of array keys."),
                .flag("group", nil, "Group by equal keys."),
                .flag("rows", "r", "Print the rows, though the view has a reduce."),
                .flag("include-docs", nil, "Print the document with each row."),
                .flag("json", nil, "Print one JSON object a line."),
                .flag("live", "f", "Print the rows again whenever they change, until Control-C."),
                .flag("statistics", nil, "Say where the time of indexing went."),
            ] + JavaScriptOptions.limits,
            examples: [
                "divan view shop.divan byDate --define by-date.json --start '[2026]' -n 20",
                "divan view shop.divan byDate -g 1",
                "divan view shop.divan people/by_name --key '\"Ann\"'",
            ]),
        waiting: runView)

    private static func runView(_ invocation: Invocation) async throws {
        let database = try invocation.openForIndexing()
        defer { database.close() }
        let view = try invocation.definedView(in: database)
        let query = try invocation.viewQuery(of: view)
        if invocation.arguments.flag("live") {
            try await invocation.follow(query.live()) { result in
                for row in result { try invocation.show(row) }
            }
            return
        }
        let result = try query.run()
        for row in result { try invocation.show(row) }
        invocation.remarkOnScan(result.isScanned)
        for failure in view.failures.prefix(10) {
            invocation.output.complain("\(failure.documentID): \(failure.reason)")
        }
        if invocation.arguments.flag("statistics") {
            invocation.output.remark("\(view.statistics)")
        }
    }
}

extension Invocation {
    /// Opens a database so that its indexes can be brought up to date, or, where that must not be,
    /// so that they can be scanned.
    func openForIndexing() throws -> Database {
        do { return try openDatabase(forWriting: true) } catch let error as DatabaseError
            where error.code == .readOnly || error.code == .io
        {
            return try openDatabase()
        }
    }

    func remarkOnScan(_ isScanned: Bool) {
        guard isScanned else { return }
        output.remark(
            "The index is not up to date and must not be written: documents were scanned.")
    }

    /// Prints results until Control-C, an empty line after each.
    func follow<Rows>(
        _ live: LiveQuery<Rows>, _ show: @escaping @Sendable (Rows) throws -> Void
    ) async throws {
        let output = output
        let task = Task {
            for try await result in live {
                try show(result)
                try output.line("")
                try output.out.flush()
            }
        }
        interruption.onRequest { task.cancel() }
        try await task.value
        try interruption.check()
    }

    fileprivate func definedView(in database: Database) throws -> DatabaseView {
        let name = try arguments.argument("VIEW")
        let view = database.view(named: name)
        if let file = arguments.string("define") {
            let text = try InputSource(path: file, interruption: interruption).readAll()
            try ViewDefinition(JSONInput.object(text, name: file)).apply(to: view)
            return view
        }
        let stored = try database.indexReports().first {
            $0.kind == .view && $0.name.hasSameBytes(as: name)
        }
        if let view = try designView(name, in: database, stored: stored) { return view }
        guard let stored else {
            throw CommandFailure(
                .notFound,
                "There is no view \"\(name)\"; --define makes one, and \"divan design list\" shows "
                    + "design documents.")
        }
        guard let definition = ViewDefinition(version: stored.version) else {
            throw CommandFailure(
                .badInput,
                "The view \"\(name)\" was made by an app, whose functions are not here; --define "
                    + "another name.")
        }
        definition.apply(to: view)
        return view
    }

    /// A view of a design document; nil when no design document has it, or an app has one of that name.
    private func designView(
        _ name: String, in database: Database, stored: IndexReport?
    ) throws -> DatabaseView? {
        if let stored, !DesignDocuments.hasMade(stored.version) { return nil }
        guard let names = DesignItem.names(name),
            let design = try database.document(withID: DocumentID("_design/\(names.design)")),
            design["views"][names.view]["map"].string != nil
        else { return nil }
        try enableScripts(in: database)
        return try database.designDocuments.view(name)
    }

    fileprivate func viewQuery(of view: DatabaseView) throws -> ViewQuery {
        let keys = try arguments.strings("key").map { try key($0, "key") }
        var query = keys.isEmpty ? view.query() : view.query(.keys(keys))
        query.startKey = try arguments.string("start").map { try key($0, "start") }
        query.endKey = try arguments.string("end").map { try key($0, "end") }
        if let prefix = try arguments.string("prefix").map({ try key($0, "prefix") }) {
            (query.startKey, query.endKey) = (prefix, prefix)
            query.prefixMatchLevel = 1
        }
        query.descending = arguments.flag("descending")
        query.limit = try arguments.count("limit")
        query.skip = try arguments.count("skip") ?? 0
        if arguments.flag("group") { query.grouping = .exact }
        if let level = try arguments.count("group-level") { query.grouping = .level(level) }
        query.mapOnly = arguments.flag("rows")
        query.includeDocuments = arguments.flag("include-docs")
        return query
    }

    private func key(_ text: String, _ option: String) throws -> JSONValue {
        do { return try JSONParser.parse(text) } catch {
            throw UsageError(
                "--\(option) takes JSON; text needs quotation marks, as in --\(option) '\"text\"'.")
        }
    }

    fileprivate func show(_ row: QueryRow) throws {
        guard arguments.flag("json") else {
            var parts = [JSONWriter.string(row.key)]
            if let value = row.value { parts.append(JSONWriter.string(value)) }
            if let id = row.documentID { parts.append(PrintableText.escaping(id.text)) }
            try output.line(parts.joined(separator: "  "))
            if let document = row.includedDocument {
                try output.json(DocumentText.json(document), pretty: false)
            }
            return
        }
        var text = Array("{".utf8)
        DocumentText.append("key", row.key, to: &text)
        if let id = row.documentID { DocumentText.append("id", .string(id.text), to: &text) }
        if let value = row.value { DocumentText.append("value", value, to: &text) }
        if let document = row.includedDocument {
            text += Array(",\"doc\":".utf8) + DocumentText.json(document)
        }
        text.append(JSONByte.closeBrace)
        try output.json(text, pretty: false)
    }
}
