// SPDX-License-Identifier: Apache-2.0

public import DivanDesign
public import DivanJSON
internal import DivanSystem

/// Runs scripts of design documents in processes of their own.
///
/// ```swift
/// let runtime = JavaScriptRuntime()
/// try runtime.verify()
/// ```
///
/// A script has no files, no network, and no processes; what it may take of time and memory is bounded, and a script that
/// takes more ends with its process, not with the app. It needs the program `divan-javascript` and the library of an engine, which that
/// program loads: JavaScriptCore, unless the app names another ``JavaScriptEngine``. An app that does not import this module starts and loads neither.
///
/// A process is started when a design document first needs one, and kept for it. When all are busy, a caller waits.
public final class JavaScriptRuntime: ScriptRuntime {
    private let pool: WorkerPool

    /// Makes a runtime, which starts no process yet.
    ///
    /// - Parameters:
    ///   - program: The path of `divan-javascript`; nil for the one beside the program that runs.
    ///   - engine: What runs the scripts. Where its library is missing no other engine takes its place.
    ///   - limits: What scripts may take.
    public init(
        program: String? = nil, engine: JavaScriptEngine = .javaScriptCore,
        limits: JavaScriptLimits = JavaScriptLimits()
    ) {
        let path = program ?? CurrentProcess.folder + "/divan-javascript"
        pool = WorkerPool(.javaScript(path, engine, limits), limits)
    }

    /// `javascript`.
    public var languages: NameSet { ["javascript"] }

    /// What Divan asks.
    public var server: ScriptServer { ScriptServer(pool) }

    /// Finds out whether scripts run here, by starting a process and ending it.
    ///
    /// - Throws: ``ScriptError`` with code `unavailable` when the program or the library is not here.
    public func verify() throws(ScriptError) { try pool.start() }

    /// Ends the processes that are idle; those that are busy end when their scripts do. Callers that wait get an error.
    public func close() { pool.close() }

    /// Lends a worker that knows a program, and waits for one while all that it may have are busy.
    ///
    /// - Parameters:
    ///   - program: The scripts.
    ///   - body: What to ask. It may ask several times: another caller gets the worker afterwards.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, and `ScriptError` when a worker cannot be started or does not learn the program.
    package func withWorker<Result>(
        for program: ScriptProgram,
        _ body: (ScriptWorker) throws(ScriptError) -> Result
    ) throws(ScriptError) -> Result { try pool.withWorker(for: program, body) }

    /// How many processes run.
    package var processCount: Int { pool.processCount }
}
