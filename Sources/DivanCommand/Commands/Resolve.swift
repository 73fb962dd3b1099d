// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

extension Command {
    /// `divan conflicts`: which documents wait for a decision.
    static let conflicts = Command(
        CommandSchema(
            name: "conflicts",
            summary: "List the documents in conflict, with the revisions that conflict.",
            discussion: """
                Each document is a line: its ID, then its live leaf revisions, the winning one \
                first. With --json the newest common ancestor is told as well, where it is known. \
                "divan get --rev" prints a revision, "divan tree" draws all of them, and "divan \
                resolve" ends a conflict.
                """,
            arguments: [.database],
            options: [.flag("json", nil, "Print one JSON object a line.")]
                + CommandSchema.rangeOptions,
            examples: ["divan conflicts notes.divan", "divan conflicts notes.divan --json"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        var options = try invocation.allDocumentsOptions()
        options.onlyConflicts = true
        let isJSON = invocation.arguments.flag("json")
        let output = invocation.output
        try DocumentPages.forEach(in: database, options, interruption: invocation.interruption) {
            row in
            if isJSON {
                try output.json(json(row, in: database), pretty: false)
            } else {
                let revisions = row.conflictingRevisions.map {
                    PrintableText.escaping($0.description)
                }
                try output.line(
                    ([PrintableText.escaping(row.id.text)] + revisions).joined(separator: "  "))
            }
        }
    }

    private static func json(_ row: DocumentRow, in database: Database) throws -> [UInt8] {
        let tree = try database.revisionTree(of: row.id)
        var text = Array("{".utf8)
        DocumentText.append("id", .string(row.id.text), to: &text)
        DocumentText.append("winner", .string(row.revisionID.description), to: &text)
        let others = row.conflictingRevisions.dropFirst().map { JSONValue.string($0.description) }
        DocumentText.append("others", .array(others), to: &text)
        if let ancestor = tree?.commonAncestorOfLiveLeaves {
            DocumentText.append("ancestor", .string(ancestor.id.description), to: &text)
            let hasBody = ancestor.sequence != nil
            DocumentText.append("ancestor_has_body", .bool(hasBody), to: &text)
        }
        text.append(JSONByte.closeBrace)
        return text
    }

    /// `divan resolve`: the end of a conflict.
    static let resolve = Command(
        CommandSchema(
            name: "resolve",
            summary: "End the conflict of a document, or of all documents.",
            discussion: """
                One of the options says how; all that it does to a document is one transaction. \
                The other live revisions get tombstones, so the resolution replicates. A document \
                that is not in conflict is left alone.
                --merge compares each property with the common ancestor: changes of different \
                properties are all kept, and where two changed the same one the winner's stands.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "ID", summary: "ID of a document; not with --all.", count: .optional),
            ],
            options: [
                .value("keep", "k", "REV", "Keep this revision."),
                .flag("winner", "w", "Keep the revision that wins anyway."),
                .value(
                    "latest", nil, "KEY", "Keep the revision with the latest date in a property."),
                .flag("merge", "m", "Merge the properties of all revisions."),
                .flag("delete", nil, "Delete the document."),
                .flag("all", nil, "Resolve every conflict in the database."),
            ],
            examples: [
                "divan resolve notes.divan n1 --keep 2-c", "divan resolve notes.divan n1 --merge",
                "divan resolve notes.divan --all --latest updated",
            ])
    ) { invocation in
        let decision = try ResolveDecision(invocation.arguments)
        let id = invocation.arguments.documentID
        let isAll = invocation.arguments.flag("all")
        if isAll == (id != nil) { throw UsageError("Give the ID of a document, or --all.") }
        if isAll, case .revision = decision { throw UsageError("--keep goes with one document.") }
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        if let id {
            try invocation.resolve(id, in: database, decision)
        } else {
            try invocation.resolveAll(in: database, decision)
        }
    }
}

/// How conflicts are to end.
private enum ResolveDecision {
    case revision(RevisionID)
    case winner
    case latest(String)
    case merge
    case delete

    init(_ arguments: ParsedArguments) throws {
        var decisions: [ResolveDecision] = []
        if let revision = arguments.string("keep") {
            decisions.append(.revision(RevisionID(revision)))
        }
        if arguments.flag("winner") { decisions.append(.winner) }
        if let key = arguments.string("latest") { decisions.append(.latest(key)) }
        if arguments.flag("merge") { decisions.append(.merge) }
        if arguments.flag("delete") { decisions.append(.delete) }
        guard let decision = decisions.first, decisions.count == 1 else {
            throw UsageError("Give one of --keep, --winner, --latest, --merge and --delete.")
        }
        self = decision
    }

    func resolution(_ conflict: Conflict) throws -> ConflictResolution {
        switch self {
        case .revision(let revision):
            guard let leaf = conflict.leaves.first(where: { $0.revisionID == revision }) else {
                throw CommandFailure(
                    .notFound,
                    "Revision \(revision) of document \"\(conflict.id)\" is not in conflict."
                        + " \"divan conflicts\" lists those that are.")
            }
            return .keep(leaf)
        case .winner: return .keep(conflict.winner)
        case .latest(let key): return KeepLatest(by: key).resolve(conflict)
        case .merge: return MergeFields().resolve(conflict)
        case .delete: return .delete
        }
    }
}

extension Invocation {
    fileprivate func resolve(_ id: DocumentID, in database: Database, _ decision: ResolveDecision)
        throws
    {
        // A missing document gets its own sentence.
        let current = try document(id, in: database)
        if let result = try database.resolveConflicts(of: id, decision.resolution) {
            return try output.json(DocumentText.receipt(result), pretty: false)
        }
        try output.json(DocumentText.receipt(current), pretty: false)
        output.remark("Document \"\(PrintableText.escaping(id.text))\" is not in conflict.")
    }

    fileprivate func resolveAll(in database: Database, _ decision: ResolveDecision) throws {
        let report = try withProgress("Resolving") { progress in
            try database.resolveConflicts(progress: progress, decision.resolution)
        }
        for failure in report.failures {
            let reason = CommandFailure(describing: failure.error).message
            try output.line(PrintableText.escaping("\(failure.id): \(reason)"))
        }
        output.remark("Resolved \(Quantity.counted(report.resolved, "conflict")).")
        if !report.failures.isEmpty {
            throw CommandFailure(
                .conflict,
                "\(Quantity.counted(report.failures.count, "document")) could not be resolved.")
        }
    }
}
