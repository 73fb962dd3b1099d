// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan info`: what a database is, in a dozen lines.
    static let info = Command(
        CommandSchema(
            name: "info",
            summary: "Show what is known about a database.",
            arguments: [.database],
            options: [.flag("json", nil, "Print a JSON object.")],
            examples: ["divan info notes.divan", "divan info notes.divan --json"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let facts = try DatabaseFacts(database)
        let output = invocation.output
        if invocation.arguments.flag("json") {
            var text: [UInt8] = []
            JSONWriter.append(.object(facts.json), to: &text)
            return try output.json(text)
        }
        var table = TextTable([.left, .left])
        for (name, value) in facts.lines {
            table.add(name, PrintableText.escaping(value))
        }
        for line in table.lines { try output.line(line) }
    }
}

/// What `divan info` shows, in both of its forms.
private struct DatabaseFacts {
    let json: JSONObject
    let lines: [(String, String)]

    init(_ database: Database) throws {
        let (count, sequence) = try database.read { transaction in
            (try transaction.documentCount, try transaction.lastSequence)
        }
        let size = try database.diskSize
        let depth = try database.revisionBodyLimit
        let limit = try database.revisionLimit
        let hasConflicts = try database.hasConflicts()
        let unrun = try database.unrunValidations()
        let earlier = try database.earlierData()
        json = [
            "name": .string(database.name),
            "path": .string(database.path),
            "documents": JSONValue(count),
            "last_sequence": .integer(Int64(clamping: sequence)),
            "conflicts": .bool(hasConflicts),
            "disk_size": JSONValue(size),
            "engine": .string(database.storageEngineName),
            "encrypted": .bool(database.isEncrypted),
            "partitioned": .bool(database.isPartitioned),
            "revision_depth": JSONValue(depth),
            "revision_limit": JSONValue(limit),
            "public_uuid": .string(database.publicUUID),
            "unrun_validations": .array(unrun.map { .string($0.text) }),
            "earlier_data": .array(earlier.map { .string($0) }),
        ]
        var lines = [
            ("Name", database.name),
            ("Path", database.path),
            ("Documents", Quantity.grouped(count)),
            ("Last sequence", Quantity.grouped(Int(clamping: sequence))),
            ("Conflicts", hasConflicts ? "yes: \"divan ls --conflicts\" lists them" : "none"),
            ("Size on disk", Quantity.bytes(size)),
            ("Engine", database.storageEngineName),
            ("Encrypted", database.isEncrypted ? "yes" : "no"),
            ("Partitioned", database.isPartitioned ? "yes" : "no"),
            ("Revisions kept", "\(Quantity.grouped(depth)) a branch"),
            ("Revision IDs kept", "\(Quantity.grouped(limit)) a branch"),
            ("Public UUID", database.publicUUID),
        ]
        if !unrun.isEmpty {
            let names =
                unrun.prefix(3).map(\.text).joined(separator: ", ")
                + (unrun.count > 3 ? " and \(unrun.count - 3) more" : "")
            lines.append(
                ("Rules not kept", "validate_doc_update of \(names): nothing here runs it"))
        }
        if !earlier.isEmpty {
            lines.append(("Earlier data", Self.warning(of: earlier, database.isEncrypted)))
        }
        self.lines = lines
    }

    private static func warning(of earlier: [String], _ isEncrypted: Bool) -> String {
        "in \(earlier.joined(separator: ", "))"
            + (isEncrypted ? ", which may be readable without the key" : "")
            + ": \"divan compact\" removes it while no other process has the database open"
    }
}
