// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanPlatform
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

@testable import DivanQuery

/// What is done fast for most texts is what ICU, or a walk through the values, does for all.
@Suite struct TextAnalysisTests {
    private static func words(_ text: [UInt8]) -> [Range<Int>]? {
        var words: [Range<Int>] = []
        return ASCIIWords.shared.append(in: text.span, to: &words) ? words : nil
    }

    private static func agree(_ text: [UInt8]) -> Bool {
        words(text) == ICUWordSegmenter.shared.words(in: text.span)
    }

    @Test func `words of short ASCII texts are those of ICU`() {
        // One of each kind that Unicode tells apart, and what stands at the ends of their ranges.
        let bytes = Array("aZ09_.,:;'\"-@/ \t\r\n\u{0}\u{7F}".utf8)
        var disagreed: [[UInt8]] = []
        for first in bytes {
            for second in bytes {
                for third in bytes {
                    let text = [first, second, third]
                    if !Self.agree(text) { disagreed.append(text) }
                    for fourth in Array("a1_.,'".utf8) where !Self.agree(text + [fourth]) {
                        disagreed.append(text + [fourth])
                    }
                }
            }
        }
        #expect(disagreed == [])
        for byte in UInt8(0)..<0x80 { #expect(Self.agree([byte])) }
    }

    @Test func `words of random ASCII texts are those of ICU`() {
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var random = Soak.random(round: round, salt: 0xA5C)
            let isAny = random.oneIn(2)
            let text = (0..<random.below(60)).map { _ in
                isAny
                    ? UInt8(random.below(0x80)) : random.element(of: Array("ab12_.,:;' -\"\n".utf8))
            }
            #expect(Self.agree(text), "round \(round): \(text)")
        }
    }

    @Test func `a text with other characters is left to ICU`() {
        #expect(Self.words(Array("caf\u{E9}".utf8)) == nil)
        #expect(Self.words(Array("a b.\u{301}".utf8)) == nil)
        #expect(Self.words(Array("".utf8)) == [])
    }

    @Test func `texts at paths are those of a walk through the values`() {
        for round in Soak.rounds(test: 500, soak: 20_000) {
            var random = Soak.random(round: round, salt: 0x7E7)
            let value = Self.object(&random, depth: 4)
            let path = (0...random.below(3)).map { _ in random.element(of: ["a", "b", "c"]) }
            var (expected, found) = ([String](), [String]())
            Self.collect(value, path[...], &expected)
            PackedValue(value).withBytes { bytes in
                PackedTexts([path]).forEach(in: bytes) { text in
                    found.append(
                        String(decoding: text.indices.map { text[$0] }, as: UTF8.self))
                }
            }
            #expect(found == expected, "round \(round)")
        }
    }

    private static func object(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        var object: JSONObject = [:]
        for name in ["a", "b", "c"] where random.oneIn(2) {
            object[name] = value(&random, depth: depth - 1)
        }
        return .object(object)
    }

    private static func value(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        switch random.below(depth > 0 ? 6 : 3) {
        case 0: .integer(5)
        case 1, 2: .string("t\(random.below(100))")
        case 3: .array((0..<random.below(4)).map { _ in value(&random, depth: depth - 1) })
        default: object(&random, depth: depth)
        }
    }

    private static func collect(
        _ value: JSONValue, _ path: ArraySlice<String>, _ texts: inout [String]
    ) {
        switch value {
        case .array(let elements): for element in elements { collect(element, path, &texts) }
        case .string(let text): if path.isEmpty { texts.append(text) }
        case .object(let members):
            guard let next = path.first, let member = members[next] else { return }
            collect(member, path.dropFirst(), &texts)
        default: return
        }
    }
}
