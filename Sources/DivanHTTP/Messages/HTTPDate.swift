// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
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
            weekday = weekdays[Int(clamping: days % 7)]
            clock = [time / 3_600, time / 60 % 60, time % 60].map(digits).joined(separator: ":")
        }
    }

    /// The text of a time in seconds since 1970, which is not before it.
    package static func text(_ seconds: Int64) -> String {
        let at = Moment(seconds)
        return "\(at.weekday), \(digits(at.day)) \(months[Int(clamping: at.month) - 1]) \(at.year) "
            + "\(at.clock) GMT"
    }

    /// The same as ISO 8601 has it: `1994-11-06T08:49:37Z`.
    package static func iso(_ seconds: Int64) -> String {
        let at = Moment(seconds)
        return "\(at.year)-\(digits(at.month))-\(digits(at.day))T\(at.clock)Z"
    }

    /// The time that a text names, in seconds since 1970; nil where it is not in this form, or before 1970.
    package static func seconds(_ text: some StringProtocol) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[0].hasByteSuffix(","),
            let day = number(parts[1], upTo: 31), day > 0,
            let month = months.firstIndex(of: String(parts[2])),
            let year = number(parts[3], upTo: 9_999), year >= 1970
        else { return nil }
        return seconds(year, Int64(clamping: month) + 1, day, parts[4])
    }

    /// The time that a text as ``iso(_:)`` names; nil where it is not in this form, or before 1970.
    package static func seconds(iso text: some StringProtocol) -> Int64? {
        let parts = text.split(separator: "T")
        guard text.utf8.count == 20, parts.count == 2 else { return nil }
        let day = parts[0].split(separator: "-")
        guard day.count == 3, let year = number(day[0], upTo: 9_999), year >= 1970,
            let month = number(day[1], upTo: 12), let dayOfMonth = number(day[2], upTo: 31),
            let seconds = seconds(year, month, dayOfMonth, parts[1].dropLast())
        else { return nil }
        // What is no such day or time becomes another one.
        return iso(seconds).hasSameBytes(as: String(text)) ? seconds : nil
    }

    private static func seconds(
        _ year: Int64, _ month: Int64, _ day: Int64, _ clock: some StringProtocol
    ) -> Int64? {
        let clock = clock.split(separator: ":")
        guard clock.count == 3, let hour = number(clock[0], upTo: 23),
            let minute = number(clock[1], upTo: 59), let second = number(clock[2], upTo: 60)
        else { return nil }
        // As above: years that begin in March.
        let marchMonth = (month + 9) % 12
        let marchYear = marchMonth >= 10 ? year - 1 : year
        let days =
            365 * marchYear + marchYear / 4 - marchYear / 100 + marchYear / 400
            + (153 * marchMonth + 2) / 5 + day - 1 - 719_468
        return days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: some StringProtocol, upTo limit: Int64) -> Int64? {
        guard let number = Int64(text, radix: 10), (0...limit).contains(number) else { return nil }
        return number
    }

    private static func digits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}

extension HTTPHeaders {
    /// A server asks for no longer rest than a day.
    private static let longestRest: Int64 = 86_400

    /// For how many seconds the server asks to be left alone: `Retry-After`, as a number or as a date, which counts
    /// from the `Date` of the same answer.
    package var retryAfter: Int64? {
        guard let text = self["Retry-After"] else { return nil }
        let seconds: Int64
        if let number = Int64(text.filter { $0 != " " }, radix: 10) {
            seconds = number
        } else if let date = HTTPDate.seconds(text),
            let now = self["Date"].flatMap({ HTTPDate.seconds($0) })
        {
            seconds = Swift.max(0, date - now)
        } else {
            return nil
        }
        return seconds < 0 ? nil : Swift.min(seconds, Self.longestRest)
    }
}
