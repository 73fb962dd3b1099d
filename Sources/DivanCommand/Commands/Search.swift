// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan search`: full-text search.
    static let search = Command(
        CommandSchema(
            name: "search",
            summary: "Search the texts of documents.",
            discussion: """
                TEXT is words that must all occur; OR between words, NOT or - before one, "phrases in \
                quotation marks", begin*, NEAR and parentheses work, too. The index is kept in the \
                database: the first search names the key paths with --on, later ones need not.
                """,
            arguments: [
                .database, ArgumentSchema(name: "TEXT", summary: "What to look for."),
            ],
            options: [
                .value("index", "i", "NAME", "Name of the index; \"text\" unless given."),
                .value(
                    "on", nil, "PATH", "Index the texts at this key path, such as body.text.",
                    repeats: true),
                .value("language", nil, "NAME", "Cut words to their stems, as in english."),
                .flag("accents", nil, "Tell letters with accents from those without."),
                .value("limit", "n", "COUNT", "Stop after so many documents; 20 unless given."),
                .value("skip", nil, "COUNT", "Leave out so many at the beginning."),
                .flag("json", nil, "Print one JSON object a line."),
                .flag(
                    "live", "f", "Print the results again whenever they change, until Control-C."),
            ],
            examples: [
                "divan search notes.divan 'couch potato*' --on title --on body --language english",
                "divan search notes.divan '\"on the couch\" OR sofa'",
            ]),
        waiting: runSearch)

    private static func runSearch(_ invocation: Invocation) async throws {
        let database = try invocation.openForIndexing()
        defer { database.close() }
        var search = try invocation.textIndex(in: database)
            .search(invocation.arguments.argument("TEXT"))
        search.limit = try invocation.arguments.count("limit") ?? 20
        search.skip = try invocation.arguments.count("skip") ?? 0
        if invocation.arguments.flag("live") {
            try await invocation.follow(search.live()) { try invocation.show($0) }
            return
        }
        let result = try search.run()
        try invocation.show(result)
        invocation.remarkOnScan(result.isScanned)
    }
}

extension Invocation {
    fileprivate func textIndex(in database: Database) throws -> FullTextIndex {
        let name = arguments.string("index") ?? "text"
        let paths = arguments.strings("on")
        guard !paths.isEmpty else {
            if let index = try database.existingFullTextIndex(named: name) { return index }
            throw CommandFailure(
                .notFound, "There is no full-text index \"\(name)\"; --on PATH makes one.")
        }
        var options = FullTextOptions()
        options.ignoresAccents = !arguments.flag("accents")
        if let language = arguments.string("language") {
            guard let known = FullTextOptions.Language(named: language) else {
                throw UsageError("--language \(language): there are no rules for this language.")
            }
            options.language = known
        }
        return database.fullTextIndex(named: name, on: paths, options: options)
    }

    fileprivate func show(_ result: FullTextResult) throws {
        let isJSON = arguments.flag("json")
        let terminal = output.outTerminal
        let mark = terminal.styled("\u{0}", .strong).split(
            separator: "\u{0}", omittingEmptySubsequences: false)
        for row in result {
            if isJSON {
                var text = Array("{".utf8)
                DocumentText.append("id", .string(row.documentID.text), to: &text)
                DocumentText.append("score", .double(row.score), to: &text)
                if let snippet = row.snippet() {
                    DocumentText.append("snippet", .string(snippet), to: &text)
                }
                text.append(JSONByte.closeBrace)
                try output.json(text, pretty: false)
            } else {
                try output.line(PrintableText.escaping(row.documentID.text))
                let snippet = row.snippet(
                    start: mark.first.map(String.init) ?? "", end: mark.last.map(String.init) ?? "")
                if let snippet { try output.line("  " + snippet) }
            }
        }
        if !isJSON {
            output.remark(
                "\(result.totalMatches) of \(result.totalDocuments) documents with texts match.")
        }
    }
}
