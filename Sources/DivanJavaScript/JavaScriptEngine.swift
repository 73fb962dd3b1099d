// SPDX-License-Identifier: Apache-2.0

/// The engine that runs JavaScript.
///
/// Both give the same answers to scripts that both can read, and are bounded alike. An index keeps the rows that it has when
/// an app changes the engine.
public enum JavaScriptEngine: String, Sendable, CaseIterable {
    /// JavaScriptCore, the default: it takes today's JavaScript, and is about three times as fast.
    case javaScriptCore = "javascriptcore"
    /// Duktape, for machines with little memory. It takes scripts in ECMAScript 5, as CouchDB did before its version 3, and has no
    /// compiler, so ``JavaScriptLimits/usesJIT`` means nothing.
    case duktape

    /// The name of its library.
    var libraryName: String { self == .duktape ? "Duktape" : "JavaScriptCore" }

    /// Debian's package of its library.
    var packageName: String {
        self == .duktape ? "libduktape207" : "libjavascriptcoregtk-4.1-0"
    }
}
