// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanModel

@Suite struct HexadecimalTextTests {
    @Test func `digits give the number that they were made of`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<1_000 {
            let (high, low) = (random.next(), random.next())
            let text = Substring(HexadecimalText.text(high: high, low: low))
            let found = HexadecimalText.parse(text.utf8)
            #expect(found?.high == high && found?.low == low)
        }
    }

    @Test func `one byte that is no lower-case digit makes it no number`() {
        let digits = Array("0123456789abcdef0123456789abcdef".utf8)
        for place in digits.indices {
            for byte in UInt8(0)..<0x80 {
                var changed = digits
                changed[place] = byte
                let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
                let text = Substring(String(decoding: changed, as: UTF8.self))
                #expect((HexadecimalText.parse(text.utf8) != nil) == isDigit)
            }
        }
        #expect(HexadecimalText.parse(Substring("é123456789abcdef0123456789abcde").utf8) == nil)
    }

    @Test func `more or fewer than 32 digits make it no number`() {
        for count in [0, 1, 31, 33, 64] {
            let text = Substring(String(repeating: "a", count: count))
            #expect(HexadecimalText.parse(text.utf8) == nil)
        }
        // A part of a longer text counts by itself.
        let part = ("1-" + String(repeating: "f", count: 32)).dropFirst(2)
        #expect(HexadecimalText.parse(part.utf8)?.high == .max)
    }
}
