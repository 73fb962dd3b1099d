// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// How long something lasts, as CouchDB writes it: `30_days`, `12_hours`, or `infinity`.
enum TimePeriod: Sendable, Equatable {
    case seconds(Int64)
    /// It never ends.
    case infinity

    private static let (minute, hour, day): (Int64, Int64, Int64) = (60, 3_600, 86_400)
    private static let units: [(names: [String], seconds: Int64)] = [
        (["s", "sec", "second", "seconds"], 1), (["min", "minute", "minutes"], minute),
        (["h", "hrs", "hour", "hours"], hour), (["d", "day", "days"], day),
        (["w", "week", "weeks"], 7 * day), (["mon", "month", "months"], 30 * day),
        (["y", "year", "years"], 365 * day),
    ]
    /// A thousand years.
    private static let longest: Int64 = 365_000 * day

    /// Reads a text; nil where it is none, or longer than a thousand years.
    init?(_ text: String) {
        if text.hasSameBytes(as: "infinity") {
            self = .infinity
            return
        }
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int64(parts[0], radix: 10), count > 0,
            let unit = Self.units.first(where: { unit in
                unit.names.contains { String(parts[1]).hasSameBytes(as: $0) }
            })
        else { return nil }
        let (seconds, isTooLong) = count.multipliedReportingOverflow(by: unit.seconds)
        guard !isTooLong, seconds <= Self.longest else { return nil }
        self = .seconds(seconds)
    }
}
