// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import DivanTestSupport
import Testing

struct QRCodeTests {
    @Test func `a text gets the smallest code that has room for it`() throws {
        // Of medium correction, version 1 takes 14 bytes and version 7 takes 122.
        #expect(try QRCode(String(repeating: "a", count: 14)).side == 21)
        #expect(try QRCode(String(repeating: "a", count: 15)).side == 25)
        #expect(try QRCode(String(repeating: "a", count: 122)).side == 45)
        #expect(try QRCode(String(repeating: "a", count: 123)).side == 49)
    }

    @Test(arguments: QRCode.Correction.allCases)
    func `a level of correction takes so many bytes and no more`(
        correction: QRCode.Correction
    ) throws {
        let longest = String(repeating: "x", count: correction.mostBytes)
        #expect(try QRCode(longest, correction: correction).side == 177)
        let error = #expect(throws: PeerError.self) {
            try QRCode(longest + "x", correction: correction)
        }
        #expect(error?.code == .invalidValue)
        let message = try #require(error?.message)
        #expect(message.contains("\(correction.mostBytes + 1) bytes"))
        #expect(message.contains("lower correction") == (correction != .low))
        #expect(!message.contains("xx"))
    }

    @Test func `a text beyond ASCII has room for one byte less`() throws {
        let longest = "\u{E9}" + String(repeating: "x", count: 2_953 - 3)
        #expect(try QRCode(longest, correction: .low).side == 177)
        let error = #expect(throws: PeerError.self) { try QRCode(longest + "x", correction: .low) }
        #expect(error?.message.contains("has 2953 bytes") == true)
        #expect(error?.message.contains("takes 2952 at most") == true)
    }

    @Test func `an empty text has no code`() {
        let error = #expect(throws: PeerError.self) { try QRCode("") }
        #expect(error?.code == .invalidValue)
    }

    @Test func `correction is raised as far as the code does not grow`() throws {
        for count in [1, 7, 8, 11, 12, 14, 15, 17, 100, 121, 300] {
            let text = String(repeating: "a", count: count)
            for asked in QRCode.Correction.allCases {
                let code = try QRCode(text, correction: asked)
                #expect(code.correction >= asked)
                if let higher = QRCode.Correction.allCases.first(where: { $0 > code.correction }) {
                    #expect(try QRCode(text, correction: higher).side > code.side)
                }
            }
        }
        // Version 1 takes 17, 14, 11 and 7 bytes.
        #expect(try QRCode("1234567", correction: .low).correction == .high)
        #expect(try QRCode("12345678", correction: .low).correction == .quartile)
        #expect(try QRCode("123456789012", correction: .low).correction == .medium)
        #expect(try QRCode("123456789012345", correction: .low).correction == .low)
    }

    @Test func `three corners have their patterns, and what lies outside is light`() throws {
        let code = try QRCode("divan")
        let far = code.side - 7
        for (left, top) in [(0, 0), (far, 0), (0, far)] {
            for y in 0..<7 {
                for x in 0..<7 {
                    // A dark ring around a light one around a dark square.
                    let ring = max(abs(x - 3), abs(y - 3))
                    #expect(code.isDark(x: left + x, y: top + y) == (ring != 2))
                }
            }
        }
        for outside in [-1, code.side, .max, .min] {
            #expect(!code.isDark(x: outside, y: 0) && !code.isDark(x: 0, y: outside))
        }
    }

    @Test func `codes are made on many threads at once`() async throws {
        let texts = (1...40).map { String(repeating: "divan", count: $0) }
        let alone = try texts.map { try QRCode($0) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { zip(texts, alone).allSatisfy { (try? QRCode($0)) == $1 } }
            }
            for await areEqual in group { #expect(areEqual) }
        }
    }

    @Test func `a code is a value of its text and its correction`() throws {
        #expect(try QRCode("a") == QRCode("a"))
        #expect(try QRCode("a") != QRCode("b"))
        // They are canonically equivalent, and other bytes.
        #expect(try QRCode("\u{E9}") != QRCode("e\u{301}"))
    }

    @Test(.enabled(if: CodeReader.program != nil, CodeReader.reason))
    func `random texts are read back from their codes`() throws {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_.~:/?#[]@!$&'()*+,;=% ")
        for round in Soak.rounds(test: 20, soak: 1_000) {
            var random = Soak.random(round: round, salt: 0x9C0D)
            // Up to 600 bytes: larger codes would need larger pictures to be read.
            let text = String((0...random.below(600)).map { _ in random.element(of: letters) })
            let correction = random.element(of: QRCode.Correction.allCases)
            let code = try QRCode(text, correction: correction)
            #expect(
                try CodeReader.read(code.png(scale: 4), named: "code.png") == text,
                "round \(round), version \((code.side - 17) / 4), \(correction)")
        }
    }

    @Test(
        .enabled(if: CodeReader.program != nil, CodeReader.reason),
        arguments: ["\u{E9}t\u{E9}", "Zo\u{EB} \u{2713}", "\u{65E5}\u{672C}\u{8A9E}", "\u{1F4F1}"])
    func `texts beyond ASCII are read back as UTF-8`(text: String) throws {
        let read = try CodeReader.read(QRCode(text).png(), named: "code.png")
        #expect(read.map { Array($0.utf8) } == Array(text.utf8))
    }
}
