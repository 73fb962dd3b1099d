// SPDX-License-Identifier: Apache-2.0

/// Dates as text, in the profile of ISO 8601 that JSON documents use.
///
/// ```swift
/// ISO8601.format(millisecondsSince1970: 1_795_223_045_006)    // "2026-11-21T01:04:05.006Z"
/// ISO8601.parse("2026-11-21T03:04:05+02:00")                  // the same, to the second
/// ```
///
/// The calendar is the Gregorian one, also for years before it; there are no leap seconds.
public enum ISO8601 {
    /// The milliseconds of a day.
    private static let day: Int64 = 86_400_000
    /// The years 0000 to 9999: what four digits can write.
    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// A date in UTC with three digits of the second's fraction.
    ///
    /// Dates before the year 0 and after 9999 are clamped to these years.
    public static func format(millisecondsSince1970 milliseconds: Int64) -> String {
        let clamped = min(max(milliseconds, range.lowerBound), range.upperBound)
        let days = (clamped - (clamped % day + day) % day) / day
        var rest = clamped - days * day
        let date = civil(fromDays: days)
        var text = ""
        append(date.year, digits: 4, before: "-", to: &text)
        append(date.month, digits: 2, before: "-", to: &text)
        append(date.day, digits: 2, before: "T", to: &text)
        for (unit, digits, mark) in [
            (3_600_000, 2, ":"), (60_000, 2, ":"), (1000, 2, "."), (1, 3, "Z"),
        ] {
            append(rest / Int64(unit), digits: digits, before: mark, to: &text)
            rest %= Int64(unit)
        }
        return text
    }

    private static func append(
        _ number: Int64, digits: Int, before mark: String, to text: inout String
    ) {
        let plain = String(number)
        text += String(repeating: "0", count: max(0, digits - plain.utf8.count)) + plain + mark
    }

    /// The milliseconds since 1970 of a date; `nil` when the text is none.
    ///
    /// Accepted are `2026-11-21`, which means midnight UTC, and a date and time such as
    /// `2026-11-21T01:02:03`, with an optional fraction of the second and then `Z` or an offset
    /// (`+02:00`, `+0200`, `+02`). A time without either is UTC. Digits of the fraction after the
    /// third are cut off. The `T` may be a space, and both letters lower-case.
    public static func parse(_ text: String) -> Int64? {
        var reader = DateReader(text)
        guard let year = reader.number(digits: 4), reader.skip("-"),
            let month = reader.number(digits: 2), (1...12).contains(month), reader.skip("-"),
            let day = reader.number(digits: 2), day >= 1,
            day <= length(ofMonth: month, year: year)
        else { return nil }
        let midnight = days(year: year, month: month, day: day) * Self.day
        if reader.isAtEnd { return midnight }
        guard reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let time = reader.time(), let offset = reader.offset(), reader.isAtEnd
        else { return nil }
        return midnight + time - offset
    }

    private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970. Years are counted from March, so that a leap day comes last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let fromMarch = month > 2 ? month - 3 : month + 9
        // 400 years are added, so that no division meets a negative number.
        let years = year + 400 - (month > 2 ? 0 : 1)
        let leapDays = years / 4 - years / 100 + years / 400
        // 719468 days from March of year 0 to 1970, 146097 in 400 years.
        return years * 365 + leapDays + (153 * fromMarch + 2) / 5 + day - 1 - 719_468 - 146_097
    }

    /// The date of a day counted from 1970.
    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Since March of year -400, so that no division meets a negative number.
        let shifted = days + 719_468 + 146_097
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        let year = era * 400 + yearOfEra - 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * fromMarch + 2) / 5 + 1)
    }
}

/// The characters of a date, from left to right.
private struct DateReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ mark: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == mark.value else { return false }
        position += 1
        return true
    }

    mutating func digit() -> Int64? {
        guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else { return nil }
        position += 1
        return Int64(bytes[position - 1] - 0x30)
    }

    mutating func number(digits: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Hours, minutes and optional seconds, in milliseconds.
    mutating func time() -> Int64? {
        guard let hour = number(digits: 2), hour < 24, skip(":"),
            let minute = number(digits: 2), minute < 60
        else { return nil }
        var milliseconds = (hour * 60 + minute) * 60_000
        guard skip(":") else { return milliseconds }
        guard let second = number(digits: 2), second < 60 else { return nil }
        milliseconds += second * 1000
        guard skip(".") || skip(",") else { return milliseconds }
        guard var digit = digit() else { return nil }
        var unit: Int64 = 100
        while true {
            milliseconds += digit * unit
            unit /= 10
            guard let next = self.digit() else { return milliseconds }
            digit = next
        }
    }

    /// The offset from UTC in milliseconds.
    mutating func offset() -> Int64? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let isWest = skip("-")
        guard isWest || skip("+"), let hours = number(digits: 2), hours < 24 else { return nil }
        var minutes: Int64 = 0
        if !isAtEnd {
            _ = skip(":")
            guard let value = number(digits: 2), value < 60 else { return nil }
            minutes = value
        }
        return (hours * 60 + minutes) * (isWest ? -60_000 : 60_000)
    }
}
