// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanSystem

@Suite struct DurationBoundedTests {
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 4, .seconds(Int64.min)])
    func `a duration beyond all clocks is one of a hundred years`(duration: Duration) {
        let seconds: Int64 = 3_155_760_000
        #expect(duration.bounded == .seconds(duration < .zero ? -seconds : seconds))
        let moment = ContinuousClock.now + duration.bounded
        #expect((moment > .now) == (duration > .zero))
        #expect(abs(duration.boundedMilliseconds) == seconds * 1_000)
    }

    @Test(arguments: [Duration.zero, .milliseconds(5), .seconds(-3), .seconds(86_400)])
    func `any other duration stays as it is`(duration: Duration) {
        #expect(duration.bounded == duration)
    }

    @Test func `a wait that is to last the longest time there is begins`() {
        var looks = 0
        let isDone = poll(every: .milliseconds(1), for: .seconds(Int64.max)) {
            looks += 1
            return looks == 3
        }
        #expect(isDone)
        #expect(!poll(every: .milliseconds(1), for: .seconds(Int64.min)) { false })
    }
}
