// SPDX-License-Identifier: Apache-2.0

/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb",
    ]

    /// The text of a time in seconds since 1970, which is not before it.
    static func text(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        let (days, time) = (seconds / 86_400, seconds % 86_400)
        // Years that begin in March have the leap day at their end; 719,468 days before 1970 begins
        // such a year, and with it a cycle of four centuries.
        let (cycle, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097)
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let civilYear = cycle * 400 + year + (month >= 10 ? 1 : 0)
        let clock = [time / 3_600, time / 60 % 60, time % 60].map(digits).joined(separator: ":")
        return "\(weekdays[Int(days % 7)]), \(digits(dayOfMonth)) \(months[Int(month)]) "
            + "\(civilYear) \(clock) GMT"
    }

    private static func digits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
