// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanSystem

extension Command {
    /// `divan edit`: a document in an editor, or one property from the command line.
    static let edit = Command(
        CommandSchema(
            name: "edit",
            summary: "Change a document in an editor, or by --set.",
            discussion: """
                Without --set or --unset the document's properties are opened in $VISUAL or \
                $EDITOR. If another process saves the document meanwhile, that is a conflict, and \
                what you wrote is kept in a file whose name is printed.
                A KEY that begins with "/" is a JSON pointer to a property inside another.
                """,
            arguments: [.database, .document],
            options: [
                .value("set", "s", "KEY=JSON", "Set a property.", repeats: true),
                .value("unset", "u", "KEY", "Remove a property.", repeats: true),
            ],
            examples: [
                "divan edit notes.divan n1",
                #"divan edit notes.divan n1 --set done=true --set '/address/zip="1010"'"#,
            ])
    ) { invocation in
        let database = try invocation.openDatabase(forWriting: true)
        defer { database.close() }
        let id = try invocation.arguments.requiredDocumentID()
        let changes = try PropertyChanges(invocation.arguments)
        if changes.isEmpty {
            return try EditorSession(invocation: invocation, database: database).run(id)
        }
        if id.isLocal {
            throw UsageError("A local document is changed with \"divan put\".")
        }
        // A missing document gets its own sentence before an update would fail.
        let before = try invocation.document(id, in: database).properties
        guard try changes.isAnyDue(in: before) else {
            return invocation.output.remark("Nothing was changed.")
        }
        let saved = try database.update(id) { document in
            var properties = document.properties
            try changes.apply(to: &properties)
            document.setProperties(properties)
        }
        try invocation.output.json(DocumentText.receipt(saved), pretty: false)
    }
}

/// The changes that `--set` and `--unset` name.
struct PropertyChanges: Sendable {
    private var changes: [(path: [String], value: JSONValue?)] = []

    var isEmpty: Bool { changes.isEmpty }

    init(_ arguments: ParsedArguments) throws {
        for text in arguments.strings("set") {
            let (key, value) = try JSONInput.assignment(text)
            changes.append((try Self.path(key), value))
        }
        for key in arguments.strings("unset") {
            changes.append((try Self.path(key), nil))
        }
    }

    private static func path(_ key: String) throws(UsageError) -> [String] {
        guard key.hasBytePrefix("/") else { return [key] }
        guard let pointer = JSONPointer(key) else {
            throw UsageError("\"\(key)\" is not a JSON pointer.")
        }
        return pointer.tokens
    }

    /// Whether there is something to do: a property to be set, or one to be removed that is there.
    ///
    /// - Throws: As `apply(to:)`.
    func isAnyDue(in properties: JSONObject) throws(CommandFailure) -> Bool {
        if changes.contains(where: { $0.value != nil }) { return true }
        var left = properties
        try apply(to: &left)
        return left != properties
    }

    /// - Throws: `CommandFailure` where a path leads through something that is no object.
    func apply(to properties: inout JSONObject) throws(CommandFailure) {
        for (path, value) in changes {
            try Self.set(value, at: path[...], in: &properties)
        }
    }

    private static func set(
        _ value: JSONValue?, at path: ArraySlice<String>, in object: inout JSONObject
    ) throws(CommandFailure) {
        guard let key = path.first else { return }
        if path.count == 1 {
            if value == nil { object.removeValue(forKey: key) } else { object[key] = value }
            return
        }
        switch object[key] {
        case .object(var inner)?:
            try set(value, at: path.dropFirst(), in: &inner)
            object[key] = .object(inner)
        case nil:
            guard value != nil else { return }
            var inner: JSONObject = [:]
            try set(value, at: path.dropFirst(), in: &inner)
            object[key] = .object(inner)
        default:
            throw CommandFailure(.badInput, "Property \"\(key)\" is not an object.")
        }
    }
}

/// A document on its way through an editor.
private struct EditorSession {
    let invocation: Invocation
    let database: Database

    func run(_ id: DocumentID) throws {
        let document = try invocation.document(id, in: database)
        let before = document.properties
        var text: [UInt8] = []
        JSONWriter.append(.object(before), to: &text, pretty: true)
        text.append(JSONByte.lineFeed)
        let path = try write(text)
        var keepsFile = false
        defer { if !keepsFile { Files.removeFile(path) } }
        try openEditor(on: path)
        let edited = try InputSource(path: path, interruption: invocation.interruption).readAll()
        if edited == text { return invocation.output.remark("Nothing was changed.") }
        do {
            let properties = try JSONInput.object(edited, name: path)
            if properties == before { return invocation.output.remark("Nothing was changed.") }
            let copy = document.toMutable()
            copy.setProperties(properties)
            let saved = try database.save(copy, .failOnConflict).document
            try invocation.output.json(DocumentText.receipt(saved), pretty: false)
        } catch {
            keepsFile = true
            let failure = CommandFailure(describing: error)
            throw CommandFailure(
                failure.status, failure.message + " What you wrote is kept in \(path).")
        }
    }

    private func write(_ text: [UInt8]) throws -> String {
        let directory = invocation.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        do {
            let (descriptor, path) = try Descriptors.openTemporaryFile(
                prefix: directory + "/divan-", suffix: ".json")
            defer { Descriptors.close(descriptor) }
            try Descriptors.writeAll(text.span, to: descriptor)
            return path
        } catch {
            throw CommandFailure(.failure, "No file can be made in \(directory): \(error.reason).")
        }
    }

    private func openEditor(on path: String) throws {
        let editors = [invocation.environment["VISUAL"], invocation.environment["EDITOR"], "vi"]
        let editor = editors.compactMap { $0 }.first { !$0.isEmpty } ?? "vi"
        // The variable may hold options, as in EDITOR="code --wait": the shell takes it apart.
        let status: Int32
        do {
            status = try Shell.run("exec \(editor) \"$1\"", argument: path)
        } catch {
            throw CommandFailure(.failure, "The editor could not be started: \(error.reason).")
        }
        if status != 0 {
            throw CommandFailure(
                .failure, "The editor \"\(editor)\" failed, so nothing was changed.")
        }
    }
}
