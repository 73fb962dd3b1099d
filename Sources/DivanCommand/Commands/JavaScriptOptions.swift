// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJavaScript

/// The options of commands that run functions of design documents.
enum JavaScriptOptions {
    /// What a function may take, and what runs it.
    static let limits: [OptionSchema] = [
        .value(
            "javascript-engine", nil, "ENGINE",
            "What runs functions of design documents: javascriptcore (the default), or duktape on small machines, which takes ECMAScript 5.",
            completion: .choices(JavaScriptEngine.allCases.map(\.rawValue))),
        .value(
            "javascript-time", nil, "SECONDS",
            "End a function of a design document that takes longer; 5 unless given."),
        .value(
            "javascript-memory", nil, "MEGABYTES",
            "End a function of a design document that takes more memory; 64 unless given."),
        .value(
            "javascript-program", nil, "PATH",
            "The program divan-javascript; the one beside divan unless given.", completion: .file),
        .flag(
            "javascript-jit", nil,
            "Compile functions to machine code: they are faster, and a flaw of the engine is more dangerous."
        ),
    ]

    /// The same for a server.
    static let serving: [OptionSchema] =
        [
            .value(
                "javascript", nil, "WHEN",
                "Run the functions of design documents: on, off, or auto (the default), which is off where they cannot run.",
                completion: .choices(["auto", "on", "off"])),
            .value(
                "javascript-processes", nil, "COUNT",
                "Run functions in so many processes at most; 8 unless given."),
            queryServer,
        ] + limits

    private static let queryServer = OptionSchema.value(
        "query-server", nil, "LANGUAGE=COMMAND",
        "Run functions in a language by a program of CouchDB's query-server protocol. It may do what it likes.",
        repeats: true)

    /// What runs the functions, by the options, without trying whether it can.
    ///
    /// - Throws: `UsageError` for a value that makes no sense.
    static func runtime(_ arguments: ParsedArguments) throws(UsageError) -> JavaScriptRuntime {
        let engine = try arguments.choice("javascript-engine", as: JavaScriptEngine.self)
        let limits = try scriptLimits(arguments)
        return JavaScriptRuntime(
            program: arguments.string("javascript-program"), engine: engine ?? .javaScriptCore,
            limits: limits)
    }

    private static func scriptLimits(_ arguments: ParsedArguments) throws(UsageError)
        -> JavaScriptLimits
    {
        var limits = JavaScriptLimits()
        if let seconds = try number("javascript-time", 1...3_600, "seconds", arguments) {
            limits.time = .seconds(seconds)
        }
        if let megabytes = try number("javascript-memory", 1...65_536, "megabytes", arguments) {
            limits.memory = megabytes << 20
        }
        if let count = try number("javascript-processes", 1...1_024, "a number", arguments) {
            limits.processes = count
            limits.processesPerScript = min(limits.processesPerScript, count)
        }
        limits.usesJIT = arguments.flag("javascript-jit")
        return limits
    }

    /// What runs the functions for a server, those of other query servers first.
    ///
    /// - Throws: `UsageError`, and `CommandFailure` when they are to run and cannot.
    static func servingRuntimes(_ invocation: Invocation) throws -> [any ScriptRuntime] {
        let limits = try scriptLimits(invocation.arguments)
        var runtimes: [any ScriptRuntime] = []
        var languages = NameSet()
        for text in invocation.arguments.strings(queryServer.name) {
            let runtime = try queryServer(text, limits)
            for language in runtime.languages where !languages.insert(language).inserted {
                throw UsageError("--query-server is given twice for one language; give it once.")
            }
            do {
                try runtime.verify()
            } catch {
                throw CommandFailure(
                    .failure, "The query server '\(text)' does not run. \(error.message)")
            }
            runtimes.append(runtime)
        }
        if let runtime = try javaScriptRuntime(invocation) { runtimes.append(runtime) }
        return runtimes
    }

    /// The query server of `python=/usr/bin/couchpy --debug`.
    private static func queryServer(
        _ text: String, _ limits: JavaScriptLimits
    ) throws(UsageError) -> QueryServerRuntime {
        let parts = text.split(separator: "=", maxSplits: 1)
        let words = parts.last?.split(separator: " ").map(String.init) ?? []
        guard parts.count == 2, let program = words.first, program.utf8.first == UInt8(ascii: "/")
        else {
            throw UsageError(
                "--query-server takes a language, '=' and the whole path of a program, with its arguments behind blanks."
            )
        }
        guard parts[0] != "query" else {
            throw UsageError("--query-server cannot be for 'query', the language of indexes.")
        }
        return QueryServerRuntime(
            language: String(parts[0]), program: program, arguments: Array(words.dropFirst()),
            limits: limits)
    }

    /// What runs those in JavaScript; nil when they are not to run.
    private static func javaScriptRuntime(
        _ invocation: Invocation
    ) throws -> (any ScriptRuntime)? {
        let arguments = invocation.arguments
        let mode = arguments.string("javascript") ?? "auto"
        if mode == "off" {
            let others = serving.map(\.name).filter { $0.utf8.starts(with: "javascript-".utf8) }
            if let other = others.first(where: arguments.flag) {
                throw UsageError("--\(other) and --javascript off do not go together.")
            }
            return nil
        }
        let runtime = try runtime(arguments)
        if mode == "auto" {
            let output = invocation.output
            return TriedRuntime(runtime) { error in
                output.remark(
                    "Functions of design documents do not run here. "
                        + PrintableText.escaping(error.message))
            }
        }
        do {
            try runtime.verify()
            return runtime
        } catch {
            throw CommandFailure(.failure, error.message)
        }
    }

    private static func number(
        _ name: String, _ range: ClosedRange<Int>, _ unit: String, _ arguments: ParsedArguments
    ) throws(UsageError) -> Int? {
        guard let number = try arguments.count(name) else { return nil }
        guard range.contains(number) else {
            throw UsageError(
                "--\(name) takes \(unit), from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

extension Invocation {
    /// Has the functions of a database's design documents run, until it is closed.
    ///
    /// - Throws: `UsageError`, and `CommandFailure` when they cannot run here.
    func enableScripts(in database: Database) throws {
        let runtime = try JavaScriptOptions.runtime(arguments)
        do {
            try runtime.verify()
        } catch {
            throw CommandFailure(.failure, error.message)
        }
        database.designDocuments.enable(runtime)
    }
}
