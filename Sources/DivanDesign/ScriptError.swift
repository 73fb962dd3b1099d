// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel

/// What can go wrong when a script runs.
///
/// ```swift
/// do {
///     try JavaScriptRuntime().verify()
/// } catch let error where error.code == .unavailable {
///     print("Scripts of design documents do not run here: \(error)")
/// }
/// ```
public struct ScriptError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure, by what a caller can do about them.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The program `divan-javascript` or the library of the engine is not here: install it.
        case unavailable
        /// The script took longer than it may: make it faster, or raise the limit.
        case timeLimit
        /// The script took more memory than it may, or its engine failed: make it smaller, or raise the limit.
        case memoryLimit
        /// The script wrote more than it may: emit less, or raise the limit.
        case answerLimit
        /// The script does not compile, threw, or refused; `name` and `reason` are its own.
        case script
        /// The worker ended by itself, or did not keep to the protocol.
        case workerFailed
        /// The runtime was closed.
        case closed
    }

    /// What the caller can do about it.
    public let code: Code
    /// One sentence: what is wrong, and how to put it right. It has nothing of scripts and documents.
    public let message: String
    // Not by bytes: the names are ASCII, and nothing is looked up by them.
    /// What CouchDB calls it, such as `compilation_error` or `os_process_error`.
    public let name: String
    /// What a client is told. A script that threw has chosen the words, which may have content of documents.
    public let reason: String

    /// Makes an error of the process that ran the script.
    package init(_ code: Code, _ message: String) {
        self.init(code, message, name: "os_process_error", reason: message)
    }

    /// Makes an error by its parts.
    package init(_ code: Code, _ message: String, name: String, reason: String) {
        self.code = code
        self.message = message
        self.name = name
        self.reason = reason
    }

    /// What a script answered in place of a result.
    package static func script(name: String, reason: String) -> ScriptError {
        let shown = ownNames.contains(name) ? " (\(name))" : ""
        return ScriptError(
            .script, "The script failed\(shown); the reason that it gave is not shown here.",
            name: name, reason: reason)
    }

    /// The names of exceptions that are shown: any other may be a script's, and have content of documents.
    private static let ownNames: NameSet = [
        "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError",
        "URIError",
        "unnamed_error", "compilation_error", "invalid_require_path", "not_found", "render_error",
        "rewrite_error", "map_runtime_error", "reduce_overflow_error", "forbidden", "unauthorized",
    ]

    /// The message.
    public var description: String { message }
}

extension ScriptError: LoggedError {
    /// The message, without the reason.
    package var logged: String { message }

    /// The refusal of a document by a rule, with a message that names the rule.
    func naming(rule: DocumentID) -> ScriptError {
        ScriptError(code, "By the rule of '\(rule)': \(message)", name: name, reason: reason)
    }
}

extension ScriptError: LastingError {
    /// Whether the script itself has failed, which it does again.
    package var isLasting: Bool { code == .script }
}
