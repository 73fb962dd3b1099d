// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanSystem
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
                With --keep, DEST is a folder that gets one backup more, named by the time, such as \
                2026-11-27T020000Z: a directory with the database in it. DB may then be a directory of \
                databases, such as "divan serve" serves; all of them are backed up, with the files beside them (users, \
                settings, certificate). The oldest backups go when the new one is whole.
                """,
            arguments: [
                .database,
                ArgumentSchema(
                    name: "DEST", summary: "The backup; nothing may be there yet.",
                    completion: .file),
            ],
            options: copyOptions + [
                .value("keep", nil, "COUNT", "Make one of a series of backups in the folder DEST."),
                .flag("verify", nil, "Check the backup as \"divan verify\" does."),
            ],
            examples: [
                "divan backup notes.divan /backups/notes-monday.divan",
                "divan backup notes.divan /media/stick/notes.divan --new-password prompt",
                "divan backup /var/lib/divan /backups/divan --keep 7 --verify",
            ])
    ) { invocation in
        let form = try invocation.copyForm()
        let destination = try Invocation.location(try invocation.arguments.argument("DEST"))
        if let count = try invocation.arguments.count("keep") {
            guard count > 0 else { throw UsageError("--keep takes a number from 1 on.") }
            return try invocation.addBackup(
                to: BackupSeries(folder: destination, count: count), form.encryption, form.key)
        }
        guard !BackupSeries.isSeries(destination) else {
            throw CommandFailure(
                .conflict,
                "There is a series of backups at \(PrintableText.escaping(destination)). --keep COUNT adds one to it."
            )
        }
        let database = try invocation.openDatabase()
        defer { database.close() }
        try invocation.withProgress("Backing up") { progress in
            try database.backup(
                to: URL(filePath: destination), encryption: form.encryption, progress: progress)
        }
        if invocation.arguments.flag("verify") {
            try invocation.verify(destination, key: form.key)
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
        do {
            try Invocation.reading(source) {
                try invocation.withProgress("Installing") { progress in
                    try invocation.install(source, at: target, form.encryption, progress)
                }
            }
        } catch let error as DatabaseError where error.code == .databaseExists {
            throw CommandFailure(
                .conflict,
                DatabaseDirectory.exists(at: target)
                    ? "The database \(target) exists already; --replace replaces it."
                    : error.message)
        }
        try invocation.report("Installed", at: target, key: form.key)
    }
}

extension Invocation {
    /// How a copy is to be encrypted, and the key that opens it then.
    fileprivate func copyForm() throws -> (encryption: CopyEncryption, key: EncryptionKey?) {
        let key = try KeySource.key(
            arguments, environment, interruption, prefix: "new-", isNew: true)
        let isPlain = arguments.flag("unencrypted")
        guard key == nil || !isPlain else {
            throw UsageError("--unencrypted cannot be given together with a new key or password.")
        }
        if isPlain { return (.none, nil) }
        return (key.map { .key($0) } ?? .unchanged, key ?? self.key)
    }

    /// Puts a copy of a database where none is, or with `--replace` in the place of another one.
    fileprivate func install(
        _ source: String, at target: String, _ encryption: CopyEncryption,
        _ progress: @escaping ProgressHandler
    ) throws {
        let (from, url) = (URL(filePath: source), URL(filePath: target))
        guard arguments.flag("replace") else {
            return try Database.copy(
                from: from, to: url, encryptionKey: key, encryption: encryption, progress: progress)
        }
        let manager = try Manager(directory: url.deletingLastPathComponent())
        defer { manager.close() }
        try manager.replaceDatabase(
            named: String(url.lastPathComponent.dropLast(".divan".count)), from: from,
            encryptionKey: key, encryption: encryption, progress: progress)
    }

    /// Adds a backup to a series.
    fileprivate func addBackup(
        to series: BackupSeries, _ encryption: CopyEncryption, _ key: EncryptionKey?
    ) throws {
        let source = try Self.location(try arguments.argument("DB"))
        let isDatabase = source.hasByteSuffix(".divan")
        guard Files.isDirectory(source) else {
            throw CommandFailure(
                .notFound,
                "There is neither a database nor a directory at \(PrintableText.escaping(source)).")
        }
        let names =
            try isDatabase
            ? [Files.lastComponent(of: source)]
            : Files.list(source).filter { $0.hasByteSuffix(".divan") }
        let parent = isDatabase ? Files.parent(of: source) : source
        var count = 0
        let (path, removed) = try series.add { part in
            // The files first: a user who is removed meanwhile is rather there than a database that no user may read.
            if !isDatabase { try copyFiles(from: source, to: part) }
            for name in names {
                var options = databaseOptions
                options.readOnly = true
                options.create = false
                let place = URL(filePath: "\(parent)/\(name)")
                let database: Database
                do { database = try Database.open(at: place, options: options) } catch let error
                    as DatabaseError where error.code == .databaseNotFound && !isDatabase
                {
                    // A client may have deleted it since the names were read. But where its entry is still there, a disk may be
                    // missing, and the backups that have the database must not go for one that has not.
                    guard try Files.list(source).contains(where: { $0.hasSameBytes(as: name) })
                    else { continue }
                    throw CommandFailure(
                        .notFound,
                        "There is no database in \(PrintableText.escaping("\(parent)/\(name)")); mount or restore it, or remove what is there."
                    )
                }
                defer { database.close() }
                count += 1
                try withProgress("Backing up \(database.name)") { progress in
                    try database.backup(
                        to: URL(filePath: "\(part)/\(name)"), encryption: encryption,
                        progress: progress)
                }
                if arguments.flag("verify") { try verify("\(part)/\(name)", key: key) }
            }
            guard try count > 0 || !series.hasDatabases else {
                throw CommandFailure(
                    .notFound,
                    "There is no database in \(PrintableText.escaping(source)), as there was before; mount or restore it, or begin a new series."
                )
            }
        }
        let old = removed == 0 ? "" : "; \(Quantity.counted(removed, "old backup")) went"
        output.remark(
            "Backed up \(Quantity.counted(count, "database")), \(Quantity.bytes(Files.size(of: path))), at"
                + " \(PrintableText.escaping(path))\(old).")
    }

    /// Copies the files that lie beside databases, which only their owner may read.
    private func copyFiles(from source: String, to part: String) throws {
        for name in try Files.list(source) {
            let path = "\(source)/\(name)"
            // What is being written, and what says something of a process.
            let isPassing =
                name.hasByteSuffix(".new") || name.hasByteSuffix(".lock")
                || name == "replicator-starts"
            guard !isPassing, Files.status(of: path)?.kind == .regular else { continue }
            guard let bytes = OwnersFile.read(path),
                OwnersFile.replace("\(part)/\(name)", bytes)
            else {
                // One that was removed meanwhile is no loss.
                guard Files.exists(path) else { continue }
                throw CommandFailure(
                    .failure,
                    "\(PrintableText.escaping(path)) could not be copied; check its rights."
                )
            }
        }
    }

    /// Checks a backup as `divan verify` does.
    fileprivate func verify(_ path: String, key: EncryptionKey?) throws {
        var options = databaseOptions
        options.encryptionKey = key
        let database = try Database.open(at: URL(filePath: path), options: options)
        defer { database.close() }
        let problems = try withProgress("Verifying \(database.name)") { progress in
            try database.verificationReport(progress: progress).problems
        }
        guard problems.isEmpty else {
            throw CommandFailure(
                .problemsFound,
                "The backup of \(database.name) has \(Quantity.counted(problems.count, "problem")); \"divan verify\" of"
                    + " the original lists them.")
        }
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
