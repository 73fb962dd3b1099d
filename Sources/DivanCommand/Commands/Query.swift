// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan query`: documents by selector.
    static let query = Command(
        CommandSchema(
            name: "query",
            summary: "Find documents by a selector or a query of expressions.",
            discussion: """
                QUERY is a selector of CouchDB's Mango, such as {"type": "post", "stars": {"$gt": 3}}, \
                or an object as for _find, with "selector" and perhaps "fields", "sort", "limit", \
                "skip", "bookmark" and "use_index"; options come before what it says. Without QUERY \
                it is read from standard input. An object with WHAT, WHERE, FROM and so on is a query of \
                expressions in the JSON form of Couchbase Lite 2, and says all of it.
                One JSON object a line is printed, or with --table the fields in columns. --explain \
                tells what was read instead. --live goes on: each time the result changes, all of it is printed \
                as an array in one line, or as a table. The database is opened for reading only, and an outdated \
                index is left alone; with --update it is brought up to date first.
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
                .flag("table", "t", "Print columns; a selector needs --fields or \"fields\"."),
                .flag(
                    "update", nil, "Bring indexes up to date first, which writes to the database."),
                .flag("explain", nil, "Tell what is read, and how many rows."),
                .flag("live", "l", "Go on as the result changes, by any process, until Control-C."),
            ],
            examples: [
                #"divan query notes.divan '{"done": false}' --sort due,-stars --limit 10"#,
                #"divan query notes.divan '{"tags": {"$all": ["home"]}}' --table -f _id,title"#,
                #"divan query notes.divan '{"WHAT": [[".title"]], "WHERE": [">", [".stars"], 3]}'"#,
            ]), waiting: runQuery)

    private static func runQuery(_ invocation: Invocation) async throws {
        let arguments = invocation.arguments
        let database = try invocation.openDatabase(forWriting: arguments.flag("update"))
        defer { database.close() }
        let request = try QueryRequest(invocation, database)
        if arguments.flag("explain") {
            for line in try request.explanation().split(separator: "\n") {
                try invocation.output.line(PrintableText.escaping(String(line)))
            }
        } else if arguments.flag("live") {
            try await follow(request, invocation)
        } else {
            try request.run(invocation)
        }
    }

    /// Prints each result until it is interrupted.
    private static func follow(_ request: QueryRequest, _ invocation: Invocation) async throws {
        let output = invocation.output
        let table = invocation.arguments.flag("table")
        let task = Task {
            switch request.question {
            case .selector(let query):
                for try await found in query.live() {
                    let rows = QueryRows(found, fields: query.fields)
                    try table ? rows.printTable(output) : rows.printLine(output)
                    try output.out.flush()
                }
            case .expressions(let query):
                for try await found in query.live() {
                    let rows = QueryRows(found)
                    try table ? rows.printTable(output) : rows.printLine(output)
                    try output.out.flush()
                }
            }
        }
        invocation.interruption.onRequest { task.cancel() }
        try await task.value
        try invocation.interruption.check()
    }
}
