// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanHTTP
internal import DivanJSON
internal import DivanListener
internal import FoundationEssentials

extension Invocation {
    /// Opens the database that the argument DB names.
    ///
    /// Commands that only read open it for reading only, so they work on a database that the user
    /// may not write to, and cannot change it by any mistake.
    func openDatabase(forWriting: Bool = false, creating: Bool = false) throws -> Database {
        var path = try Self.location(arguments.argument("DB"))
        if creating { path = try Self.newLocation(path) }
        var options = databaseOptions
        options.readOnly = !forWriting
        options.create = creating
        do {
            return try Self.open(path, options)
        } catch let error as DatabaseError where error.code == .databaseNotFound {
            // The library's own sentence speaks of its options.
            throw CommandFailure(
                .notFound,
                "There is no database at \(Self.shown(path)). \"divan create\" makes one.")
        }
    }

    /// Opens a database. What is written into `_users` is what a listener would take.
    static func open(_ path: String, _ options: DatabaseOptions) throws -> Database {
        let database = try Database.open(at: URL(filePath: path), options: options)
        ListenerUsers.keepRules(of: database)
        return database
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
