// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// What another machine may skip is not skipped where changes are let in.
struct ContinuousIntegrationTests {
    @Test(
        .enabled(
            if: Machine.isContinuousIntegration,
            "It is for continuous integration, which sets CI=true and not DIVAN_TEST_WITHOUT_NETWORKS."
        ))
    func `continuous integration lets Divan meet foreign parties`() {
        #expect(NetworkLab.isAllowed, NetworkLab.need)
    }
}
