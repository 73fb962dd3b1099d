// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanTestSupport
import Testing

@testable import DivanListener

/// Which sequence belongs to which time.
@Suite struct TimeBinsTests {
    private static let hour: Int64 = 3_600

    @Test func `a bin begins after three hours, where something has changed`() {
        var bins = TimeBins()
        let times = [
            (0, 1_000, true), (5, 1_000 + TimeBins.shortest - 1, false),
            (5, 1_000 + TimeBins.shortest, true), (5, 1_000 + 10 * TimeBins.shortest, false),
            // A clock that was set back.
            (9, 0, false),
        ]
        for (sequence, time, begins) in times {
            let hasBegun = bins.note(SequenceNumber(sequence), at: time)
            #expect(hasBegun == begins, "\(time)")
        }
        #expect(bins.bins.map(\.sequence) == [0, 5])
        #expect(bins.sequence(at: 999) == 0)
        #expect(bins.sequence(at: 1_000 + TimeBins.shortest) == 5)
        #expect(bins.counts(until: 7).map(\.count) == [5, 2])
        #expect(bins.counts(until: 5).map(\.count) == [5])
        bins.checkInvariants()
    }

    @Test func `from the sequence of a time on stands all that was changed since then`() {
        for round in Soak.rounds(test: 200, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x71)
            var bins = TimeBins()
            // When each change was made; the sequence of one is its place.
            var changes: [Int64] = []
            var now: Int64 = 1_700_000_000
            for _ in 0..<random.below(400) {
                now += Int64(random.below(3) == 0 ? random.below(200) : random.below(9)) * Self.hour
                // Changes of the same second may stand on both sides.
                if random.oneIn(2) { _ = bins.note(SequenceNumber(changes.count), at: now + 1) }
                changes += [Int64](repeating: now, count: random.below(5))
                bins.checkInvariants()
            }
            for _ in 0..<50 {
                let time = now - Int64(random.below(5_000)) * Self.hour
                let start = bins.sequence(at: time)
                let missed = changes.prefix(Int(start)).filter { $0 >= time }
                #expect(missed.isEmpty, "round \(round)")
            }
            let counts = bins.counts(until: SequenceNumber(changes.count))
            let before = bins.bins.first?.sequence ?? 0
            if !bins.bins.isEmpty {
                #expect(
                    counts.reduce(before) { $0 + $1.count } == SequenceNumber(changes.count))
            }
            #expect(TimeBins(bins.object) == bins, "round \(round)")
        }
    }

    @Test func `sixty bins reach back for years, and are short where they are young`() {
        var bins = TimeBins()
        let days: Int64 = 10 * 365
        for step in 0..<days * 8 {
            _ = bins.note(SequenceNumber(step), at: step * TimeBins.shortest)
        }
        bins.checkInvariants()
        #expect(bins.bins.count == TimeBins.most)
        #expect(bins.bins.first?.time == 0)
        let now = days * 8 * TimeBins.shortest
        // What is a day, a month and a year old is found within a fifth of its age.
        for age in [1, 30, 365] {
            let asked = now - Int64(age) * 24 * Self.hour
            let found = bins.bins.last { $0.time <= asked }?.time ?? 0
            #expect(asked - found <= Int64(age) * 24 * Self.hour / 5 + TimeBins.shortest)
        }
    }

    @Test func `what is stored in another form is left out`() throws {
        func times(_ text: String) throws -> [Int64] {
            let bins = TimeBins(try JSONParser.parse(#"{"bins":"# + text + "}").object)
            bins.checkInvariants()
            return bins.bins.map(\.time)
        }
        #expect(try times(#"[[1,2],["x",3],[4,-1],5,[60000,7]]"#) == [1, 60_000])
        #expect(try times("[[9223372036854775807,1],[-9223372036854775808,2]]") == [])
        #expect(
            try times("[[60000,9],[1,10],[90000,9],[90001,20],[90002,21]]") == [60_000, 90_001])
        let many = (0..<1_000).map { "[\($0 * 100000),\($0 + 1)]" }.joined(separator: ",")
        #expect(try times("[\(many)]").count == TimeBins.most)
        #expect(TimeBins(nil) == TimeBins())
    }

    @Test func `a period is a number and a unit, or infinity`() {
        #expect(TimePeriod("30_days") == .seconds(30 * 86_400))
        #expect(TimePeriod("3_mon") == .seconds(90 * 86_400))
        #expect(TimePeriod("1_s") == .seconds(1))
        #expect(TimePeriod("infinity") == .infinity)
        for text in [
            "", "30", "_days", "0_days", "-3_hour", "3_parsecs", "3_days_",
            "9223372036854775807_years",
        ] {
            #expect(TimePeriod(text) == nil, "\(text)")
        }
    }
}
