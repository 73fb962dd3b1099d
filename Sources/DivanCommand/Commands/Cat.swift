// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan cat`: several documents, one a line.
    static let cat = Command(
        CommandSchema(
            name: "cat",
            summary: "Print documents as JSON, one a line.",
            discussion: """
                Without an ID all documents are printed, in the order of their IDs. IDs that do not \
                exist are reported and the others printed; the exit code is then 3.
                """,
            arguments: [
                .database,
                ArgumentSchema(name: "ID", summary: "IDs of documents.", count: .zeroOrMore),
            ],
            options: [.flag("body", "b", "Print the properties alone, without _id and _rev.")],
            examples: ["divan cat notes.divan | jq .title", "divan cat notes.divan n1 n2"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let output = invocation.output
        let isBody = invocation.arguments.flag("body")
        func show(_ document: Document) throws {
            let text = isBody ? DocumentText.body(document) : DocumentText.json(document)
            try output.json(text, pretty: false)
        }
        let ids = invocation.arguments.documentIDs
        if ids.isEmpty {
            var options = AllDocumentsOptions()
            options.includeDocuments = true
            return try DocumentPages.forEach(
                in: database, options, interruption: invocation.interruption
            ) { row in
                if let document = row.document { try show(document) }
            }
        }
        var missing = 0
        for id in ids {
            do {
                try show(try invocation.document(id, in: database))
            } catch let failure as CommandFailure where failure.status == .notFound {
                missing += 1
                if ids.count == 1 { throw failure }
                output.failure(failure.message)
            }
        }
        if missing > 0 {
            throw CommandFailure(
                .notFound, "\(missing) of \(Quantity.counted(ids.count, "document")) not found.")
        }
    }
}
