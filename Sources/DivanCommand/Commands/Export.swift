// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan export`: all documents, to a file or a pipe.
    static let export = Command(
        CommandSchema(
            name: "export",
            summary: "Write documents to a file or standard output.",
            discussion: """
                Documents come in the order of their IDs with _id, _rev and _revisions, so that "divan \
                import" brings back the same revisions. The contents of attachments stand in the \
                documents, as base64, and those of blobs under _blobs. Of a document in conflict the \
                winning revision is written, and with --conflicts the others follow it. "divan \
                backup" copies what no document holds, such as dates of expiration.
                Contents that are not in the database or damaged, and those that make a document \
                larger than "divan import" takes it (some 180 MB in all), are reported and left out; the \
                exit code is then 5, and "divan import --stubs" takes their documents. A file takes its name when it is whole: an export that fails leaves what \
                was there before, and what one leaves that is killed goes with the next one to the same file.
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
                .flag(
                    "conflicts", nil, "Write every live leaf revision of a document in conflict."),
                .flag("stubs", nil, "Leave out the contents of attachments and blobs."),
            ] + CommandSchema.rangeOptions,
            examples: ["divan export notes.divan notes.jsonl"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let path = invocation.arguments.optionalArgument("FILE") ?? "-"
        let file = path == "-" ? nil : try OutputFile(path)
        let leftOut: Int
        do {
            var exporter = try Exporter(
                invocation, database, sink: file?.sink ?? invocation.output.out)
            leftOut = try exporter.run()
        } catch {
            file?.discard()
            throw error
        }
        try file?.finish()
        if leftOut > 0 {
            let contents =
                leftOut == 1 ? "One content was" : "\(Quantity.grouped(leftOut)) contents were"
            throw CommandFailure(.problemsFound, "\(contents) left out.")
        }
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
    private let bar: ProgressBar
    /// How many records have been written.
    private var records = 0
    /// How many documents have been written.
    private var documents = 0
    /// How many contents of attachments and blobs were left out.
    private var leftOut = 0
    /// How many documents have been written without the losing sides of their conflicts.
    private var conflicted = 0

    init(_ invocation: Invocation, _ database: Database, sink: ByteSink) throws {
        self.invocation = invocation
        self.database = database
        self.sink = sink
        let arguments = invocation.arguments
        format = try arguments.choice("format", as: ExportFormat.self) ?? .lines
        isBody = arguments.flag("body")
        if isBody, arguments.flag("conflicts") {
            throw UsageError(
                "--conflicts does not go with --body, which leaves out what tells revisions apart.")
        }
        var options = try invocation.allDocumentsOptions()
        options.includeDeleted = arguments.flag("deleted")
        options.showConflicts = arguments.flag("conflicts")
        options.includeDocuments = true
        self.options = options
        bar = ProgressBar("Exporting", noun: "document", output: invocation.output)
    }

    /// Writes all documents.
    ///
    /// - Returns: How many contents of attachments and blobs were left out.
    mutating func run() throws -> Int {
        let bar = bar
        defer { bar.finish() }
        // Only a plain export writes as many documents as the database counts.
        let isPlain = options.startID == nil && options.endID == nil && !options.includeDeleted
        bar.update(total: isPlain ? min(try database.documentCount, options.limit ?? .max) : nil)
        let contents = ExportedContents(
            sink: sink, interruption: invocation.interruption,
            isWanted: !invocation.arguments.flag("stubs"), progress: { bar.update() })
        if format == .array { try sink.write("[") }
        try DocumentPages.forEach(in: database, options, interruption: invocation.interruption) {
            row in
            guard let document = row.document else { return }
            guard try write(document, row, contents) else { return }
            documents += 1
            bar.update(completed: documents, count: documents)
        }
        if format == .array { try sink.write("\n]\n") }
        try sink.flush()
        let figures = bar.finish().summaryFigures
        invocation.output.remark("Exported \(figures).")
        if conflicted > 0 {
            let count = Quantity.counted(conflicted, "document")
            invocation.output.remark(
                "Of \(count) in conflict only the winning revision was written; --conflicts writes all."
            )
        }
        return leftOut
    }

    /// Writes a document, and with `--conflicts` its other live leaf revisions behind it.
    ///
    /// - Returns: Whether it is still there.
    private mutating func write(
        _ document: Document, _ row: DocumentRow, _ contents: ExportedContents
    ) throws -> Bool {
        if row.isConflicted, !options.showConflicts { conflicted += 1 }
        var checked = try contents.check(document)
        var tree = try tree(of: document)
        // Content goes when its revision does, which may have been since the row was read.
        if checked.isGone, let newer = try database.revisionTree(of: row.id),
            let winner = newer.winner, winner.id != document.revisionID
        {
            guard !winner.isTombstone || options.includeDeleted,
                let current = try database.document(withID: row.id, revision: winner.id)
            else { return false }
            (checked, tree) = (try contents.check(current), newer)
        }
        try write(checked, tree, contents)
        for revision in row.conflictingRevisions where revision != checked.document.revisionID {
            // It is gone where the conflict has been resolved since the row was read.
            guard let other = try database.document(withID: row.id, revision: revision) else {
                continue
            }
            try write(contents.check(other), tree, contents)
        }
        return true
    }

    /// The tree that has the revision's ancestors; nil where there are none, or where they are not wanted.
    private func tree(of document: Document) throws -> RevisionTree? {
        guard !isBody, document.revisionID.generation > 1 || options.showConflicts else {
            return nil
        }
        return try database.revisionTree(of: document.id)
    }

    /// Writes a record, with the revision's ancestors where its tree is given.
    private mutating func write(
        _ checked: ExportedContents.Checked, _ tree: RevisionTree?, _ contents: ExportedContents
    ) throws {
        for sentence in checked.lacking { bar.printAbove(sentence) }
        leftOut += checked.lacking.count
        let document = checked.document
        if format == .array { try sink.write(records == 0 ? "\n" : ",\n") }
        var head = isBody ? [JSONByte.openBrace] : DocumentText.head(document)
        if let revisions = tree?.revisions(of: document.revisionID) {
            DocumentText.append("_revisions", revisions, to: &head)
        }
        try contents.write(checked, after: head)
        if format == .lines { try sink.write("\n") }
        records += 1
    }
}

extension RevisionTree {
    /// A revision and its ancestors as CouchDB writes them; nil for one without ancestors, or that has gone meanwhile.
    fileprivate func revisions(of id: RevisionID) -> JSONValue? {
        let ids = history(of: id).map { JSONValue.string($0.digest) }
        return ids.count < 2 ? nil : ["start": JSONValue(id.generation), "ids": .array(ids)]
    }
}
