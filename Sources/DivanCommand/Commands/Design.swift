// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanListener
internal import DivanSystem
internal import FoundationEssentials

extension Command {
    /// `divan design`: design documents, and what their functions do.
    static let design = Command(
        CommandSchema(
            name: "design",
            summary: "List, copy, store and try design documents.",
            discussion: """
                "list DB" shows all design documents with their revisions, languages and functions.
                "get DB NAME" prints one as JSON. "get DB NAME FOLDER" writes it into a new folder as \
                CouchApp lays it out: each object is a folder, each text a file, such as \
                views/by_name/map.js, and attachments lie in _attachments.
                "put DB NAME FOLDER" stores such a folder. Files whose names end in .json are parsed, \
                other files are texts, and hidden files are left out; links are not followed. FOLDER may also be a \
                JSON file, or - for standard input. The revision that is there is replaced, unless a _rev or --rev \
                says which one it is to be.
                "check DB NAME [FUNCTION...] ID" runs the functions on one document, and shows what each view \
                emits, whether each filter lets the document pass, and whether the validation accepts its current \
                revision after the one before. FUNCTION is the name of a view or a filter, perhaps with its kind, \
                as in views/by_name, or validate_doc_update; without one all are run. Shows, lists, updates and \
                rewrites need a request: ask "divan serve". Nothing is stored. It needs divan-javascript.
                """,
            arguments: [
                ArgumentSchema(
                    name: "ACTION", summary: "What to do: list, get, put or check.",
                    completion: .choices(["list", "get", "put", "check"])),
                .database,
                ArgumentSchema(
                    name: "NAME", summary: "Name of a design document, with or without _design/.",
                    count: .optional),
                ArgumentSchema(
                    name: "WHAT", summary: "A FOLDER for get and put; [FUNCTION...] ID for check.",
                    count: .zeroOrMore, completion: .file),
            ],
            options: [
                .flag("json", nil, "List and check one JSON object a line."),
                .value("rev", "r", "REV", "For put: the revision that this one is based on."),
                .value(
                    "user", "u", "NAME",
                    "For check: call the functions for this user, not for an administrator."),
                .value("role", nil, "ROLE", "For check: a role of that user.", repeats: true),
                .value(
                    "param", nil, "KEY=JSON", "For check: a parameter of filters.", repeats: true),
            ] + JavaScriptOptions.limits,
            examples: [
                "divan design list notes.divan",
                "divan design get notes.divan people people/",
                "divan design put notes.divan people people/",
                "divan design check notes.divan people by_name n1",
                "divan design check notes.divan people n1 --user ann --role editor",
            ])
    ) { invocation in
        let arguments = invocation.arguments
        let action = try arguments.argument("ACTION")
        let name = arguments.optionalArgument("NAME")
        let rest = arguments.argumentList("WHAT")
        switch (action, name, rest.count) {
        case ("list", nil, 0): try invocation.listDesigns()
        case ("get", let name?, 0...1): try invocation.getDesign(name, rest.first)
        case ("put", let name?, 1): try invocation.putDesign(name, rest[0])
        case ("check", let name?, 1...):
            try invocation.checkDesign(name, rest.dropLast(), DocumentID(rest[rest.count - 1]))
        case ("list", _, _): throw UsageError("\"design list\" takes DB alone.")
        case ("get", _, _): throw UsageError("\"design get\" takes DB NAME [FOLDER].")
        case ("put", _, _): throw UsageError("\"design put\" takes DB NAME FOLDER.")
        case ("check", _, _): throw UsageError("\"design check\" takes DB NAME [FUNCTION...] ID.")
        default: throw UsageError("ACTION is list, get, put or check, not \"\(action)\".")
        }
    }
}

extension Invocation {
    private static let prefix = "_design/"

    private static func designID(_ name: String) throws(UsageError) -> DocumentID {
        let id = name.hasBytePrefix(prefix) ? name : prefix + name
        guard id.utf8.count > prefix.utf8.count else { throw UsageError("NAME is empty.") }
        return DocumentID(id)
    }

    /// A design document by its name.
    ///
    /// - Throws: `CommandFailure` when there is none.
    func design(_ name: String, in database: Database) throws -> Document {
        try document(Self.designID(name), in: database)
    }

    fileprivate func listDesigns() throws {
        let database = try openDatabase()
        defer { database.close() }
        var options = AllDocumentsOptions()
        options.startID = "_design/"
        // The byte behind the slash ends the range.
        options.endID = "_design0"
        options.includeDocuments = true
        var table = TextTable([.left, .left, .left, .left])
        try database.forEachDocument(options) { row in
            guard let document = row.document else { return }
            let summary = DesignSummary(document)
            if arguments.flag("json") { return try output.json(summary.json, pretty: false) }
            table.add(
                PrintableText.escaping(document.id.text), document.revisionID.description,
                PrintableText.escaping(summary.language), summary.words)
        }
        for line in table.lines { try output.line(line) }
    }

    fileprivate func getDesign(_ name: String, _ folder: String?) throws {
        let database = try openDatabase()
        defer { database.close() }
        let document = try design(name, in: database)
        guard let folder else { return try output.json(DocumentText.json(document)) }
        try CouchAppWriter(interruption).write(document, to: Self.withoutSlash(folder))
    }

    fileprivate func putDesign(_ name: String, _ path: String) throws {
        let id = try Self.designID(name)
        var (properties, attachments) = try designFiles(path)
        let stubs = properties[CouchAppReader.attachmentFolder]?.object ?? [:]
        let ownID = properties.removeValue(forKey: "_id")?.string
        let ownRevision = properties.removeValue(forKey: "_rev")?.string
        if let ownID, !ownID.hasSameBytes(as: id.text) {
            output.remark("It is stored as \"\(id)\", though its _id is another one.")
        }
        if let problem = DesignDocumentForm.problem(of: PackedValue(.object(properties))) {
            throw CommandFailure(.badInput, "\(path) is no design document: \(problem).")
        }
        let database = try openDatabase(forWriting: true)
        defer { database.close() }
        let based = arguments.revisionID ?? ownRevision.map { RevisionID($0) }
        let stored = try database.inBatch {
            let current = try database.document(withID: id)
            if let current, !attachments.isEmpty {
                properties[CouchAppReader.attachmentFolder] = .object(
                    Self.keepingTypes(of: current, in: stubs))
            }
            return try database.put(
                id, properties, parent: based ?? current?.revisionID, attachments: attachments)
        }
        try output.json(DocumentText.receipt(stored), pretty: false)
    }

    /// The stubs of files with the media types that the attachments of these names have: a file has none of its own, and
    /// its suffix need not tell it.
    private static func keepingTypes(of current: Document, in stubs: JSONObject) -> JSONObject {
        var stubs = stubs
        for attachment in current.attachments {
            guard var stub = stubs[attachment.name]?.object, let type = attachment.contentType
            else { continue }
            stub["content_type"] = .string(type)
            stubs[attachment.name] = .object(stub)
        }
        return stubs
    }

    /// What a folder or a JSON file has of a design document.
    private func designFiles(
        _ path: String
    ) throws -> (properties: JSONObject, attachments: NameMap<AttachmentContent>) {
        guard path != "-", Files.isDirectory(path) else {
            let input = try InputSource(path: path, interruption: interruption)
            let text = try input.readAll(upTo: CouchAppReader.longest)
            return (try JSONInput.object(text, name: input.name), [:])
        }
        var reader = CouchAppReader(interruption)
        var properties = try reader.read(Self.withoutSlash(path))
        var stubs: JSONObject = [:]
        for (name, path) in reader.attachments {
            var stub: JSONObject = ["follows": true]
            if let type = MediaType.of(path) { stub["content_type"] = .string(type) }
            stubs[name] = .object(stub)
        }
        if !stubs.isEmpty { properties[CouchAppReader.attachmentFolder] = .object(stubs) }
        return (properties, reader.attachments.mapValues { .file(URL(filePath: $0)) })
    }

    private static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.hasByteSuffix("/") { path.removeLast() }
        return path
    }
}
