// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// What runs the functions of design documents that are written in some languages.
///
/// ```swift
/// let runtime = JavaScriptRuntime()
/// database.designDocuments.enable(runtime)
/// for row in try database.designDocuments.view("people/by_name").query().run() { print(row.key) }
/// ```
///
/// `JavaScriptRuntime` of the module `DivanJavaScript` is one. An app cannot make its own.
public protocol ScriptRuntime: Sendable {
    /// The languages, as design documents name them, such as `javascript`.
    var languages: NameSet { get }
    /// What Divan asks.
    var server: ScriptServer { get }
}

/// What Divan asks of a ``ScriptRuntime``.
public struct ScriptServer: Sendable {
    /// The processes.
    package let processes: any ScriptProcesses

    /// Wraps what lends processes.
    package init(_ processes: any ScriptProcesses) { self.processes = processes }
}

/// Lends processes that speak CouchDB's query-server protocol.
package protocol ScriptProcesses: AnyObject, Sendable {
    /// Whether the processes know the commands `properties` and `map_docs`, which CouchDB's protocol does not have.
    var mapsManyDocuments: Bool { get }

    /// The name of the engine that runs JavaScript in them; nil where that is not known.
    var engineName: String? { get }

    /// Lends a process that knows a program, and waits for one while all that it may have are busy.
    ///
    /// - Parameters:
    ///   - program: The scripts.
    ///   - body: What to ask.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, and `ScriptError` when no process can be started or learns the program.
    func withProcess<Result>(
        for program: ScriptProgram,
        _ body: (any ScriptProcess) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result
}

extension ScriptProcesses {
    /// Nil: the name is not known.
    package var engineName: String? { nil }
}

/// A conversation with a process: commands go out, answers come back in their order.
package protocol ScriptProcess: Sendable {
    /// Sends commands and waits for the answers.
    ///
    /// - Parameters:
    ///   - lines: The commands, each JSON in a line that ends in a line feed.
    ///   - count: How many these are.
    /// - Returns: As many answers.
    /// - Throws: `ScriptError`. The process goes on only after an error of code `script`, and only when there was one command.
    func ask(_ lines: [UInt8], count: Int) throws(ScriptError) -> [ScriptAnswer]
}

extension ScriptProcess {
    /// Sends a command, JSON in one line without its end, and waits for the answer.
    package func ask(_ command: [UInt8]) throws(ScriptError) -> ScriptAnswer {
        let answers = try ask(command + [UInt8(ascii: "\n")], count: 1)
        guard let answer = answers.first else { throw .workerFailed }
        return answer
    }
}

extension ScriptError {
    /// What a process is told to have done that ended by itself.
    package static let workerFailed = ScriptError(
        .workerFailed, "The process that runs scripts ended, or did not answer as it should.")
}
