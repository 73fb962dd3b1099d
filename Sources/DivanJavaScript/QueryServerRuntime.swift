// SPDX-License-Identifier: Apache-2.0

public import DivanDesign
public import DivanJSON

/// Runs functions of design documents that are written in another language, by a program that speaks CouchDB's query-server protocol.
///
/// ```swift
/// let python = QueryServerRuntime(language: "python", program: "/usr/bin/couchpy")
/// database.designDocuments.enable(JavaScriptRuntime(), python)
/// ```
///
/// The program reads commands from standard input, one JSON array a line, and writes an answer to each. Divan starts several of them,
/// ends one that takes too much time or memory or says too much, and gives each the functions of one design document.
///
/// Nothing else bounds it: **its scripts may read and write what the program lets them.** Enable one only where all who may write design documents,
/// and all peers that a replication brings them from, may do as much.
public final class QueryServerRuntime: ScriptRuntime {
    private let language: String
    private let pool: WorkerPool

    /// Makes a runtime, which starts no process yet.
    ///
    /// - Parameters:
    ///   - language: What design documents name as their `language`.
    ///   - program: The path of the program.
    ///   - arguments: Its arguments.
    ///   - environment: All that its environment has, texts of the form `NAME=VALUE`.
    ///   - limits: What it may take. Of its memory, 24 MB more than `memory` are let through, since the program itself takes some;
    ///     `usesJIT` means nothing.
    public init(
        language: String, program: String, arguments: [String] = [],
        environment: [String] = ["LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"],
        limits: JavaScriptLimits = JavaScriptLimits()
    ) {
        self.language = language
        let command = WorkerCommand(
            program: program, arguments: arguments, environment: environment, engine: nil)
        pool = WorkerPool(command, limits)
    }

    /// The language.
    public var languages: NameSet { [language] }

    /// What Divan asks.
    public var server: ScriptServer { ScriptServer(pool) }

    /// Finds out whether the program answers, by starting a process and ending it.
    ///
    /// - Throws: ``ScriptError``: with code `unavailable` when the program does not start, with another when it does not answer to
    ///   `reset`.
    public func verify() throws(ScriptError) { try pool.start() }

    /// Ends the processes that are idle; those that are busy end when their scripts do. Callers that wait get an error.
    public func close() { pool.close() }
}
