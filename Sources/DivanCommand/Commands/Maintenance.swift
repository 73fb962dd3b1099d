// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import FoundationEssentials

extension Command {
    /// `divan compact`: old bodies go, and the disk gets its space back.
    static let compact = Command(
        CommandSchema(
            name: "compact",
            summary: "Delete the bodies of old revisions and give their space back.",
            discussion: """
                Revision IDs stay in the history, and so do the bodies of all leaves. Attachments \
                go that no stored revision refers to. Others may read and write meanwhile.
                """,
            arguments: [.database],
            options: [.flag("json", nil, "Print a JSON object.")],
            examples: ["divan compact notes.divan"])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let result = try invocation.withProgress("Compacting") { progress in
            try database.compact(progress: progress)
        }
        if invocation.arguments.flag("json") {
            try invocation.output.line(
                "{\"bodies_deleted\":\(result.bodiesDeleted),"
                    + "\"attachments_removed\":\(result.attachmentsRemoved),"
                    + "\"bytes_freed\":\(result.bytesFreed)}")
        } else {
            // The files can grow by a page or two, when there was nothing to free.
            try invocation.output.line(
                "Deleted \(Quantity.grouped(result.bodiesDeleted)) old"
                    + " \(result.bodiesDeleted == 1 ? "body" : "bodies"),"
                    + (result.attachmentsRemoved == 0
                        ? "" : " \(Quantity.counted(result.attachmentsRemoved, "attachment")),")
                    + " freed \(Quantity.bytes(max(0, result.bytesFreed))).")
        }
        if result.attachmentsSkipped {
            invocation.output.remark(
                "A backup is being made, so unused attachments were left; compact again after it.")
        }
    }

    /// `divan verify`: every rule of the format, checked.
    static let verify = Command(
        CommandSchema(
            name: "verify",
            summary: "Check every invariant of a database and say what is wrong.",
            discussion: """
                Every row is read: the engine's structure and checksums, each document's tree and \
                bodies, the counters. Nothing is changed. Each problem is a line; the exit code is \
                5 if there are any. Names of attachments that other databases refuse are told, and \
                are no problem.
                """,
            arguments: [.database],
            options: [.flag("json", nil, "Print each problem as a JSON object.")],
            examples: ["divan verify notes.divan"])
    ) { invocation in
        let database = try invocation.openDatabase()
        defer { database.close() }
        let report = try invocation.withProgress("Verifying") { progress in
            try database.verificationReport(progress: progress)
        }
        let problems = report.problems
        try invocation.show(problems)
        for notice in report.notices {
            invocation.output.remark(PrintableText.escaping(notice.message))
        }
        guard problems.isEmpty else {
            throw CommandFailure(
                .problemsFound,
                "\(database.path) has \(Quantity.counted(problems.count, "problem"))."
                    + (report.canBeSalvaged
                        ? " \"divan salvage\" copies what can be read."
                        : " \"divan salvage\" cannot read around damage of this kind: restore a backup.")
            )
        }
        let terminal = invocation.output.errTerminal
        invocation.output.remark(terminal.styled("No problems found.", .good))
        let unused = try database.unusedAttachments()
        if unused.files > 0 {
            invocation.output.remark(
                "\(Quantity.counted(unused.files, "attachment")) with \(Quantity.bytes(unused.bytes))"
                    + " can go: nothing refers to them. \"divan compact\" removes them.")
        }
    }

    /// `divan salvage`: what can still be read of a damaged database.
    static let salvage = Command(
        CommandSchema(
            name: "salvage",
            summary: "Copy every readable document of a damaged database to a new one.",
            discussion: """
                The source is only read. What could not be copied is listed, a line each; the exit \
                code is 5 if there is any such thing. What interrupts it leaves no database behind, and \
                it can be run again.
                """,
            arguments: [
                ArgumentSchema(
                    name: "SOURCE", summary: "The damaged database.", completion: .database),
                ArgumentSchema(
                    name: "DEST", summary: "The new database; nothing may be there yet.",
                    completion: .file),
            ],
            options: [.flag("json", nil, "Print each loss as a JSON object.")],
            examples: ["divan salvage notes.divan rescued.divan"])
    ) { invocation in
        let source = try Invocation.location(try invocation.arguments.argument("SOURCE"))
        let destination = try Invocation.location(try invocation.arguments.argument("DEST"))
        let result = try Invocation.reading(source) {
            try invocation.withProgress("Salvaging") { progress in
                try Database.salvage(
                    from: URL(filePath: source), to: URL(filePath: destination),
                    encryptionKey: invocation.key, progress: progress)
            }
        }
        try invocation.show(result.problems)
        invocation.output.remark(
            "Copied \(Quantity.counted(result.documentsCopied, "document"))"
                + " with \(Quantity.counted(result.revisionsCopied, "revision")).")
        if !result.problems.isEmpty {
            throw CommandFailure(
                .problemsFound,
                "\(Quantity.counted(result.problems.count, "thing")) could not be copied.")
        }
    }

    /// `divan inspect`: rows as they are stored, for people who work on Divan.
    static let inspect = Command(
        CommandSchema(
            name: "inspect",
            summary: "List the raw rows of a database, for developers of Divan.",
            discussion: """
                Each row is a line: its store, its key, the size of its value, and what the value \
                says, without any content of documents. docs/internal/file-format.md explains the stores.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "STORE", summary: "List this store only.", count: .optional,
                    completion: .choices(Database.storeNames)),
            ],
            options: [
                .value("limit", "n", "COUNT", "Stop after so many rows."),
                .flag("json", nil, "Print each row as a JSON object."),
            ],
            examples: ["divan inspect notes.divan documents --limit 10"]),
        run: runInspect)

    private struct LimitReached: Error {}

    private static func runInspect(_ invocation: Invocation) throws {
        let store = invocation.arguments.optionalArgument("STORE")
        if let store, !Database.storeNames.contains(store) {
            throw UsageError(
                "There is no store \"\(store)\": the stores are"
                    + " \(Database.storeNames.joined(separator: ", ")).")
        }
        let database = try invocation.openDatabase()
        defer { database.close() }
        var left = try invocation.arguments.count("limit") ?? .max
        let isJSON = invocation.arguments.flag("json")
        do {
            try database.inspect(store: store) { row in
                try invocation.interruption.check()
                if left == 0 { throw LimitReached() }
                left -= 1
                if isJSON {
                    try invocation.output.json(row.json, pretty: false)
                } else {
                    try invocation.output.line(row.line(invocation.output.outTerminal))
                }
            }
        } catch is LimitReached {}
    }
}

extension Invocation {
    /// Runs long work with a bar; Control-C stops it at its next report.
    func withProgress<Result>(
        _ title: String, _ work: (@escaping ProgressHandler) throws -> Result
    ) throws -> Result {
        let bar = ProgressBar(title, noun: "", output: output)
        defer { bar.finish() }
        return try work { [interruption] progress in
            try interruption.check()
            bar.update(
                title: "\(title): \(progress.phase)", completed: progress.completed,
                total: progress.total)
        }
    }

    fileprivate func show(_ problems: [VerificationProblem]) throws {
        for problem in problems {
            if arguments.flag("json") {
                var text = Array("{".utf8)
                DocumentText.append("message", .string(problem.message), to: &text)
                if let id = problem.documentID {
                    DocumentText.append("id", .string(id.text), to: &text)
                }
                try output.json(text + [JSONByte.closeBrace], pretty: false)
            } else {
                try output.line(PrintableText.escaping(problem.message))
            }
        }
    }
}

extension InspectedRow {
    fileprivate var json: [UInt8] {
        var text = Array("{".utf8)
        DocumentText.append("store", .string(store), to: &text)
        DocumentText.append("key", .string(key), to: &text)
        DocumentText.append("bytes", JSONValue(byteCount), to: &text)
        DocumentText.append("summary", .string(summary), to: &text)
        return text + [JSONByte.closeBrace]
    }

    fileprivate func line(_ terminal: Terminal) -> String {
        let size = terminal.styled("\(byteCount) B", .faint)
        let words = [store, terminal.styled(PrintableText.escaping(key), .key), size]
        return words.joined(separator: "  ") + "  " + PrintableText.escaping(summary)
    }
}
