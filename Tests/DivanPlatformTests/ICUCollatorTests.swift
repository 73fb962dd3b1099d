// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanPlatform

@Suite struct ICUCollatorTests {
    private let collator = ICUCollator.root

    private func compare(_ left: String, _ right: String) -> Int {
        collator.compare(Array(left.utf8).span, Array(right.utf8).span)
    }

    private func sortKey(_ text: String) -> [UInt8] {
        var key: [UInt8] = []
        collator.appendSortKey(of: Array(text.utf8).span, to: &key)
        return key
    }

    @Test func `the version names library and table`() {
        #expect(collator.version.wholeMatch(of: /icu-[0-9.]+-[0-9.]+/) != nil)
    }

    @Test func `case is weaker than accents and accents weaker than letters`() {
        for (left, right) in [
            ("a", "A"), ("A", "\u{E1}"), ("\u{E1}", "ab"), ("~", "0"), ("9", "a"),
        ] {
            #expect(compare(left, right) < 0)
            #expect(compare(right, left) > 0)
        }
    }

    @Test func `canonically equal texts have equal keys whatever the order of their marks`() {
        #expect(compare("\u{1EC7}", "e\u{323}\u{302}") == 0)
        #expect(compare("e\u{302}\u{323}", "e\u{323}\u{302}") == 0)
        #expect(sortKey("e\u{302}\u{323}") == sortKey("\u{1EC7}"))
    }

    @Test func `sort keys order as comparison does and hold no zero`() {
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 1)
            let left = RandomJSON.string(using: &generator)
            let right = RandomJSON.string(using: &generator)
            let (leftKey, rightKey) = (sortKey(left), sortKey(right))
            #expect(!leftKey.contains(0))
            let byKey =
                leftKey.lexicographicallyPrecedes(rightKey) ? -1 : leftKey == rightKey ? 0 : 1
            #expect(byKey == compare(left, right), "\(left.unicodeScalars) \(right.unicodeScalars)")
        }
    }

    @Test func `keys of ASCII put together from a table are those that ICU makes`() {
        let table = ASCIISortKeys { self.anySortKey($0) }
        #expect(table.isUsable)
        var isTaken = 0
        for round in Soak.rounds(test: 5_000, soak: 1_000_000) {
            var generator = Soak.random(round: round, salt: 2)
            let length = Int.random(in: 0...100, using: &generator)
            let capitals = Int.random(in: 0...4, using: &generator)
            let text = (0..<length).map { _ -> UInt8 in
                if Int.random(in: 0..<400, using: &generator) == 0 {
                    return UInt8.random(in: 0..<128, using: &generator)
                }
                let isCapital = Int.random(in: 0..<4, using: &generator) < capitals
                let letters: ClosedRange<UInt8> = isCapital ? 65...90 : 97...122
                return Bool.random(using: &generator)
                    ? UInt8.random(in: 32...126, using: &generator)
                    : UInt8.random(in: letters, using: &generator)
            }
            var key: [UInt8] = [9]
            guard table.append(text.span, to: &key) else {
                #expect(key == [9])
                continue
            }
            isTaken += 1
            #expect(key == [9] + anySortKey(text), "\(text)")
            let told = key.span.extracting(1..<key.count)
            #expect(table.text(toldBy: told).map { Array($0.utf8) } == text)
        }
        #expect(isTaken > Soak.rounds(test: 5_000, soak: 1_000_000).count / 2)
    }

    @Test func `characters of ASCII that are not ignored are told, and texts of up to 96`() {
        func isTold(_ text: [UInt8]) -> Bool {
            var key: [UInt8] = []
            return collator.appendTellingSortKey(of: text.span, to: &key)
        }
        let told = (UInt8(0)..<128).filter { isTold([$0]) }
        #expect(told == Array(9...13) + Array(32...126))
        #expect(isTold(Array(repeating: 97, count: 96)))
        #expect(!isTold(Array(repeating: 97, count: 97)) && !isTold([]) && !isTold([0xC3, 0xA9]))
    }

    @Test func `bytes that tell no text give none and never trap`() {
        let table = ASCIISortKeys { self.anySortKey($0) }
        #expect(table.tellsTexts)
        for round in Soak.rounds(test: 20_000, soak: 2_000_000) {
            var generator = Soak.random(round: round, salt: 3)
            var key: [UInt8] = []
            let letters: [UInt8] = Array("Divan, 2026".utf8) + Array("abcXYZ".utf8)
            _ = table.append(letters.shuffled(using: &generator).span, to: &key)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: key = Array(key.prefix(Int.random(in: 0...key.count, using: &generator)))
                case 1 where !key.isEmpty:
                    key[key.indices.randomElement(using: &generator) ?? 0] =
                        UInt8.random(in: 0...255, using: &generator)
                default:
                    key.insert(
                        UInt8.random(in: 0...255, using: &generator),
                        at: Int.random(in: 0...key.count, using: &generator))
                }
            }
            // What is told has that many characters, whatever the second level says.
            guard let text = table.text(toldBy: key.span) else { continue }
            #expect(text.utf8.count <= key.count)
        }
        for nothing in [[], [1], [1, 1], [0x2A], [0x2A, 1, 5, 1], [0x2A, 1, 5, 1, 3]] as [[UInt8]] {
            #expect(table.text(toldBy: nothing.span) == nil)
        }
    }

    @Test func `characters with one weight would not be told, and their texts are kept`() {
        // As if the capital were the small letter.
        let table = ASCIISortKeys { text in self.anySortKey(text.map { $0 == 65 ? 97 : $0 }) }
        #expect(table.isUsable)
        #expect(!table.tellsTexts)
    }

    @Test func `a table that would give other keys than ICU is not used`() {
        let table = ASCIISortKeys { text in self.anySortKey(text) + (text.count > 20 ? [5] : []) }
        #expect(!table.isUsable)
        var key: [UInt8] = []
        #expect(!table.append(Array("a".utf8).span, to: &key))
    }

    private func anySortKey(_ text: [UInt8]) -> [UInt8] {
        var key: [UInt8] = []
        collator.appendAnySortKey(of: text.span, to: &key)
        return key
    }

    @Test func `a key longer than usual is whole`() {
        // One ideograph of the last plane takes more key than its three bytes suggest.
        let text = String(repeating: "\u{FDFA}", count: 1_000)
        #expect(sortKey(text).count > 3 * text.utf8.count)
        #expect(sortKey(text + "a").count > sortKey(text).count)
    }

    @Test func `ill-formed bytes count as replacement characters`() {
        let broken: [UInt8] = [0x61, 0xFF, 0x62]
        #expect(collator.compare(broken.span, Array("a\u{FFFD}b".utf8).span) == 0)
        var key: [UInt8] = []
        collator.appendSortKey(of: broken.span, to: &key)
        #expect(key == sortKey("a\u{FFFD}b"))
    }

    @Test func `many threads compare at once`() async {
        await withTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 { group.addTask { (0..<500).flatMap { self.sortKey("key \($0)") } } }
            let expected = (0..<500).flatMap { sortKey("key \($0)") }
            for await keys in group { #expect(keys == expected) }
        }
    }
}
