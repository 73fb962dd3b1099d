// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan get`: one document.
    static let get = Command(
        CommandSchema(
            name: "get",
            summary: "Print one document as JSON.",
            discussion: """
                The document comes with its _id and _rev, indented on a terminal and on one line \
                elsewhere. An ID that begins with _local/ names a local document.
                """,
            arguments: [.database, .document],
            options: [
                .value("rev", "r", "REV", "Print this revision instead of the winning one."),
                .flag("conflicts", nil, "Print every live leaf revision, the winning one first."),
                .flag("body", "b", "Print the properties alone, without _id and _rev."),
                .value("pointer", "p", "POINTER", "Print one value: a JSON pointer, as in /a/0."),
                .flag("pretty", nil, "Indent the output wherever it goes."),
            ],
            examples: ["divan get notes.divan n1", "divan get notes.divan n1 --pointer /tags/0"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let id = try invocation.arguments.requiredDocumentID()
        let isPretty = invocation.arguments.flag("pretty") ? true : nil
        for text in try invocation.texts(of: id, in: database) {
            try invocation.output.json(text, pretty: isPretty)
        }
    }
}

extension Invocation {
    fileprivate func texts(of id: DocumentID, in database: Database) throws -> [[UInt8]] {
        if id.isLocal {
            guard let properties = try database.localDocument(id) else {
                throw CommandFailure(.notFound, "There is no local document \"\(id)\".")
            }
            return [DocumentText.json(local: id, properties)]
        }
        var documents: [Document] = []
        if arguments.flag("conflicts") {
            documents = try database.conflictingRevisions(of: id)
        } else if let revision = arguments.revisionID {
            documents = try database.document(withID: id, revision: revision).map { [$0] } ?? []
        }
        if documents.isEmpty { documents = [try document(id, in: database)] }
        return try documents.map(text)
    }

    private func text(of document: Document) throws -> [UInt8] {
        guard let text = arguments.string("pointer") else {
            return arguments.flag("body")
                ? DocumentText.body(document) : DocumentText.json(document)
        }
        guard let pointer = JSONPointer(text) else {
            throw UsageError("\"\(text)\" is not a JSON pointer: it begins with \"/\" or is empty.")
        }
        guard let value = document.body[pointer] else {
            throw CommandFailure(.notFound, "Document \"\(document.id)\" has nothing at \(text).")
        }
        var bytes: [UInt8] = []
        value.appendJSON(to: &bytes)
        return bytes
    }
}
