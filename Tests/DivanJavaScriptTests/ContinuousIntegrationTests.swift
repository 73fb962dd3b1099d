// SPDX-License-Identifier: Apache-2.0

import DivanJavaScript
import DivanTestSupport
import Testing

/// What another machine may skip is not skipped where changes are let in.
struct ContinuousIntegrationTests {
    @Test(
        .enabled(
            if: Machine.isContinuousIntegration,
            "It is for continuous integration, which sets CI=true."))
    func `continuous integration runs scripts`() {
        #expect(Engine.here == JavaScriptEngine.allCases, Engine.need)
    }
}
