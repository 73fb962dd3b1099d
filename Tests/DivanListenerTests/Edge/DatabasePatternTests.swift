// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanListener

/// Which names a pattern means.
@Suite struct DatabasePatternTests {
    @Test(arguments: [
        ("orders", "orders", true), ("orders", "orders2", false), ("*", "orders", true),
        ("*", "", true), ("r-*", "r-", true), ("r-*", "r-1", true), ("r-*", "s-1", false),
        ("r-??", "r-12", true), ("r-??", "r-1", false), ("*-log", "a-log-log", true),
        ("a*b*c", "abbcbc", true), ("a*b*c", "abbcb", false), ("?*?", "a", false),
    ])
    func `a pattern means names`(_ pattern: String, _ name: String, _ isMeant: Bool) {
        #expect(DatabasePattern(pattern).matches(name) == isMeant)
    }

    @Test func `a pattern of many stars is done soon`() {
        let pattern = DatabasePattern(String(repeating: "a*", count: 100) + "b")
        #expect(!pattern.matches(String(repeating: "a", count: 239)))
    }

    @Test func `it agrees with trying every way`() {
        func matches(_ pattern: Substring, _ name: Substring) -> Bool {
            guard let first = pattern.first else { return name.isEmpty }
            if first == "*" {
                return matches(pattern.dropFirst(), name)
                    || (!name.isEmpty && matches(pattern, name.dropFirst()))
            }
            guard let letter = name.first, first == "?" || first == letter else { return false }
            return matches(pattern.dropFirst(), name.dropFirst())
        }
        var random = SeededRandom(seed: 31)
        for _ in 0..<5_000 {
            let pattern = String(
                (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    "ab*?".randomElement(using: &random)!
                })
            let name = String(
                (0..<Int.random(in: 0...7, using: &random)).map { _ in
                    "ab".randomElement(using: &random)!
                })
            #expect(
                DatabasePattern(pattern).matches(name) == matches(pattern[...], name[...]),
                "\(pattern) \(name)")
        }
    }
}
