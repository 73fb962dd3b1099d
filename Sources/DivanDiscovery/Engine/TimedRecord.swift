// SPDX-License-Identifier: Apache-2.0

/// A record that was heard, and how long it still holds.
struct TimedRecord: Sendable {
    /// Seconds for which a record is believed at most, whatever it says.
    private static let longest: UInt32 = 86_400

    private(set) var record: DNSRecord
    private(set) var heard: Duration
    /// When it holds no longer.
    private(set) var end: Duration
    /// When to ask whether it still holds; nil when that was asked often enough.
    private(set) var nextQuestion: Duration?
    private var asked = 0

    init(_ record: DNSRecord, at now: Duration) {
        self.record = record
        heard = now
        end = now + Self.lifetime(record)
        nextQuestion = now + Self.lifetime(record) * 80 / 100
    }

    private static func lifetime(_ record: DNSRecord) -> Duration {
        .seconds(Int64(min(record.lifetime, longest)))
    }

    /// Whether it is time to ask whether it still holds.
    func isDue(at now: Duration) -> Bool { nextQuestion.map { $0 <= now } ?? false }

    /// Gives it a second, in which another sender may say that it still holds.
    mutating func expire(soonAfter now: Duration) {
        end = min(end, now + .seconds(1))
        nextQuestion = nil
    }

    /// Notes that it was asked for: at 80, 85, 90 and 95 percent of its time (RFC 6762, 5.2).
    mutating func noteQuestion() {
        asked += 1
        nextQuestion =
            asked < 4 ? heard + Self.lifetime(record) * (80 + 5 * asked) / 100 : nil
    }

    /// The record with the seconds that are left; nil when less than half of them are, so that an answer is wanted.
    func known(at now: Duration) -> DNSRecord? {
        let left = end - now
        guard left * 2 > Self.lifetime(record) else { return nil }
        var copy = record
        copy.lifetime = UInt32(clamping: left.components.seconds)
        copy.isUnique = false
        return copy
    }
}
