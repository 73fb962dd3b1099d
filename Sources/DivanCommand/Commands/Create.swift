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
                without the key, its data are lost. With --partitioned the ID of every document names its \
                partition, as in sensor-1:42, which cannot be changed later.
                """,
            arguments: [.database],
            options: [
                .flag("if-missing", nil, "Do nothing if the database exists."),
                .flag("partitioned", nil, "Make a partitioned database."),
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
        var options = invocation.databaseOptions
        if invocation.arguments.flag("partitioned") { options.partitioned = true }
        if let name = invocation.arguments.string("engine") {
            options.storageEngine = try EngineChoice.engine(named: name)
        }
        let database: Database
        do { database = try Database.create(at: url, options: options) } catch let error
            as DatabaseError where error.code == .databaseExists
        {
            return try invocation.takeExisting(at: path)
        }
        try OpenedDatabase(database: database, isNew: true).use { database in
            if let limit { try database.setRevisionLimit(limit) }
        }
        invocation.output.remark("Created \(PrintableText.escaping(path)).")
    }
}

extension Invocation {
    /// Takes a database that is there already for the one to make, where that is wanted.
    fileprivate func takeExisting(at path: String) throws {
        guard arguments.flag("if-missing") else {
            throw CommandFailure(.conflict, "The database \(path) exists already.")
        }
        let existing = try Database.open(at: URL(filePath: path), options: databaseOptions)
        defer { existing.close() }
        guard existing.isPartitioned || !arguments.flag("partitioned") else {
            throw CommandFailure(.conflict, "The database \(path) exists, and is not partitioned.")
        }
    }
}
