// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import FoundationEssentials

extension Command {
    /// `divan create`: a new, empty database.
    static let create = Command(
        CommandSchema(
            name: "create",
            summary: "Create an empty database.",
            discussion: """
                The name of a database begins with a small letter and goes on in small letters, \
                digits and any of _$()+-, and its directory is the name and ".divan", which is added \
                where it is missing. With --encryption-key or --encryption-password the database is encrypted: \
                without the key, its data are lost.
                """,
            arguments: [.database],
            options: [
                .flag("if-missing", nil, "Do nothing if the database exists."),
                .value("engine", nil, "ENGINE", "The storage engine, sqlite (default) or lmdb."),
                RevisionLimit.option("Keep so many revision IDs a branch, not 1000."),
            ],
            examples: [
                "divan create notes.divan", "divan create notes.divan --engine lmdb",
                "divan create diary.divan --encryption-password prompt",
            ])
    ) { invocation in
        let limit = try RevisionLimit.read(invocation.arguments)
        let path = try Invocation.newLocation(
            try Invocation.location(try invocation.arguments.argument("DB")))
        let url = URL(filePath: path)
        if FileManager.default.fileExists(atPath: path) {
            let existing = try? Database.open(at: url, options: invocation.databaseOptions)
            if existing != nil, invocation.arguments.flag("if-missing") { return }
            if existing != nil {
                throw CommandFailure(.conflict, "The database \(path) exists already.")
            }
        }
        var options = invocation.databaseOptions
        options.create = true
        if let name = invocation.arguments.string("engine") {
            options.storageEngine = try EngineChoice.engine(named: name)
        }
        let database = try Database.open(at: url, options: options)
        defer { database.close() }
        if let limit { try database.setRevisionLimit(limit) }
        invocation.output.remark("Created \(PrintableText.escaping(path)).")
    }
}
