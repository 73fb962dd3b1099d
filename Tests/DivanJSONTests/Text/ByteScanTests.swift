// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanJSON

/// Random bytes, looked through eight at a time and one at a time.
struct ByteScanTests {
    /// Bytes that make carries run: next to zero, next to the highest bit.
    private static let bytes: [UInt8] = [
        0x00, 0x01, 0x02, 0x61, 0x7F, 0x80, 0x81, 0xC3, 0xA4, 0xFF,
    ]

    @Test func `the first zero is found wherever it stands`() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<5_000 {
            let bytes = Self.random(&random)
            for offset in 0...bytes.count {
                let expected = bytes[offset...].firstIndex(of: 0) ?? bytes.count
                let found = bytes.span.firstZero(from: offset)
                #expect(found == expected)
            }
        }
    }

    @Test func `the first quote or backslash is found wherever it stands`() {
        // Those beside them differ in their lowest bits.
        let near: [UInt8] = [0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x80, 0xA2, 0xDC, 0xFF]
        var random = SeededRandom(seed: 4)
        for _ in 0..<5_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                Bool.random(using: &random) ? 0x61 : near.randomElement(using: &random) ?? 0
            }
            for offset in 0...bytes.count {
                let expected =
                    bytes[offset...].firstIndex { $0 == 0x22 || $0 == 0x5C } ?? bytes.count
                let found = bytes.span.firstQuoteOrBackslash(from: offset)
                #expect(found == expected)
            }
        }
    }

    @Test func `ASCII is told from everything else`() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<5_000 {
            let bytes = Self.random(&random)
            let isASCII = bytes.span.isASCII
            #expect(isASCII == bytes.allSatisfy { $0 < 0x80 })
        }
        let letters = [UInt8](repeating: 0x61, count: 100)
        let isASCII = letters.span.isASCII
        #expect(isASCII)
    }

    @Test func `a text is made of UTF-8 and of nothing else`() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<5_000 {
            let bytes = Self.random(&random)
            let text = String(validUTF8: bytes.span)
            #expect(text == String(validating: bytes, as: UTF8.self))
            if let text { #expect(Array(text.utf8) == bytes) }
        }
        let film = Array("Übergröße 🎬".utf8)
        let text = String(validUTF8: film.span)
        #expect(text == "Übergröße 🎬")
    }

    private static func random(_ random: inout SeededRandom) -> [UInt8] {
        (0..<Int.random(in: 0...24, using: &random)).map { _ in
            Bool.random(using: &random) ? 0x61 : bytes.randomElement(using: &random) ?? 0
        }
    }
}
