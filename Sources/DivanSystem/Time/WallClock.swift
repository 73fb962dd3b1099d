// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The date and time that the system shows, which may be set back.
package enum WallClock {
    /// The milliseconds since 1970.
    package static var millisecondsSince1970: Int64 {
        let time = now
        return Int64(time.tv_sec) &* 1_000 &+ Int64(time.tv_nsec) / 1_000_000
    }

    /// The nanoseconds since the last whole second, as finely as the system counts them.
    package static var nanosecondsOfSecond: Int { now.tv_nsec }

    /// The seconds since 1970.
    package static var secondsSince1970: Int64 { Int64(now.tv_sec) }

    /// The time of one clock for all of them: `time` is some milliseconds behind this one on Linux, so a second would begin later in
    /// seconds than in milliseconds.
    private static var now: timespec {
        var time = timespec()
        // SAFETY: `time` is a local that outlives the call.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return time
    }
}

/// A date and a time of day in universal time.
package struct UniversalTime: Sendable {
    /// The year.
    package let year: Int
    /// The month, from 1 on.
    package let month: Int
    /// The day of the month, from 1 on.
    package let day: Int
    /// The hour, from 0 on.
    package let hour: Int
    /// The minute, from 0 on.
    package let minute: Int
    /// The second, from 0 on.
    package let second: Int

    /// The time so many seconds after the beginning of 1970; nil when its year is too large for the system.
    ///
    /// - Parameter seconds: The seconds, which may be negative.
    package init?(secondsSince1970 seconds: Int64) {
        var seconds = time_t(seconds)
        // SAFETY: all zeroes is a valid `tm`; its pointer to the zone's name is never followed.
        var parts = unsafe tm()
        // SAFETY: both arguments are locals that outlive the call.
        guard unsafe gmtime_r(&seconds, &parts) != nil else { return nil }
        year = unsafe Int(parts.tm_year) + 1_900
        month = unsafe Int(parts.tm_mon) + 1
        day = unsafe Int(parts.tm_mday)
        hour = unsafe Int(parts.tm_hour)
        minute = unsafe Int(parts.tm_min)
        second = unsafe Int(parts.tm_sec)
    }
}
