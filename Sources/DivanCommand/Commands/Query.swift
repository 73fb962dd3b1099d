// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan query`: documents by selector.
    static let query = Command(
        CommandSchema(
            name: "query",
            summary: "Find documents by a selector.",
            discussion: """
                QUERY is a selector of CouchDB's Mango, such as {"type": "post", "stars": {"$gt": 3}}, \
                or an object as for _find, with "selector" and perhaps "fields", "sort", "limit", \
                "skip", "bookmark" and "use_index"; options come before what it says. Without QUERY \
                it is read from standard input.
                One JSON object a line is printed, or with --table the fields in columns. --explain \
                tells what was read instead. The database is opened for reading only, and an index that \
                is behind is left alone; with --update it is brought up to date first.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "QUERY",
                    summary: "A selector or a query in JSON, or - for standard input.",
                    count: .optional),
            ],
            options: [
                .value("fields", "f", "PATH,PATH", "Print these properties only."),
                .value("sort", "s", "PATH,-PATH", "Sort by these; a minus turns the order around."),
                .value("limit", "n", "COUNT", "Stop after so many."),
                .value("skip", nil, "COUNT", "Leave out so many at the beginning."),
                .value("bookmark", nil, "TEXT", "Go on where a page ended."),
                .value("index", nil, "NAME", "Use this index."),
                .flag("table", "t", "Print columns; they need --fields or \"fields\"."),
                .flag(
                    "update", nil, "Bring indexes up to date first, which writes to the database."),
                .flag("explain", nil, "Tell what is read, and how many rows."),
            ],
            examples: [
                #"divan query notes.divan '{"done": false}' --sort due,-stars --limit 10"#,
                #"divan query notes.divan '{"tags": {"$all": ["home"]}}' --table -f _id,title"#,
            ])
    ) { invocation in
        let request = try QueryRequest(invocation)
        let database = try invocation.openDatabase(
            forWriting: invocation.arguments.flag("update"))
        defer { database.close() }
        if invocation.arguments.flag("explain") {
            for line in try database.explain(request.query).text.split(separator: "\n") {
                try invocation.output.line(PrintableText.escaping(String(line)))
            }
            return
        }
        let found = try database.find(request.query)
        if invocation.arguments.flag("table") {
            try request.printTable(found, invocation.output)
        } else {
            for row in found {
                try invocation.interruption.check()
                let text = Array(JSONValue.object(row.properties).description.utf8)
                try invocation.output.json(text, pretty: false)
            }
        }
        if let warning = found.warning { invocation.output.remark(warning) }
        if request.query.limit != nil, let bookmark = found.bookmark {
            invocation.output.remark("Go on with --bookmark \(bookmark)")
        }
    }
}

/// What `divan query` was asked.
private struct QueryRequest {
    private(set) var query: FindQuery

    init(_ invocation: Invocation) throws {
        let arguments = invocation.arguments
        let argument = arguments.optionalArgument("QUERY")
        let text =
            if let argument, argument != "-" {
                Array(argument.utf8)
            } else {
                try InputSource(path: "-", interruption: invocation.interruption).readAll()
            }
        let object = try JSONInput.object(text, name: argument == nil ? "standard input" : "QUERY")
        query = try Self.query(object)
        if let fields = Self.list(arguments.string("fields")) { query.fields = fields }
        if let sort = Self.list(arguments.string("sort")) {
            query.sort = sort.map { path in
                path.hasPrefix("-")
                    ? .descending(String(path.dropFirst())) : .ascending(path)
            }
        }
        if let limit = try arguments.count("limit") { query.limit = limit }
        if let skip = try arguments.count("skip") { query.skip = skip }
        if let bookmark = arguments.string("bookmark") { query.bookmark = bookmark }
        if let index = arguments.string("index") { query.useIndex = index }
        if arguments.flag("table"), query.fields == nil {
            throw UsageError("--table needs --fields, to know its columns.")
        }
    }

    private static func list(_ text: String?) -> [String]? {
        text.map { $0.split(separator: ",").map { String($0) } }
    }

    /// A selector by itself, or what stands around one.
    private static func query(_ object: JSONObject) throws -> FindQuery {
        guard let selector = object["selector"]?.object else {
            return FindQuery(try Selector(json: .object(object)))
        }
        var query = FindQuery(try Selector(json: .object(selector)))
        for (key, value) in object {
            switch key {
            case "selector": break
            case "fields": query.fields = value.array?.compactMap(\.string)
            case "sort": query.sort = try (value.array ?? [value]).map { try SortKey(json: $0) }
            case "limit": query.limit = value.int64.map { Int($0) }
            case "skip": query.skip = value.int64.map { Int($0) } ?? 0
            case "bookmark": query.bookmark = value.string
            case "use_index": query.useIndex = value.string
            default:
                throw CommandFailure(
                    .badInput, "\"\(PrintableText.escaping(key))\" is no part of a query.")
            }
        }
        return query
    }

    /// Columns of the fields; texts as they are, other values as JSON.
    func printTable(_ found: FindResult, _ output: Output) throws {
        let fields = query.fields ?? []
        var rows = [fields]
        for row in found {
            rows.append(fields.map { field in Self.cell(row.properties, field) })
        }
        var widths = fields.map { _ in 0 }
        for row in rows {
            for (i, cell) in row.enumerated() { widths[i] = max(widths[i], cell.count) }
        }
        for row in rows {
            let cells = row.enumerated().map { i, cell in
                i == row.count - 1
                    ? cell : cell + String(repeating: " ", count: widths[i] - cell.count)
            }
            try output.line(cells.joined(separator: "  "))
        }
    }

    private static func cell(_ properties: JSONObject, _ field: String) -> String {
        var value: JSONValue? = .object(properties)
        for step in field.split(separator: ".") { value = value?[String(step)] }
        guard let value else { return "-" }
        return PrintableText.escaping(value.string ?? value.description)
    }
}
