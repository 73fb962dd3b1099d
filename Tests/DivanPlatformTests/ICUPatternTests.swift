// SPDX-License-Identifier: Apache-2.0

import DivanPlatform
import Testing

/// Regular expressions are looked for anywhere in UTF-8 texts, in bounded time.
@Suite struct ICUPatternTests {
    @Test(arguments: [
        ("^A.*n$", "Ann", true), ("b", "abc", true), ("^b", "abc", false), ("", "", true),
        ("\u{e9}+$", "caf\u{e9}\u{e9}", true), ("^.$", "\u{1F600}", true),
        ("^\\d{3}$", "042", true),
        ("(?i)OSLO", "oslo", true), ("OSLO", "oslo", false), ("a\\u0000b", "a\u{0}b", true),
    ])
    func `an expression is found where it occurs`(_ row: (String, String, Bool)) throws {
        let pattern = try ICUPattern(row.0)
        #expect(pattern.occurs(in: Array(row.1.utf8).span) == row.2)
    }

    @Test func `letters may match in either case`() throws {
        let pattern = try ICUPattern("^stra\u{df}e", ignoringCase: true)
        #expect(pattern.occurs(in: Array("STRA\u{df}E 1".utf8).span) == true)
    }

    @Test func `what is no expression is refused with its place`() {
        let failure = #expect(throws: ICUPattern.Failure.self) { try ICUPattern("a(b") }
        #expect(failure?.offset != nil)
    }

    @Test func `an expression that backtracks without end gives up`() throws {
        let pattern = try ICUPattern("^(a+)+$")
        let text = Array((String(repeating: "a", count: 40) + "!").utf8)
        #expect(pattern.occurs(in: text.span) == nil)
        // It is fit for the next text.
        #expect(pattern.occurs(in: Array("aaa".utf8).span) == true)
    }
}
