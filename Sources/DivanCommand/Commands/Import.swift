// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan import`: many documents from a file or a pipe.
    static let importing = Command(
        CommandSchema(
            name: "import",
            summary: "Import documents, or a whole Couchbase Lite 1.x database.",
            discussion: """
                The input is a JSON array, JSON lines, objects one after the other, or a dump of \
                CouchDB: what _all_docs or _changes answer with include_docs=true, or what \
                _bulk_docs takes. Which of them it is shows at its beginning, or --format says it. \
                It is read as a stream, so it may be of any length.
                A record with a _rev is stored as that very revision, with the ancestors in its \
                _revisions. Any other becomes a new document, and if its ID exists already it is a \
                bad record, unless --update is given. So does one that --set or --drop-attachments \
                changes, since it is no longer that revision.
                Attachments are imported where their content is in the record, as base64: what "divan \
                export" writes, and what CouchDB answers with attachments=true. Without their content \
                they make it a bad record; --stubs takes them so, to be fetched by a replication, \
                perhaps. A record of a revision that is here already supplies the contents which \
                are missing of it.
                Bad records are reported with their line and number and left out; the exit code is \
                then 6. What was imported before an error or Control-C stays.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "FILE", summary: "The input; - or nothing for standard input.",
                    count: .optional, completion: .file),
            ],
            options: [
                .value(
                    "format", nil, "FORMAT", "auto (the default), lines, array, values or couchdb.",
                    completion: .choices(ImportFormat.allCases.map(\.rawValue))),
                .value(
                    "key", "k", "PATH",
                    "The array is inside an object, at this key or JSON pointer."),
                .value("id-field", "i", "NAME", "The property that holds the ID; else _id."),
                .value("id-prefix", nil, "TEXT", "Put this before every ID."),
                .value("set", nil, "KEY=JSON", "Set a property of every document.", repeats: true),
                .flag("create", nil, "Create the database if it is missing."),
                .flag("update", "u", "Replace documents that exist."),
                .flag("new-revisions", nil, "Ignore _rev and make revisions of our own."),
                .flag("drop-attachments", nil, "Leave attachments out."),
                .flag("stubs", nil, "Take attachments without their content, too."),
                .flag("strict", nil, "Stop at the first bad record."),
            ],
            examples: [
                "divan import notes.divan notes.jsonl",
                "divan import old/notes.cblite2",
                "divan import new.divan old/notes.cblite2",
                "divan import geo.divan iso_3166-1.json --key 3166-1 --id-field alpha_3",
                "curl -s 'http://host/db/_all_docs?include_docs=true' | divan import db.divan",
            ])
    ) { invocation in
        let first = try invocation.arguments.argument("DB")
        let file = invocation.arguments.optionalArgument("FILE")
        if let file, CouchbaseLiteCommand.isMeant(by: file) {
            return try CouchbaseLiteCommand.run(invocation, source: file, target: first)
        }
        if file == nil, CouchbaseLiteCommand.isMeant(by: first) {
            return try CouchbaseLiteCommand.run(invocation, source: first, target: nil)
        }
        let source = try InputSource(
            path: file ?? "-",
            interruption: invocation.interruption)
        let opened =
            invocation.arguments.flag("create")
            ? try invocation.openOrCreateDatabase(at: first)
            : OpenedDatabase(database: try invocation.openDatabase(forWriting: true))
        try opened.use { try invocation.run(Importer(invocation, database: $0, source: source)) }
    }
}

extension Invocation {
    /// Imports, and says what came of it.
    fileprivate func run(_ importer: Importer) throws {
        var importer = importer
        let figures = try importer.run().summaryFigures
        let tally = importer.tally
        var sentence = "Imported \(figures)"
        if tally.unchanged > 0 {
            sentence += "; \(Quantity.grouped(tally.unchanged)) unchanged"
        }
        if tally.supplied > 0 {
            sentence += "; \(Quantity.counted(tally.supplied, "missing content")) supplied"
        }
        output.remark(sentence + ".")
        if tally.bad > 0 {
            let records = Quantity.counted(tally.bad, "bad record")
            throw CommandFailure(.badInput, "\(records) left out.")
        }
    }
}
