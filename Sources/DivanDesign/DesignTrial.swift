// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
internal import DivanModel
internal import DivanQuery

/// The functions of a design document, tried on one document.
///
/// Nothing is stored, and no index is read. Each function is tried by itself, so that one that does not compile keeps no
/// other from being tried.
package struct DesignTrial: Sendable {
    /// What a view makes of a document.
    package struct Rows: Sendable {
        /// The keys and values that it emits, in order.
        package var rows: [(key: PackedValue, value: PackedValue)] = []
        /// What its own reduce function makes of these rows; nil when it has none, or emits nothing.
        package var reduction: PackedValue?
        /// What its functions logged; an exception of a map function is logged, too.
        package var logs: [String] = []
    }

    /// The design document.
    package let design: Document
    private let views: DesignViews
    private let database: Database
    private let processes: any ScriptProcesses
    private let functions: DesignFunctions

    init(_ design: Document, in database: Database, by processes: any ScriptProcesses) {
        self.design = design
        self.database = database
        self.processes = processes
        views = DesignViews(design.body)
        functions = DesignFunctions(design, of: database.incarnation, by: processes)
    }

    // MARK: - What there is to try

    /// The names of the views, in order.
    package var viewNames: [String] { views.views.map(\.name) }

    /// The names of the filters, in order.
    package var filterNames: [String] {
        var names: [String] = []
        design.body["filters"]?.forEachProperty { name, source in
            if source.string != nil { names.append(name) }
        }
        return names
    }

    /// Whether it has a validation function.
    package var validates: Bool { design["validate_doc_update"].string != nil }

    // MARK: - Trying it

    /// Runs the map function of a view, and its reduce function on what that emits.
    ///
    /// - Parameters:
    ///   - name: The view; one without a map function emits nothing.
    ///   - document: The document.
    /// - Returns: What the view makes of it.
    /// - Throws: `ScriptError`, and `DatabaseError` when the revision tree of the document cannot be read.
    package func rows(of name: String, for document: Document) throws -> Rows {
        guard let view = views.views.first(where: { $0.name.hasSameBytes(as: name) }) else {
            return Rows()
        }
        var line = Array("[\"map_doc\",".utf8)
        ScriptText.append(
            document, tree: try database.revisionTree(of: document.id),
            showsSequence: views.showsSequence, to: &line)
        line.append(UInt8(ascii: "]"))
        let program = ScriptProgram(
            key: "trial \(database.incarnation) \(design.id) \(design.revisionID) \(name)",
            commands: views.commands(for: [view]))
        let (command, id) = (line, document.id)
        return try processes.withProcess(for: program) { process throws(ScriptError) in
            var result = Rows()
            let answer = try process.ask(command)
            result.logs = answer.logs
            var isTooDeep = false
            try answer.rows()[0]?.forEachElement { row in
                isTooDeep = isTooDeep || row.bool == false
                if let key = row[0], let value = row[1] { result.rows.append((key, value)) }
            }
            if isTooDeep { throw .tooDeep }
            guard let source = view.reduce, !source.isEmpty else { return result }
            if source.utf8.first == UInt8(ascii: "_") {
                guard BuiltInReduce.reduce(named: source) != nil else {
                    throw .noSuchReduce(source)
                }
            } else if !result.rows.isEmpty {
                let reduced = try process.ask(Self.reducing(result.rows, of: id, by: source))
                result.logs += reduced.logs
                result.reduction = try reduced.value()[1]?[0]
            }
            return result
        }
    }

    /// Whether a document passes a filter.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - name: The filter.
    ///   - query: The parameters that it is given, as `req.query`.
    ///   - caller: For whom it runs.
    /// - Returns: Whether it passes.
    /// - Throws: `DatabaseError` with code `.scriptFailed`, whose `underlying` is a `ScriptError`.
    package func passes(
        _ document: Document, through name: String, _ query: JSONObject,
        for caller: DesignCaller
    ) throws -> Bool {
        let request: JSONObject = [
            "query": .object(ScriptText.query(query)), "userCtx": .object(caller.user),
            "secObj": .object(try caller.security()),
        ]
        return try functions.passes([document], through: name, request)[0]
    }

    /// Asks the validation function whether a revision might follow another one.
    ///
    /// - Parameters:
    ///   - document: The revision.
    ///   - old: The one before it; nil when there is none.
    ///   - caller: Who stores it.
    /// - Returns: The refusal; nil when the revision may be stored.
    /// - Throws: `ScriptError` when the function does not run, and `DatabaseError`.
    package func refusal(
        of document: Document, after old: Document?, for caller: DesignCaller
    ) throws -> ScriptError? {
        let history = try database.revisionTree(of: document.id)?.history(of: document.revisionID)
        return try functions.verdict([
            ScriptText.text(document, history: history ?? [document.revisionID]),
            ScriptText.text(old), ScriptText.text(.object(caller.user)),
            ScriptText.text(.object(try caller.security())),
        ])
    }

    private static func reducing(
        _ rows: [(key: PackedValue, value: PackedValue)], of id: DocumentID, by source: String
    ) -> [UInt8] {
        let texts = rows.map { key, value in
            let key = ScriptText.array([jsonText(key), ScriptText.text(.string(id.text))])
            return ScriptText.array([key, jsonText(value)])
        }
        let functions = ScriptText.array([ScriptText.text(.string(source))])
        return ScriptText.command("reduce", functions, ScriptText.array(texts))
    }

    private static func jsonText(_ value: PackedValue) -> [UInt8] {
        var bytes: [UInt8] = []
        value.appendJSON(to: &bytes)
        return bytes
    }
}

extension DesignDocuments {
    /// The functions of a design document that has been read, to be tried.
    ///
    /// - Parameter design: The design document.
    /// - Returns: The functions.
    /// - Throws: `DatabaseError` with code `.scriptFailed` when nothing runs its language.
    package func trial(of design: Document) throws -> DesignTrial {
        try functions.trial(of: design, database)
    }

    /// Whether the version of a stored index says that it is the index of a design document's view.
    ///
    /// - Parameter version: The version, as an index report has it.
    /// - Returns: Whether it does.
    package static func hasMade(_ version: String) -> Bool {
        version.hasBytePrefix(DesignViews.prefix)
    }
}
