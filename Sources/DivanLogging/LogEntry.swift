// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

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
        "\(time) \(level.name) \(domain.name): " + Self.escaped(message)
    }

    /// When, as ISO 8601 has it, with milliseconds.
    package var time: String { Self.text(ofTime: millisecondsSince1970) }

    /// The entry as a line for the journal of systemd, without its newline.
    ///
    ///     <6>database: Opened the database 'app'.
    var journalLine: String {
        let priority =
            switch level {
            case .error: 3
            case .warning: 4
            case .info: 6
            case .verbose, .debug, .none: 7
            }
        return "<\(priority)>\(domain.name): " + Self.escaped(message)
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
        guard let time = UniversalTime(secondsSince1970: (milliseconds - rest) / 1_000) else {
            return "\(milliseconds)"
        }
        func digits(_ number: some BinaryInteger, _ count: Int) -> String {
            let plain = String(number)
            return String(repeating: "0", count: max(0, count - plain.utf8.count)) + plain
        }
        return "\(digits(time.year, 4))-\(digits(time.month, 2))-\(digits(time.day, 2))T"
            + "\(digits(time.hour, 2)):\(digits(time.minute, 2)):\(digits(time.second, 2))"
            + ".\(digits(rest, 3))Z"
    }
}
