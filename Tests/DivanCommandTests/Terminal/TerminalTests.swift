// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanCommand

@Suite struct TerminalTests {
    private func terminal(
        _ environment: [String: String], _ choice: Terminal.ColorChoice = .auto,
        interactive: Bool = true
    ) -> Terminal {
        Terminal(
            isInteractive: interactive, width: nil, environment: environment, choice: choice)
    }

    @Test func `a terminal has colours unless NO_COLOR forbids them`() {
        #expect(terminal(["TERM": "xterm"]).allowsColor)
        #expect(!terminal(["TERM": "xterm", "NO_COLOR": "1"]).allowsColor)
        #expect(terminal(["TERM": "xterm", "NO_COLOR": ""]).allowsColor)
        #expect(!terminal([:]).allowsColor)
    }

    @Test func `a dumb terminal has neither colours nor bars`() {
        let dumb = terminal(["TERM": "dumb"])
        #expect(!dumb.allowsColor)
        #expect(!dumb.isInteractive)
    }

    @Test func `a pipe has colours only by request`() {
        #expect(!terminal(["TERM": "xterm"], interactive: false).allowsColor)
        #expect(terminal(["NO_COLOR": "1"], .always, interactive: false).allowsColor)
        #expect(!terminal(["TERM": "xterm"], .never).allowsColor)
    }

    @Test func `the locale says whether there is more than ASCII`() {
        #expect(terminal(["LANG": "en_GB.UTF-8"]).allowsUnicode)
        #expect(terminal(["LC_ALL": "", "LANG": "de_DE.utf8"]).allowsUnicode)
        #expect(!terminal(["LC_ALL": "C", "LANG": "en_GB.UTF-8"]).allowsUnicode)
        #expect(!terminal([:]).allowsUnicode)
    }

    @Test func `the width comes from the terminal, then from COLUMNS`() {
        let both = ["COLUMNS": "100"]
        #expect(terminal(both).width == 100)
        #expect(terminal([:]).width == 80)
        #expect(
            Terminal(isInteractive: true, width: 40, environment: both, choice: .auto).width == 40)
    }

    @Test func `styles are left out where there is no colour`() {
        #expect(Terminal.none.styled("x", .error) == "x")
        #expect(terminal([:], .always).styled("x", .error) == "\u{1B}[1;31mx\u{1B}[0m")
    }

    @Test(arguments: [
        ("plain \u{E9}", "plain \u{E9}"), ("a\nb\tc\r", #"a\nb\tc\r"#),
        ("\u{1B}[31m", #"\u{1B}[31m"#), ("\u{7F}\u{9B}", #"\u{7F}\u{9B}"#),
        ("\u{202E}abc", #"\u{202E}abc"#),
    ])
    func `control characters are made visible`(_ text: String, _ expected: String) {
        #expect(PrintableText.escaping(text) == expected)
    }
}

@Suite struct QuantityTests {
    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567")])
    func `thousands are grouped`(_ number: Int, _ expected: String) {
        #expect(Quantity.grouped(number) == expected)
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1500, "1.5 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (42_700_000, "42.7 MB"), (3_000_000_000_000_000, "3000.0 TB"),
    ])
    func `bytes are written in the largest unit`(_ count: Int, _ expected: String) {
        #expect(Quantity.bytes(count) == expected)
    }

    @Test(arguments: [
        (0, "0:00"), (7, "0:07"), (754, "12:34"), (3600, "1:00:00"), (-5, "0:00"),
    ])
    func `durations are written as a clock does`(_ seconds: Int, _ expected: String) {
        #expect(Quantity.clock(.seconds(seconds)) == expected)
    }

    @Test(arguments: [(1.005, 2, "1.00"), (0.049, 1, "0.0"), (-0.5, 1, "-0.5"), (2.5, 0, "3")])
    func `fractions are rounded`(_ value: Double, _ digits: Int, _ expected: String) {
        #expect(Quantity.fixed(value, digits) == expected)
    }

    @Test func `one of a thing is singular`() {
        #expect(Quantity.counted(1, "document") == "1 document")
        #expect(Quantity.counted(2000, "document") == "2,000 documents")
    }
}

@Suite struct TextTableTests {
    @Test func `columns line up and the last has no trailing space`() {
        var table = TextTable([.left, .right, .left])
        table.add("a", "1", "x")
        table.add("bbb", "100", "yy")
        #expect(table.lines == ["a      1  x", "bbb  100  yy"])
    }

    @Test func `an empty table has no lines`() {
        #expect(TextTable([.left]).lines.isEmpty)
    }
}
