// SPDX-License-Identifier: Apache-2.0

internal import Divan

extension Command {
    /// `divan ls`: the IDs of documents.
    static let ls = Command(
        CommandSchema(
            name: "ls",
            summary: "List the IDs of documents, in their order.",
            discussion: """
                Control characters in an ID are shown as escapes; --json gives every ID exactly.
                """,
            arguments: [.database],
            options: [
                .flag("long", "l", "Show the revision, sequence and state of each document."),
                .flag("json", nil, "Print one JSON object a line."),
                .flag("conflicts", nil, "List only documents in conflict."),
                .flag("deleted", nil, "List deleted documents, too."),
            ] + CommandSchema.rangeOptions,
            examples: [
                "divan ls notes.divan --start a --end b", "divan ls notes.divan -l --conflicts",
            ])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        var options = try invocation.allDocumentsOptions()
        options.includeDeleted = invocation.arguments.flag("deleted")
        options.onlyConflicts = invocation.arguments.flag("conflicts")
        let isLong = invocation.arguments.flag("long")
        let isJSON = invocation.arguments.flag("json")
        let output = invocation.output
        try DocumentPages.forEach(in: database, options, interruption: invocation.interruption) {
            row in
            if isJSON {
                try output.json(row.json, pretty: false)
            } else if isLong {
                try output.line(row.longLine(output.outTerminal))
            } else {
                try output.line(PrintableText.escaping(row.id.text))
            }
        }
    }
}

extension CommandSchema {
    /// The options of every command that goes through the documents in order of ID.
    static let rangeOptions: [OptionSchema] = [
        .value("start", nil, "ID", "Begin at this ID."),
        .value("end", nil, "ID", "End at this ID, which is included."),
        .value("limit", "n", "COUNT", "Stop after so many."),
        .value("skip", nil, "COUNT", "Leave out so many at the beginning."),
        .flag("descending", nil, "Go backwards; --start is then the highest ID."),
    ]
}

extension Invocation {
    func allDocumentsOptions() throws -> AllDocumentsOptions {
        var options = AllDocumentsOptions()
        options.startID = arguments.string("start").map { DocumentID($0) }
        options.endID = arguments.string("end").map { DocumentID($0) }
        options.limit = try arguments.count("limit")
        options.skip = try arguments.count("skip") ?? 0
        options.descending = arguments.flag("descending")
        return options
    }
}

extension DocumentRow {
    fileprivate var json: [UInt8] {
        var text = Array("{".utf8)
        DocumentText.append("id", .string(id.text), to: &text)
        DocumentText.append("rev", .string(revisionID.description), to: &text)
        DocumentText.append("seq", .integer(Int64(clamping: sequence)), to: &text)
        if isDeleted { DocumentText.append("deleted", .bool(true), to: &text) }
        if isConflicted { DocumentText.append("conflict", .bool(true), to: &text) }
        text.append(JSONByte.closeBrace)
        return text
    }

    /// Revision and sequence in columns that fit all but unusual ones, then the ID.
    fileprivate func longLine(_ terminal: Terminal) -> String {
        let number = "\(sequence)"
        let revision = revisionID.description
        let left =
            String(repeating: " ", count: max(0, 9 - number.count)) + number + "  " + revision
            + String(repeating: " ", count: max(0, 36 - revision.count))
        var line = terminal.styled(left, .faint) + "  " + PrintableText.escaping(id.text)
        if isConflicted { line += "  " + terminal.styled("conflict", .warning) }
        if isDeleted { line += "  " + terminal.styled("deleted", .warning) }
        return line
    }
}
