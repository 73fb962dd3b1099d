// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// How the process of a worker is started.
struct WorkerCommand: Sendable {
    /// The path of the program.
    let program: String
    let arguments: [String]
    /// Texts of the form `NAME=VALUE`.
    let environment: [String]
    /// The engine of `divan-javascript`; nil for another program.
    let engine: JavaScriptEngine?

    /// Whether it is `divan-javascript`, which bounds itself and knows more commands than CouchDB's protocol has.
    var isOurs: Bool { engine != nil }

    /// `divan-javascript` at a path.
    static func javaScript(
        _ program: String, _ engine: JavaScriptEngine, _ limits: JavaScriptLimits
    ) -> WorkerCommand {
        // The last resort: rounded up, and doubled, since the threads of the engine count, too.
        let seconds = 2 * min(max(limits.time.bounded.components.seconds + 1, 1), 43_200)
        let arguments = [
            "--engine", engine.rawValue, "--memory", "\(limits.megabytes)", "--time", "\(seconds)",
        ]
        // A process that crashes, as one without memory does, is not to spend time on showing where.
        return WorkerCommand(
            program: program, arguments: arguments + (limits.usesJIT ? ["--jit"] : []),
            environment: ["SWIFT_BACKTRACE=enable=no"], engine: engine)
    }
}
