// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan put`: a new document, or a new revision of one.
    static let put = Command(
        CommandSchema(
            name: "put",
            summary: "Store a document.",
            discussion: """
                The JSON comes from the command line, or else from standard input. Its _id and _rev \
                are used where no argument or option says otherwise, so what "divan get" printed can \
                be edited and put back. Without an ID one is made.
                Storing over an existing document needs its revision, by --rev or _rev, or --replace; \
                otherwise it is a conflict. The answer is a JSON object with the ID and the new \
                revision.
                --history stores the revision exactly as named, as a replicator would: the revision \
                first, then its ancestors. That is also a way to make a conflict.
                """,
            arguments: [
                .database,
                ArgumentSchema(name: "ID", summary: "ID of the document.", count: .optional),
                ArgumentSchema(
                    name: "JSON", summary: "The properties, or - for standard input.",
                    count: .optional),
            ],
            options: [
                .value("rev", "r", "REV", "The revision that this one is based on."),
                .flag("replace", nil, "Store over whatever revision is there."),
                .value("history", nil, "REV,REV", "Store a revision made elsewhere."),
            ],
            examples: [
                #"divan put notes.divan n1 '{"title":"Milk"}'"#,
                "divan get notes.divan n1 | jq '.done = true' | divan put notes.divan",
            ])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let request = try PutRequest(invocation)
        try invocation.output.json(request.perform(in: database))
    }
}

/// What `divan put` was asked to do.
private struct PutRequest {
    private let id: DocumentID?
    private let revision: RevisionID?
    private let isReplacing: Bool
    private let history: [RevisionID]
    private let isDeleted: Bool
    private let properties: JSONObject

    init(_ invocation: Invocation) throws {
        let arguments = invocation.arguments
        var object = try JSONInput.object(
            Self.json(invocation), name: arguments.optionalArgument("JSON") ?? "standard input")
        let ownID = object.removeValue(forKey: "_id")
        let ownRevision = object.removeValue(forKey: "_rev")
        isDeleted = object.removeValue(forKey: "_deleted") == .bool(true)
        id = arguments.documentID ?? (ownID?.string).map { DocumentID($0) }
        revision = arguments.revisionID ?? (ownRevision?.string).map { RevisionID($0) }
        isReplacing = arguments.flag("replace")
        history =
            arguments.string("history")?.split(separator: ",").map { RevisionID(String($0)) }
            ?? []
        properties = object
        if arguments.string("history") != nil, history.isEmpty || id == nil {
            throw UsageError("--history needs an ID and at least one revision.")
        }
    }

    private static func json(_ invocation: Invocation) throws -> [UInt8] {
        if let text = invocation.arguments.optionalArgument("JSON"), text != "-" {
            return Array(text.utf8)
        }
        return try InputSource(path: "-", interruption: invocation.interruption).readAll()
    }

    func perform(in database: Database) throws -> [UInt8] {
        if let id, id.isLocal {
            try database.putLocalDocument(id, properties)
            var text = Array("{".utf8)
            DocumentText.append("id", .string(id.text), to: &text)
            return text + [JSONByte.closeBrace]
        }
        guard let id else {
            let document = MutableDocument(properties)
            return DocumentText.receipt(try database.save(document, .failOnConflict).document)
        }
        if let newest = history.first {
            try database.putExistingRevision(
                id, properties, history: history, isDeleted: isDeleted)
            guard let stored = try database.document(withID: id, revision: newest) else {
                throw CommandFailure(.failure, "The revision was stored and cannot be read back.")
            }
            return DocumentText.receipt(stored)
        }
        return try database.inBatch {
            let parent = isReplacing ? try database.document(withID: id)?.revisionID : revision
            return DocumentText.receipt(
                try database.put(
                    id, properties, parent: parent, options: isDeleted ? .tombstone : []))
        }
    }
}
