// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanHTTP
internal import DivanJSON
internal import DivanListener
internal import DivanSystem
internal import FoundationEssentials

extension Invocation {
    /// Opens the database that the argument DB names.
    ///
    /// Commands that only read open it for reading only, so they work on a database that the user
    /// may not write to, and cannot change it by any mistake.
    func openDatabase(forWriting: Bool = false) throws -> Database {
        try openDatabase(at: Self.location(arguments.argument("DB")), forWriting: forWriting)
    }

    /// Opens a database that is there. What is written into `_users` is what a listener would take.
    func openDatabase(at path: String, forWriting: Bool) throws -> Database {
        var options = databaseOptions
        options.readOnly = !forWriting
        do {
            let database = try Database.open(at: URL(filePath: path), options: options)
            ListenerUsers.keepRules(of: database)
            return database
        } catch let error as DatabaseError where error.code == .databaseNotFound {
            throw Self.noDatabase(at: path)
        }
    }

    /// Opens a database for writing, and makes it where it is missing.
    func openOrCreateDatabase(at path: String) throws -> OpenedDatabase {
        let path = try Self.newLocation(Self.location(path))
        do {
            let database = try Database.create(at: URL(filePath: path), options: databaseOptions)
            ListenerUsers.keepRules(of: database)
            return OpenedDatabase(database: database, isNew: true)
        } catch let error as DatabaseError where error.code == .databaseExists {
            return OpenedDatabase(database: try openDatabase(at: path, forWriting: true))
        }
    }

    /// Does work that needs the database at a path.
    static func reading<Result>(_ path: String, _ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as DatabaseError
            where error.code == .databaseNotFound
        { throw noDatabase(at: path, "Check the path.") }
    }

    /// Says that there is no database at a path, and which one may be meant.
    static func noDatabase(
        at path: String, _ remedy: String = "\"divan create\" makes one."
    ) -> CommandFailure {
        let hint = example(in: path).map { "One in it is \(shown($0))." } ?? remedy
        return CommandFailure(.notFound, "There is no database at \(shown(path)). \(hint)")
    }

    /// The path of a database in a directory of databases, or in the newest of a series of backups.
    private static func example(in path: String) -> String? {
        let names = (try? Files.list(path)) ?? []
        if let name = names.first(where: { $0.hasByteSuffix(".divan") }) {
            return "\(path)/\(name)"
        }
        return names.last(where: BackupSeries.isTime).flatMap { example(in: "\(path)/\($0)") }
    }

    /// Completes the path of a database that may be created.
    ///
    /// - Throws: `CommandFailure` if its last part is not a name for a database.
    static func newLocation(_ path: String) throws(CommandFailure) -> String {
        let path = path.hasByteSuffix(".divan") ? path : path + ".divan"
        let name = String(URL(filePath: path).lastPathComponent.dropLast(".divan".count))
        guard Manager.isValidDatabaseName(name) else {
            throw CommandFailure(
                .badInput,
                "\"\(shown(name))\" is not a name for a database; \"divan create --help\" has the rules."
            )
        }
        return path
    }

    /// A path as messages show it; a URL that was written wrongly is taken for one, and may hold a password.
    static func shown(_ path: String) -> String {
        let bytes = path.utf8
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")),
            bytes[..<at].contains(UInt8(ascii: ":"))
        else { return path }
        return HTTPURL.shown(path)
    }

    /// Completes a path: `notes` names `notes.divan` where there is no other `notes`.
    ///
    /// - Throws: `UsageError` for an empty path, which would name the current directory.
    static func location(_ path: String) throws(UsageError) -> String {
        var path = path
        while path.count > 1, path.hasByteSuffix("/") { path.removeLast() }
        if path.isEmpty { throw UsageError("DB is empty.") }
        let suffix = ".divan"
        let manager = FileManager.default
        if !path.hasByteSuffix(suffix), !manager.fileExists(atPath: path),
            manager.fileExists(atPath: path + suffix)
        {
            return path + suffix
        }
        return path
    }

    /// Returns a document, or says which way there is none.
    func document(_ id: DocumentID, in database: Database) throws -> Document {
        if let document = try database.document(withID: id) { return document }
        guard try database.revisionTree(of: id) == nil else {
            throw CommandFailure(
                .notFound,
                "Document \"\(id)\" is deleted. \"divan tree\" shows its revisions, and"
                    + " \"divan get --rev\" prints one.")
        }
        throw CommandFailure(.notFound, "There is no document \"\(id)\".")
    }
}

/// A database that a command writes to, and may have made.
struct OpenedDatabase {
    let database: Database
    /// Whether this run has made it.
    var isNew = false

    /// Closes it after a failure. One that this run has made goes again, unless something was stored in it meanwhile.
    func closeAfterFailure() {
        defer { database.close() }
        guard isNew else { return }
        do { try database.closeDeletingUnused() } catch {
            Log.database.warning(
                "The empty database '\(database.name)' stays: \(CommandFailure(describing: error).message)"
            )
        }
    }

    /// Does work with it, and closes it.
    func use<Result>(_ work: (Database) throws -> Result) throws -> Result {
        do {
            let result = try work(database)
            database.close()
            return result
        } catch {
            closeAfterFailure()
            throw error
        }
    }
}

/// Reads JSON that a user wrote on the command line, in a file or in an editor.
enum JSONInput {
    static func object(_ text: [UInt8], name: String) throws(CommandFailure) -> JSONObject {
        guard case .object(let object) = try value(text, name: name) else {
            throw CommandFailure(.badInput, "\(name): a document is a JSON object.")
        }
        return object
    }

    static func value(_ text: [UInt8], name: String) throws(CommandFailure) -> JSONValue {
        do {
            return try JSONParser.parse(text.span)
        } catch {
            throw CommandFailure(.badInput, "\(name) is not JSON. \(error)")
        }
    }

    /// Reads `key=json`, as `--set` and `--param` take it.
    static func assignment(
        _ text: String, option: String = "set"
    ) throws -> (key: String, value: JSONValue) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw UsageError("--\(option) takes KEY=JSON, not \"\(text)\".")
        }
        let key = String(text[..<equals])
        let json = Array(text[text.index(after: equals)...].utf8)
        guard let value = try? JSONParser.parse(json.span) else {
            throw UsageError(
                "The value in --\(option) \(text) is not JSON; text needs quotation marks, as in"
                    + " --\(option) '\(key)=\"text\"'.")
        }
        return (key, value)
    }
}
