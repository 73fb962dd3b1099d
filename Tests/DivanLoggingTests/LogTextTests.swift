// SPDX-License-Identifier: Apache-2.0

import DivanLogging
import Testing

@Suite struct LogTextTests {
    private func line(_ time: Int64, _ message: String) -> String {
        LogEntry(
            millisecondsSince1970: time, domain: .maintenance, level: .info, message: message
        ).line
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_795_223_045_006, "2026-11-21T01:04:05.006Z"),
        (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    ])
    func `a line begins with the time in UTC`(_ time: Int64, _ text: String) {
        #expect(line(time, "Hello.") == "\(text) info maintenance: Hello.")
    }

    @Test func `an entry is one line whatever its message holds`() {
        let text = line(0, "a\nb\r\u{0}\u{7F}\u{1B}[31m\u{85}c")
        #expect(
            text.hasSuffix("a\\u{a}b\\u{d}\\u{0}\\u{7f}\\u{1b}[31m\\u{85}c"))
    }

    @Test func `levels are read from words`() {
        #expect(LogLevels(parsing: "debug") == LogLevels(.debug))
        var levels = LogLevels(.warning)
        levels[.expiration] = .debug
        #expect(LogLevels(parsing: "Expiration=DEBUG") == levels)
        #expect(LogLevels(parsing: "warning,expiration=debug") == levels)
        #expect(LogLevels(parsing: "expiration=debug,warning") == LogLevels(.warning))
        for text in ["", "loud", "nowhere=debug", "expiration=", "=debug", "debug,"] {
            #expect(LogLevels(parsing: text) == nil, "\(text)")
        }
    }

    @Test func `every level and every domain fits in its four bits`() {
        for domain in LogDomain.allCases {
            for level in LogLevel.allCases {
                var levels = LogLevels(.verbose)
                levels[domain] = level
                #expect(levels[domain] == level)
                let others = LogDomain.allCases.filter { $0 != domain }
                #expect(others.allSatisfy { levels[$0] == .verbose })
            }
        }
        #expect(LogDomain.allCases.count <= 16)
    }

    @Test func `names lead back to what they name`() {
        for level in LogLevel.allCases { #expect(LogLevel(named: level.name) == level) }
        for domain in LogDomain.allCases { #expect(LogDomain(named: domain.name) == domain) }
    }
}
