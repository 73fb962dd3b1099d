// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// What `divan query` was asked.
struct QueryRequest {
    /// A selector, or a query of expressions in its JSON form.
    enum Question {
        case selector(FindQuery)
        case expressions(SelectQuery)
    }

    let question: Question

    /// The parts of a query of expressions.
    private static let parts: NameSet = [
        "WHAT", "DISTINCT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET",
    ]

    init(_ invocation: Invocation, _ database: Database) throws {
        let arguments = invocation.arguments
        let argument = arguments.optionalArgument("QUERY")
        let text =
            if let argument, argument != "-" {
                Array(argument.utf8)
            } else {
                try InputSource(path: "-", interruption: invocation.interruption).readAll()
            }
        let object = try JSONInput.object(text, name: argument == nil ? "standard input" : "QUERY")
        if !object.isEmpty, object.keys.allSatisfy({ Self.parts.contains($0) }) {
            for option in ["fields", "sort", "limit", "skip", "bookmark", "index"]
            where arguments.string(option) != nil {
                throw UsageError(
                    "--\(option) is for selectors; a query of expressions says it itself.")
            }
            question = .expressions(
                try SelectQuery(json: .object(object), from: .database(database)))
            return
        }
        var query = try Self.query(object, database)
        if let fields = Self.list(arguments.string("fields")) { query.fields = fields }
        if let sort = Self.list(arguments.string("sort")) {
            query.sort = sort.map { path in
                path.hasBytePrefix("-")
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
        question = .selector(query)
    }

    private static func list(_ text: String?) -> [String]? {
        text.map { $0.split(separator: ",").map { String($0) } }
    }

    /// A selector by itself, or what stands around one.
    private static func query(_ object: JSONObject, _ database: Database) throws -> FindQuery {
        guard let selector = object["selector"]?.object else {
            return try database.find(selector: .object(object))
        }
        var query = try database.find(selector: .object(selector))
        for (key, value) in object {
            switch key {
            case "selector": break
            case "fields": query.fields = value.array?.compactMap(\.string)
            case "sort": query.sort = try (value.array ?? [value]).map { try SortKey(json: $0) }
            case "limit": query.limit = value.int64.map { Int(clamping: $0) }
            case "skip": query.skip = value.int64.map { Int(clamping: $0) } ?? 0
            case "bookmark": query.bookmark = value.string
            case "use_index": query.useIndex = value.string
            default:
                throw CommandFailure(
                    .badInput, "\"\(PrintableText.escaping(key))\" is no part of a query.")
            }
        }
        return query
    }

    // MARK: - Asking

    func explanation() throws -> String {
        switch question {
        case .selector(let query): try query.explain().text
        case .expressions(let query): try query.explain().text
        }
    }

    /// Runs the query once and prints what it finds.
    func run(_ invocation: Invocation) throws {
        let output = invocation.output
        var (rows, remarks): (QueryRows, [String])
        switch question {
        case .selector(let query):
            let found = try query.run()
            (rows, remarks) = (QueryRows(found, fields: query.fields), [])
            if let warning = found.warning { remarks.append(warning) }
            if query.limit != nil, let bookmark = found.bookmark {
                remarks.append("Go on with --bookmark \(bookmark)")
            }
        case .expressions(let query):
            (rows, remarks) = (QueryRows(try query.run()), [])
        }
        if invocation.arguments.flag("table") {
            try rows.printTable(output)
        } else {
            try rows.printLines(output, invocation.interruption)
        }
        for remark in remarks { output.remark(remark) }
    }
}

/// Rows to be printed.
struct QueryRows {
    private let columns: [String]
    private let rows: [JSONObject]
    /// Whether columns are paths into the rows.
    private let hasPaths: Bool

    /// Takes the documents that a selector found.
    init(_ found: FindResult, fields: [String]?) {
        (columns, rows, hasPaths) = (fields ?? [], found.map(\.properties), true)
    }

    /// Takes the rows of a query of expressions.
    init(_ found: SelectRows) {
        (columns, rows, hasPaths) = (found.keys, found.map(\.properties), false)
    }

    /// A JSON object a line.
    func printLines(_ output: Output, _ interruption: Interruption) throws {
        for row in rows {
            try interruption.check()
            try output.json(Array(JSONValue.object(row).description.utf8), pretty: false)
        }
    }

    /// All rows as an array in one line.
    func printLine(_ output: Output) throws {
        let array = JSONValue.array(rows.map { .object($0) })
        try output.json(Array(array.description.utf8), pretty: false)
    }

    /// Columns of the fields; texts as they are, other values as JSON.
    func printTable(_ output: Output) throws {
        var lines = [columns]
        for row in rows { lines.append(columns.map { cell(row, $0) }) }
        var widths = columns.map { _ in 0 }
        for line in lines {
            for (i, cell) in line.enumerated() { widths[i] = max(widths[i], cell.count) }
        }
        for line in lines {
            let cells = line.enumerated().map { i, cell in
                i == line.count - 1
                    ? cell : cell + String(repeating: " ", count: widths[i] - cell.count)
            }
            try output.line(cells.joined(separator: "  "))
        }
    }

    private func cell(_ row: JSONObject, _ column: String) -> String {
        var value: JSONValue? = .object(row)
        let steps = hasPaths ? column.split(separator: ".").map(String.init) : [column]
        for step in steps { value = value?[step] }
        guard let value else { return "-" }
        return PrintableText.escaping(value.string ?? value.description)
    }
}
