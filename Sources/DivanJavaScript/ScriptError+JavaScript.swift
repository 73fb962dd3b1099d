// SPDX-License-Identifier: Apache-2.0

internal import DivanDesign
internal import DivanSystem

// What ends a script here, and why one does not start.
extension ScriptError {
    static let closed = ScriptError(.closed, "The runtime of the scripts was closed.")

    static func timeLimit(_ time: Duration) -> ScriptError {
        ScriptError(
            .timeLimit, "The script took longer than \(time.words), so its process was ended.")
    }

    static func memoryLimit(_ megabytes: Int) -> ScriptError {
        ScriptError(
            .memoryLimit,
            "The script took more than \(megabytes) MB of memory, or its engine failed, so its process ended."
        )
    }

    static func answerLimit(_ bytes: Int) -> ScriptError {
        ScriptError(
            .answerLimit,
            "The script wrote more than \(bytes) bytes, so its process was ended.")
    }

    static func noProgram(_ command: WorkerCommand) -> ScriptError {
        let advice =
            command.isOurs
            ? "install divan-javascript beside the app, or say where it is"
            : "give the whole path of the query server"
        return ScriptError(
            .unavailable, "The program \(command.program) cannot be started; \(advice).")
    }

    static func noEngine(_ engine: JavaScriptEngine) -> ScriptError {
        ScriptError(
            .unavailable,
            "The library \(engine.libraryName) cannot be loaded; install \(engine.packageName) or its like."
        )
    }
}
