// SPDX-License-Identifier: Apache-2.0

import DivanJavaScript
import DivanTestSupport
import Testing

@testable import DivanListener

@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct SearchTranscriptTests {
    @Test(arguments: GoldenScript.all(in: "search"))
    func `searches are answered as their transcripts say`(script: GoldenScript) throws {
        let site = try TestSite { options in
            options.scripts = [JavaScriptRuntime(program: ScriptEngine.program)]
        }
        try script.run(with: TranscriptInterpreter(site))
    }
}
