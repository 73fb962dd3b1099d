// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanListener

@Suite struct TranscriptTests {
    @Test(arguments: GoldenScript.all(in: "listener"))
    func `requests are answered as their transcripts say`(script: GoldenScript) throws {
        try script.run(with: TranscriptInterpreter(TestSite()))
    }
}
