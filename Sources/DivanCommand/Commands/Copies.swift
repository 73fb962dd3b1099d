// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import FoundationEssentials

extension Command {
    /// How the copy is encrypted, where that is not as its source.
    private static var copyOptions: [OptionSchema] {
        [
            .value(
                "new-key", nil, KeySource.valueName,
                "Encrypt the copy with a key of its own, 32 bytes or 64 hexadecimal digits, from "
                    + "\(KeySource.forms)."),
            .value("new-password", nil, KeySource.valueName, "The same with a password."),
            .flag("unencrypted", nil, "Do not encrypt the copy."),
        ]
    }

    /// `divan backup`: the database as it is now, kept aside.
    static let backup = Command(
        CommandSchema(
            name: "backup",
            summary: "Copy a database, as it is now, to a new directory.",
            discussion: """
                Others may read and write meanwhile; the backup is what was committed when it began, \
                attachments included. It is a database like any other, with the UUIDs of the original; \
                "divan install" puts it back. What Control-C interrupts leaves nothing behind.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "DEST", summary: "The backup; nothing may be there yet.",
                    completion: .file),
            ],
            options: copyOptions,
            examples: [
                "divan backup notes.divan /backups/notes-monday.divan",
                "divan backup notes.divan /media/stick/notes.divan --new-password prompt",
            ])
    ) { invocation in
        let form = try invocation.copyForm()
        let destination = try Invocation.location(try invocation.arguments.argument("DEST"))
        let database = try invocation.openDatabase()
        defer { database.close() }
        try invocation.withProgress("Backing up") { progress in
            try database.backup(
                to: URL(filePath: destination), encryption: form.encryption, progress: progress)
        }
        try invocation.report("Backed up", at: destination, key: form.key)
    }

    /// `divan install`: a database made elsewhere, put in its place.
    static let install = Command(
        CommandSchema(
            name: "install",
            summary: "Put a copy of a prebuilt database or a backup in its place.",
            discussion: """
                The source is only read, and checked before anything is replaced. The copy gets new \
                UUIDs, so a replication starts over. A database is replaced in one step, and only if \
                no process has it open: whenever power or process end, there is the old one or the new \
                one, whole.
                """,
            arguments: [
                ArgumentSchema(
                    name: "SOURCE", summary: "The database to install.", completion: .database),
                ArgumentSchema(
                    name: "DB", summary: "The database to make, or to replace.",
                    completion: .database),
            ],
            options: [.flag("replace", nil, "Replace the database that is there.")] + copyOptions,
            examples: [
                "divan install /usr/share/notes/notes.divan notes.divan",
                "divan install /backups/notes-monday.divan notes.divan --replace",
            ])
    ) { invocation in
        let form = try invocation.copyForm()
        let source = try Invocation.location(try invocation.arguments.argument("SOURCE"))
        let target = try Invocation.newLocation(
            try Invocation.location(try invocation.arguments.argument("DB")))
        let url = URL(filePath: target)
        let name = String(url.lastPathComponent.dropLast(".divan".count))
        let manager = try Manager(directory: url.deletingLastPathComponent())
        defer { manager.close() }
        guard invocation.arguments.flag("replace") || !manager.databaseExists(named: name) else {
            throw CommandFailure(
                .conflict, "The database \(target) exists already; --replace replaces it.")
        }
        try invocation.withProgress("Installing") { progress in
            try manager.replaceDatabase(
                named: name, from: URL(filePath: source), encryptionKey: invocation.key,
                encryption: form.encryption, progress: progress)
        }
        try invocation.report("Installed", at: target, key: form.key)
    }
}

extension Invocation {
    /// How a copy is to be encrypted, and the key that opens it then.
    fileprivate func copyForm() throws -> (encryption: CopyEncryption, key: EncryptionKey?) {
        let key = try KeySource.key(arguments, environment, prefix: "new-", isNew: true)
        let isPlain = arguments.flag("unencrypted")
        guard key == nil || !isPlain else {
            throw UsageError("--unencrypted cannot be given together with a new key or password.")
        }
        if isPlain { return (.none, nil) }
        return (key.map { .key($0) } ?? .unchanged, key ?? self.key)
    }

    /// Says what a new database holds.
    fileprivate func report(_ verb: String, at path: String, key: EncryptionKey?) throws {
        // For writing, since a reader leaves the engine's index of its log behind.
        var options = databaseOptions
        options.encryptionKey = key
        let database = try Database.open(at: URL(filePath: path), options: options)
        defer { database.close() }
        let count = Quantity.counted(try database.documentCount, "document")
        let size = Quantity.bytes(try database.diskSize)
        output.remark("\(verb) \(count), \(size), at \(PrintableText.escaping(path)).")
    }
}
