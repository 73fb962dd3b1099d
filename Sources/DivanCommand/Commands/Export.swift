// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan export`: all documents, to a file or a pipe.
    static let export = Command(
        CommandSchema(
            name: "export",
            summary: "Write documents to a file or standard output.",
            discussion: """
                Documents come in the order of their IDs with _id and _rev, so that "divan import" \
                brings back the same revisions. A file takes its name when it is whole: an export \
                that fails leaves what was there before.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "FILE", summary: "Where to write; - or nothing for standard output.",
                    count: .optional, completion: .file),
            ],
            options: [
                .value(
                    "format", nil, "FORMAT", "lines (the default): one a line; or array.",
                    completion: .choices(ExportFormat.allCases.map(\.rawValue))),
                .flag("body", "b", "Write the properties alone, without _id and _rev."),
                .flag("deleted", nil, "Write tombstones, too."),
            ] + CommandSchema.rangeOptions,
            examples: ["divan export notes.divan notes.jsonl"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let path = invocation.arguments.optionalArgument("FILE") ?? "-"
        if path == "-" {
            let exporter = try Exporter(invocation, database, sink: invocation.output.out)
            return try exporter.run()
        }
        let file = try OutputFile(path)
        do {
            try Exporter(invocation, database, sink: file.sink).run()
            try file.sink.flush()
        } catch {
            file.discard()
            throw error
        }
        try file.finish()
    }
}

enum ExportFormat: String, CaseIterable, Sendable {
    case lines, array
}

/// One run of `divan export`.
private struct Exporter {
    private let invocation: Invocation
    private let database: Database
    private let sink: ByteSink
    private let format: ExportFormat
    private let isBody: Bool
    private let options: AllDocumentsOptions

    init(_ invocation: Invocation, _ database: Database, sink: ByteSink) throws {
        self.invocation = invocation
        self.database = database
        self.sink = sink
        let arguments = invocation.arguments
        format = try arguments.choice("format", as: ExportFormat.self) ?? .lines
        isBody = arguments.flag("body")
        var options = try invocation.allDocumentsOptions()
        options.includeDeleted = arguments.flag("deleted")
        options.includeDocuments = true
        self.options = options
    }

    func run() throws {
        let bar = ProgressBar("Exporting", noun: "document", output: invocation.output)
        defer { bar.finish() }
        // Only a plain export writes as many documents as the database counts.
        let isPlain = options.startID == nil && options.endID == nil && !options.includeDeleted
        let total = isPlain ? min(try database.documentCount, options.limit ?? .max) : nil
        var count = 0
        if format == .array { try sink.write("[") }
        try DocumentPages.forEach(in: database, options, interruption: invocation.interruption) {
            row in
            guard let document = row.document else { return }
            var text = isBody ? DocumentText.body(document) : DocumentText.json(document)
            if format == .array {
                try sink.write(count == 0 ? "\n" : ",\n")
            } else {
                text.append(JSONByte.lineFeed)
            }
            try sink.write(text)
            count += 1
            bar.update(completed: count, total: total, count: count)
        }
        if format == .array { try sink.write("\n]\n") }
        try sink.flush()
        let figures = bar.finish().summaryFigures
        invocation.output.remark("Exported \(figures).")
    }
}
