// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanListener

extension Invocation {
    /// Runs functions of a design document on a document, and shows what comes of it.
    ///
    /// - Parameters:
    ///   - name: The design document.
    ///   - functions: Which functions; none for all.
    ///   - id: The document.
    /// - Throws: `CommandFailure` with `.problemsFound` when a function does not run.
    func checkDesign(_ name: String, _ functions: [String], _ id: DocumentID) throws {
        let check = try DesignCheck(self)
        let database = try openDatabase()
        defer { database.close() }
        let design = try design(name, in: database)
        let document = try document(id, in: database)
        try enableScripts(in: database)
        try check.run(
            try database.designDocuments.trial(of: design), functions, on: document, in: database)
    }
}

/// What `divan design check` was asked to do.
private struct DesignCheck {
    private enum Function {
        case view(String)
        case filter(String)
        case validation

        var path: String {
            switch self {
            case .view(let name): "views/\(name)"
            case .filter(let name): "filters/\(name)"
            case .validation: "validate_doc_update"
            }
        }

        /// Whether a word of the command line means it.
        func isMeant(by word: String) -> Bool {
            switch self {
            case .view(let name), .filter(let name):
                word.hasSameBytes(as: path) || word.hasSameBytes(as: name)
            case .validation: word.hasSameBytes(as: path)
            }
        }
    }

    /// What is shown of a function: words, and the members of an object.
    private struct Finding {
        var words: String
        var lines: [String] = []
        var json: [(key: String, value: JSONValue)]
        var isProblem = false

        /// A function that does not run.
        init(failed error: ScriptError) {
            let reason = error.reason.isEmpty ? error.message : error.reason
            words = "does not run (\(error.name)): \(reason)"
            json = [("error", .string(error.name)), ("reason", .string(reason))]
            isProblem = true
        }

        init(_ words: String, _ json: [(key: String, value: JSONValue)]) {
            self.words = words
            self.json = json
        }
    }

    private let invocation: Invocation
    private let parameters: JSONObject
    private let user: String?
    private let roles: [String]

    init(_ invocation: Invocation) throws {
        self.invocation = invocation
        let arguments = invocation.arguments
        var parameters: JSONObject = [:]
        for text in arguments.strings("param") {
            let (key, value) = try JSONInput.assignment(text, option: "param")
            parameters[key] = value
        }
        self.parameters = parameters
        user = arguments.string("user")
        roles = arguments.strings("role")
        guard user != nil || roles.isEmpty else {
            throw UsageError("--role goes with --user NAME.")
        }
    }

    func run(
        _ trial: DesignTrial, _ words: [String], on document: Document, in database: Database
    ) throws {
        var problems = 0
        for function in try functions(trial, words) {
            let finding: Finding
            do {
                finding = try find(function, trial, document, database)
            } catch {
                let cause = (error as? DatabaseError)?.underlying ?? error
                guard let failure = cause as? ScriptError else { throw error }
                finding = Finding(failed: failure)
            }
            problems += finding.isProblem ? 1 : 0
            try show(finding, of: function)
        }
        guard problems == 0 else {
            throw CommandFailure(
                .problemsFound,
                "\(Quantity.counted(problems, "function")) of \"\(trial.design.id)\" did not run; mend what "
                    + "is shown above, or raise the limit.")
        }
    }

    /// The functions that are meant, each once.
    private func functions(_ trial: DesignTrial, _ words: [String]) throws -> [Function] {
        let all =
            trial.viewNames.map { Function.view($0) } + trial.filterNames.map { .filter($0) }
            + (trial.validates ? [.validation] : [])
        for word in words where !all.contains(where: { $0.isMeant(by: word) }) {
            throw CommandFailure(
                .notFound,
                "\"\(trial.design.id)\" has no view or filter \"\(word)\"."
                    + Suggestion.sentence(for: word, among: all.map(\.path)))
        }
        guard !all.isEmpty else {
            throw CommandFailure(
                .notFound, "\"\(trial.design.id)\" has no view, no filter and no validation.")
        }
        return words.isEmpty
            ? all : all.filter { function in words.contains { function.isMeant(by: $0) } }
    }

    // MARK: - Running

    private func find(
        _ function: Function, _ trial: DesignTrial, _ document: Document, _ database: Database
    ) throws -> Finding {
        switch function {
        case .view(let name): return Self.finding(try trial.rows(of: name, for: document))
        case .filter(let name):
            let passes = try trial.passes(
                document, through: name, parameters, for: caller(database))
            return Finding(
                passes ? "lets it pass" : "does not let it pass", [("passes", .bool(passes))])
        case .validation:
            let history = try database.revisionTree(of: document.id)?.history(
                of: document.revisionID)
            let parent = try history?.dropFirst().first.flatMap {
                try database.document(withID: document.id, revision: $0)
            }
            guard
                let refusal = try trial.refusal(of: document, after: parent, for: caller(database))
            else { return Finding("accepts it", [("accepts", .bool(true))]) }
            return Finding(
                "refuses it (\(refusal.name)): \(refusal.reason)",
                [
                    ("accepts", .bool(false)), ("error", .string(refusal.name)),
                    ("reason", .string(refusal.reason)),
                ])
        }
    }

    private static func finding(_ result: DesignTrial.Rows) -> Finding {
        let rows = result.rows.map { row in
            JSONValue.object(["key": row.key.jsonValue(), "value": row.value.jsonValue()])
        }
        let count = Quantity.counted(rows.count, "row")
        var finding = Finding(
            rows.isEmpty ? "emits nothing" : "emits \(count)", [("rows", .array(rows))])
        finding.lines = result.rows.map { "\($0.key.jsonText)  \($0.value.jsonText)" }
        if let reduction = result.reduction {
            finding.lines.append("reduced: \(reduction.jsonText)")
            finding.json.append(("reduced", reduction.jsonValue()))
        }
        if !result.logs.isEmpty {
            finding.lines += result.logs.map { "log: \($0)" }
            finding.json.append(("logs", .array(result.logs.map { .string($0) })))
        }
        return finding
    }

    /// For whom functions are called: the app, or the user that the options name.
    private func caller(_ database: Database) -> DesignCaller {
        var caller = DesignCaller.app(database.name)
        caller.security = { [weak database] in try database?.storedSecurity ?? [:] }
        if let user {
            caller.user = [
                "db": .string(database.name), "name": .string(user),
                "roles": .array(roles.map { .string($0) }),
            ]
        }
        return caller
    }

    // MARK: - Showing

    private func show(_ finding: Finding, of function: Function) throws {
        guard invocation.arguments.flag("json") else {
            let output = invocation.output
            try output.line(
                PrintableText.escaping(function.path) + "  " + PrintableText.escaping(finding.words)
            )
            for line in finding.lines { try output.line("  " + PrintableText.escaping(line)) }
            return
        }
        var text = Array("{".utf8)
        DocumentText.append("function", .string(function.path), to: &text)
        for (key, value) in finding.json { DocumentText.append(key, value, to: &text) }
        text.append(JSONByte.closeBrace)
        try invocation.output.json(text, pretty: false)
    }
}
