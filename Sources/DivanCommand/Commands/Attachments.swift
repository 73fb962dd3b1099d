// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import FoundationEssentials

extension Command {
    /// `divan attach`: a file becomes an attachment.
    static let attach = Command(
        CommandSchema(
            name: "attach",
            summary: "Add a file to a document as an attachment.",
            discussion: """
                The attachment gets the file's name unless --name says otherwise; an attachment of \
                that name is replaced. The document must exist. The file is streamed, so it may be \
                of any size.
                """,
            arguments: [
                .database, .document,
                ArgumentSchema(name: "FILE", summary: "The file.", completion: .file),
            ],
            options: [
                .value("name", "n", "NAME", "Name the attachment so."),
                .value("type", "t", "TYPE", "The media type, as in image/jpeg."),
            ],
            examples: ["divan attach notes.divan n1 photo.jpg --type image/jpeg"])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let id = try invocation.arguments.requiredDocumentID()
        let path = try invocation.arguments.argument("FILE")
        let name = invocation.arguments.string("name") ?? URL(filePath: path).lastPathComponent
        let document = try invocation.document(id, in: database).toMutable()
        let bar = DelayedProgress("Attaching", invocation.output)
        let input = try ContentInput(path, bar, invocation.interruption)
        document.setAttachment(
            named: name, contentType: invocation.arguments.string("type"), .stream(input))
        defer { bar.finish() }
        let saved = try database.save(document, .failOnConflict).document
        bar.finish()
        try invocation.output.json(DocumentText.receipt(saved), pretty: false)
    }

    /// `divan detach`: attachments leave a document.
    static let detach = Command(
        CommandSchema(
            name: "detach",
            summary: "Remove attachments from a document.",
            discussion: """
                Earlier revisions keep them until "divan compact". All that are named go, or none of \
                them.
                """,
            arguments: [
                .database, .document,
                ArgumentSchema(
                    name: "NAME", summary: "Names of attachments.", count: .oneOrMore),
            ],
            examples: ["divan detach notes.divan n1 photo.jpg"])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let stored = try invocation.document(
            invocation.arguments.requiredDocumentID(), in: database)
        let document = stored.toMutable()
        for name in invocation.arguments.argumentList("NAME") {
            _ = try invocation.attachment(name, of: stored)
            document.removeAttachment(named: name)
        }
        let saved = try database.save(document, .failOnConflict).document
        try invocation.output.json(DocumentText.receipt(saved), pretty: false)
    }

    /// `divan attachment`: what a document has, and its content.
    static let attachment = Command(
        CommandSchema(
            name: "attachment",
            summary: "List a document's attachments, or write one's content.",
            discussion: """
                "ls" lists name, media type and length of each attachment; "get" writes the content \
                of one to the output or to a file, decoded if it is stored as gzip.
                """,
            arguments: [
                ArgumentSchema(
                    name: "ACTION", summary: "What to do: ls or get.",
                    completion: .choices(["ls", "get"])),
                .database, .document,
                ArgumentSchema(
                    name: "NAME", summary: "Name of the attachment to get.", count: .optional),
            ],
            options: [
                .value(
                    "output", "o", "FILE", "Write the content to this file.", completion: .file),
                .value("rev", "r", "REV", "Take this revision instead of the winning one."),
                .flag("json", nil, "List one JSON object a line."),
            ],
            examples: [
                "divan attachment ls notes.divan n1",
                "divan attachment get notes.divan n1 photo.jpg -o photo.jpg",
            ])
    ) { invocation in
        let action = try invocation.arguments.argument("ACTION")
        let name = invocation.arguments.optionalArgument("NAME")
        switch (action, name) {
        case ("ls", nil), ("get", .some): break
        case ("ls", _): throw UsageError("\"attachment ls\" takes no NAME.")
        case ("get", _): throw UsageError("\"attachment get\" needs a NAME.")
        default: throw UsageError("ACTION is ls or get, not \"\(action)\".")
        }
        let database = try invocation.openDatabase()
        defer { database.close() }
        let document = try invocation.revision(in: database)
        guard let name else { return try invocation.list(document) }
        try invocation.write(try invocation.attachment(name, of: document))
    }
}

extension Invocation {
    /// The document, in the revision that `--rev` names.
    fileprivate func revision(in database: Database) throws -> Document {
        let id = try arguments.requiredDocumentID()
        guard let revision = arguments.revisionID else { return try document(id, in: database) }
        guard let document = try database.document(withID: id, revision: revision) else {
            throw CommandFailure(.notFound, "There is no document \"\(id)\".")
        }
        return document
    }

    fileprivate func attachment(_ name: String, of document: Document) throws -> DocumentAttachment
    {
        if let attachment = document.attachment(named: name) { return attachment }
        throw CommandFailure(
            .notFound, "Document \"\(document.id)\" has no attachment \"\(name)\".")
    }

    fileprivate func list(_ document: Document) throws {
        for attachment in document.attachments {
            if arguments.flag("json") {
                var text = Array("{".utf8)
                DocumentText.append("name", .string(attachment.name), to: &text)
                let type = attachment.contentType.map { JSONValue.string($0) } ?? .null
                DocumentText.append("content_type", type, to: &text)
                DocumentText.append("length", JSONValue(attachment.length), to: &text)
                DocumentText.append("digest", .string(attachment.digest), to: &text)
                DocumentText.append(
                    "available", .bool(attachment.isContentAvailable), to: &text)
                text.append(JSONByte.closeBrace)
                try output.json(text, pretty: false)
            } else {
                let length = Quantity.bytes(attachment.length)
                let columns = [
                    PrintableText.escaping(attachment.name),
                    PrintableText.escaping(attachment.contentType ?? "-"), length,
                ]
                try output.line(
                    columns.joined(separator: "\t")
                        + (attachment.isContentAvailable ? "" : "\tnot here"))
            }
        }
    }

    /// Streams the content to the output or to the file that `--output` names.
    fileprivate func write(_ attachment: DocumentAttachment) throws {
        let reader = try attachment.makeReader()
        let file = try arguments.string("output").map { try OutputFile($0) }
        let bar = DelayedProgress("Writing", output)
        defer { bar.finish() }
        let sink = file?.sink ?? output.out
        do {
            while true {
                try interruption.check()
                let piece = try reader.read(upTo: 256 * 1_024)
                if piece.isEmpty { break }
                try sink.write(piece)
                bar.advance(by: piece.count, of: attachment.length)
            }
            try file?.finish()
        } catch {
            file?.discard()
            throw error
        }
    }
}
