// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan changes`: the changes feed.
    static let changes = Command(
        CommandSchema(
            name: "changes",
            summary: "Print the changes feed, one JSON object a line.",
            discussion: """
                Each document is in the feed once, at its last change. The lines are those of \
                CouchDB's continuous feed; the last one, without --follow, is {"last_seq":N}, and N \
                is what to give as --since the next time.
                """,
            arguments: [.database],
            options: [
                .value("since", "s", "SEQ", "Begin after this sequence; 0 is the beginning."),
                .value("limit", "n", "COUNT", "Stop after so many changes."),
                .flag("follow", "f", "Go on as changes come, from any process, until Control-C."),
                .flag("include-docs", nil, "Print the document with each change."),
            ],
            examples: ["divan changes notes.divan --since 120 --follow"]),
        waiting: runChanges)

    private static func runChanges(_ invocation: Invocation) async throws {
        let database = try invocation.openDatabase()
        defer { database.close() }
        let printer = ChangePrinter(
            database: database, output: invocation.output,
            includesDocuments: invocation.arguments.flag("include-docs"))
        var feed = Feed(
            since: SequenceNumber(clamping: try invocation.arguments.count("since") ?? 0),
            left: try invocation.arguments.count("limit") ?? .max)
        try feed.takeAll(printer, invocation.interruption)
        guard invocation.arguments.flag("follow"), feed.left > 0 else {
            return try invocation.output.line("{\"last_seq\":\(feed.since)}")
        }
        try invocation.output.out.flush()
        try await follow(feed, printer, invocation)
    }

    /// How far the feed has been printed.
    private struct Feed: Sendable {
        var since: SequenceNumber
        var left: Int

        mutating func take(_ batch: ChangesBatch, _ printer: ChangePrinter) throws {
            for change in batch.changes.prefix(left) { try printer.show(change) }
            left -= min(left, batch.changes.count)
            since = batch.lastSequence
        }

        /// Takes what is in the feed now, without waiting for more.
        mutating func takeAll(_ printer: ChangePrinter, _ interruption: Interruption) throws {
            while left > 0 {
                try interruption.check()
                let batch = try printer.database.changes(since: since, limit: min(left, 1_000))
                try take(batch, printer)
                if batch.changes.isEmpty { return }
            }
        }
    }

    private static func follow(
        _ start: Feed, _ printer: ChangePrinter, _ invocation: Invocation
    ) async throws {
        let task = Task {
            var feed = start
            for try await batch in printer.database.changeStream(since: feed.since) {
                try feed.take(batch, printer)
                try printer.output.out.flush()
                if feed.left == 0 { return }
            }
        }
        invocation.interruption.onRequest { task.cancel() }
        try await task.value
        try invocation.interruption.check()
    }
}

/// Writes changes as CouchDB's continuous feed has them.
private struct ChangePrinter: Sendable {
    let database: Database
    let output: Output
    let includesDocuments: Bool

    func show(_ change: Change) throws {
        var text = Array("{".utf8)
        DocumentText.append("seq", .integer(Int64(clamping: change.sequence)), to: &text)
        DocumentText.append("id", .string(change.id.text), to: &text)
        DocumentText.append(
            "changes", .array(change.revisions.map { .object(["rev": .string($0.description)]) }),
            to: &text)
        if change.isDeleted { DocumentText.append("deleted", .bool(true), to: &text) }
        if includesDocuments { try appendDocument(of: change, to: &text) }
        text.append(JSONByte.closeBrace)
        try output.json(text, pretty: false)
    }

    /// Appends the current revision: by the time it is read it may be a newer one, or gone.
    private func appendDocument(of change: Change, to text: inout [UInt8]) throws {
        var document = try database.document(withID: change.id)
        if document == nil, let revision = change.revisions.first {
            document = try? database.document(withID: change.id, revision: revision)
        }
        text += Array(",\"doc\":".utf8)
        text += document.map(DocumentText.json) ?? Array("null".utf8)
    }
}
