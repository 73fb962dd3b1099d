// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

@Suite struct WallClockTests {
    @Test func `a second begins in seconds when it begins in milliseconds`() {
        let end = ContinuousClock.now + .milliseconds(2_100)
        var late = 0
        while ContinuousClock.now < end {
            let milliseconds = WallClock.millisecondsSince1970
            if WallClock.secondsSince1970 < milliseconds / 1_000 { late += 1 }
        }
        #expect(late == 0)
    }
}
