// SPDX-License-Identifier: Apache-2.0

internal import DivanDesign
internal import DivanSystem

// What ends a script here, and why one does not start.
extension ScriptError {
    static let closed = ScriptError(.closed, "The JavaScript runtime was closed.")

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

    static func noProgram(_ path: String) -> ScriptError {
        ScriptError(
            .unavailable,
            "The program \(path) cannot be started; install divan-javascript beside the app, or say where it is."
        )
    }

    static let noEngine = ScriptError(
        .unavailable,
        "The library JavaScriptCore cannot be loaded; install libjavascriptcoregtk-4.1-0 or its like."
    )
}
