// SPDX-License-Identifier: Apache-2.0

/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// A day and a time of it.
    private struct Moment {
        var year: Int64
        /// From 1 to 12.
        var month: Int64
        var day: Int64
        var weekday: String
        var clock: String

        init(_ seconds: Int64) {
            let seconds = max(0, seconds)
            let (days, time) = (seconds / 86_400, seconds % 86_400)
            // Years that begin in March have the leap day at their end; 719,468 days before 1970 begins
            // such a year, and with it a cycle of four centuries.
            let (cycle, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097)
            let marchYear = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
            let dayOfYear = day - (365 * marchYear + marchYear / 4 - marchYear / 100)
            let marchMonth = (5 * dayOfYear + 2) / 153
            self.day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
            month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
            year = marchYear + 400 * cycle + (marchMonth >= 10 ? 1 : 0)
            weekday = weekdays[Int(days % 7)]
            clock = [time / 3_600, time / 60 % 60, time % 60].map(digits).joined(separator: ":")
        }
    }

    /// The text of a time in seconds since 1970, which is not before it.
    static func text(_ seconds: Int64) -> String {
        let at = Moment(seconds)
        return "\(at.weekday), \(digits(at.day)) \(months[Int(at.month) - 1]) \(at.year) "
            + "\(at.clock) GMT"
    }

    /// The same as ISO 8601 has it: `1994-11-06T08:49:37Z`.
    static func iso(_ seconds: Int64) -> String {
        let at = Moment(seconds)
        return "\(at.year)-\(digits(at.month))-\(digits(at.day))T\(at.clock)Z"
    }

    private static func digits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
