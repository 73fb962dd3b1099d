// SPDX-License-Identifier: Apache-2.0

import DivanJavaScript
import Foundation
import Testing

/// Whether functions of design documents run on this machine, on each engine; it is tried once.
enum Scripts {
    /// What a test says that is skipped.
    static let need: Comment =
        "It needs the libraries JavaScriptCore and Duktape, which scripts/bootstrap installs."

    static let run: Bool = {
        let program = TestTool.executable.deletingLastPathComponent()
            .appendingPathComponent("divan-javascript")
        return JavaScriptEngine.allCases.allSatisfy {
            (try? JavaScriptRuntime(program: program.path, engine: $0).verify()) != nil
        }
    }()
}
