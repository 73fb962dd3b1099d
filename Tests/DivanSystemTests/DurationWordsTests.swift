// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanSystem

@Suite struct DurationWordsTests {
    @Test(arguments: [
        (Duration.zero, "0 ms"), (.microseconds(1_499), "1 ms"), (.milliseconds(350), "350 ms"),
        (.milliseconds(1_000), "1 s"), (.microseconds(3_784_362), "3.8 s"),
        (.milliseconds(5_000), "5 s"), (.milliseconds(9_930), "9.9 s"),
        (.milliseconds(45_400), "45 s"), (.seconds(60), "1 min"), (.seconds(125), "2 min 5 s"),
        (.milliseconds(59_700), "1 min"), (.seconds(3_600), "1 h"), (.seconds(5_400), "1 h 30 min"),
        (.seconds(90_000), "25 h"), (.milliseconds(-2_500), "0 ms"),
    ])
    func `a duration is written in one or two units, rounded`(duration: Duration, words: String) {
        #expect(duration.words == words)
    }

    @Test func `what is just below a unit is written in the larger one`() {
        #expect(Duration.nanoseconds(999_999_999).words == "1 s")
        #expect(Duration.milliseconds(9_970).words == "10 s")
        #expect(Duration.milliseconds(3_599_600).words == "1 h")
        #expect(Duration.seconds(Int64.max).words.hasSuffix(" min"))
    }
}
