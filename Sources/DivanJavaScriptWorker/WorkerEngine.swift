// SPDX-License-Identifier: Apache-2.0

internal import CScriptEngine

/// The engines that run scripts, by the words of `--engine`.
enum WorkerEngine: String {
    /// JavaScriptCore, unless another one is asked for.
    case javaScriptCore = "javascriptcore"
    /// Duktape, for small machines.
    case duktape

    /// Its name as its authors write it.
    var name: String { self == .duktape ? "Duktape" : "JavaScriptCore" }

    /// Loads its library, with so many bytes of memory for scripts; false when that is not here.
    func load(memory: Int) -> Bool {
        let engine =
            self == .duktape ? DIVAN_JAVASCRIPT_DUKTAPE : DIVAN_JAVASCRIPT_JAVASCRIPTCORE
        return divan_javascript_load(engine, memory) == 0
    }
}
