// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

@Suite struct PollingTests {
    @Test func `a condition that holds at once is looked at once, also without any time`() {
        var looks = 0
        let holds = poll(every: .seconds(100), for: .zero) {
            looks += 1
            return true
        }
        #expect(holds && looks == 1)
    }

    @Test func `a condition that never holds is looked at until the time is over`() {
        var looks = 0
        let start = ContinuousClock.now
        let holds = poll(every: .milliseconds(1), for: .milliseconds(20)) {
            looks += 1
            return false
        }
        #expect(!holds && looks > 1)
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test func `a condition without a limit is looked at until it holds`() {
        var looks = 0
        #expect(
            poll(every: .microseconds(10)) {
                looks += 1
                return looks == 50
            })
    }

    @Test func `the sleeps grow to the longest one`() {
        let clock = ContinuousClock()
        var moments: [ContinuousClock.Instant] = []
        _ = poll(every: .milliseconds(1), growingTo: .milliseconds(4)) {
            moments.append(clock.now)
            return moments.count == 5
        }
        // A busy machine sleeps longer, never shorter: 1, 2, 4, 4.
        #expect(moments[4] - moments[0] >= .milliseconds(11))
    }

    @Test func `what the condition throws ends it`() {
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try poll(every: .seconds(100)) { () throws(Failure) in throw Failure() }
        }
    }
}
