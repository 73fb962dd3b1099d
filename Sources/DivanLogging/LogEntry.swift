// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// One message to a log.
public struct LogEntry: Sendable {
    /// When, in milliseconds since 1970 by the system's clock.
    public var millisecondsSince1970: Int64
    /// Where it comes from.
    public var domain: LogDomain
    /// How much it matters.
    public var level: LogLevel
    /// What it says: a sentence without document content, unless the level is `debug`.
    public var message: String

    /// Makes an entry.
    public init(
        millisecondsSince1970: Int64, domain: LogDomain, level: LogLevel, message: String
    ) {
        self.millisecondsSince1970 = millisecondsSince1970
        self.domain = domain
        self.level = level
        self.message = message
    }

    /// The entry as one line of text, without its newline.
    ///
    ///     2026-11-21T04:27:08.123Z info database: Opened the database 'app'.
    ///
    /// Control characters of the message are escaped, since document IDs may hold any of them: an
    /// entry is always one line, and none can be forged inside another.
    public var line: String {
        "\(Self.text(ofTime: millisecondsSince1970)) \(level.name) \(domain.name): "
            + Self.escaped(message)
    }

    private static func escaped(_ message: String) -> String {
        guard message.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return message }
        var text = ""
        for scalar in message.unicodeScalars {
            if scalar.properties.generalCategory == .control {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func text(ofTime milliseconds: Int64) -> String {
        // Rounded down, so that the rest is never negative.
        let rest = (milliseconds % 1_000 + 1_000) % 1_000
        var seconds = time_t((milliseconds - rest) / 1_000)
        // SAFETY: all zeroes is a valid `tm`; its pointer to the zone's name is never followed.
        var parts = unsafe tm()
        // SAFETY: both arguments are locals that outlive the call.
        guard unsafe gmtime_r(&seconds, &parts) != nil else { return "\(milliseconds)" }
        let date = unsafe (parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday)
        let time = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        func digits(_ number: some BinaryInteger, _ count: Int) -> String {
            let plain = String(number)
            return String(repeating: "0", count: max(0, count - plain.utf8.count)) + plain
        }
        return "\(digits(date.0, 4))-\(digits(date.1, 2))-\(digits(date.2, 2))T"
            + "\(digits(time.0, 2)):\(digits(time.1, 2)):\(digits(time.2, 2)).\(digits(rest, 3))Z"
    }

    /// The time by the system's clock.
    static var now: Int64 {
        var time = timespec()
        // SAFETY: the argument is a local that outlives the call.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
