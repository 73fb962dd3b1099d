// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@testable import DivanIndex

@Suite struct RowDocumentIDTests {
    @Test(arguments: [
        ("0190abcd-7e2f-7abc-8def-0123456789ab", 18),
        ("ff112233-4455-6677-8899-aabbccddeeff", 18),
        ("00000000-0000-0000-0000-000000000000", 32),
        ("0190abcd7e2f7abc8def0123456789ab", 20),
        ("356a192b7913b04c54574d18c28d46e6395428ab", 23),
        ("person:17", 9), ("_design/x", 9), ("a", 1), ("ag", 2), ("ab", 2), ("abcd", 3),
        ("ab-17", 7), ("abc", 6), ("20241231", 5), ("2024-12-31", 11), ("ab\u{e9}", 8),
        ("\u{e9}", 2),
        ("0190ABCD-7E2F-7ABC-8DEF-0123456789AB", 38),
        ("0190abcd-7e2f-7abc-8def-0123456789ab-2", 22),
    ])
    func `an ID comes back and takes so many bytes`(text: String, size: Int) throws {
        let bytes = bytes(text)
        #expect(bytes.count == size)
        #expect(try RowDocumentID.decode(bytes.span).text == text)
    }

    // As docs/internal/file-format.md has them.
    @Test func `an ID is written as the file format says`() {
        let digits: [UInt8] = [0x23, 0x45, 0x67, 0x89, 0xAB]
        #expect(
            bytes("0190abcd-7e2f-7abc-8def-0123456789ab") == [
                0x30, 0x31, 0x90, 0xAB, 0xCD, 0x7E, 0x2F, 0x7A, 0xBC, 0x8D, 0xEF, 0x01, 0x04,
            ] + digits)
        #expect(
            bytes("0190abcd7e2f7abc8def0123456789ab") == [
                0x30, 0x31, 0x90, 0xAB, 0xCD, 0xFF, 0x02, 0x7E, 0x2F, 0x7A, 0xBC, 0x8D, 0xEF, 0x01,
                0x04,
            ] + digits)
        #expect(bytes("ab-17") == [0x61, 0x62, 0x01, 0x02, 0x2D, 0x31, 0x37])
        #expect(bytes("abc") == [0x61, 0x62, 0xBF, 0xFF, 0x03, 0x63])
        #expect(bytes("ab\u{e9}") == [0x61, 0x62, 0xFF, 0x01, 0xFF, 0x03, 0xC3, 0xA9])
    }

    @Test func `IDs stand in the order of their texts and come back, whatever they are`() throws {
        for round in Soak.rounds(test: 20_000, soak: 2_000_000) {
            var random = Soak.random(round: round, salt: 0x1D5)
            let left = Self.id(&random)
            let right = Bool.random(using: &random) ? Self.id(&random) : Self.changed(left, &random)
            try RowDocumentID.checkInvariants(of: left, and: right)
            // In a key a zero stands behind them, and what bounds one from above has a one there.
            let (one, other) = (bytes(left), bytes(right))
            let isBefore = left.utf8.lexicographicallyPrecedes(right.utf8)
            try #require(
                (one + [1]).precedes(other + [0]) == isBefore, "\(left) \(right)")
        }
    }

    @Test func `all short IDs of a few characters stand in the order of their texts`() {
        var texts: [String] = ["a"]
        let characters = ["-", ".", "0", "9", ":", "a", "f", "g"]
        for prefix in ["", "00", "ff", "12345678", "123456789abc", "12345678-9abc"] {
            for first in characters {
                texts.append(prefix + first)
                for second in characters {
                    texts.append(prefix + first + second)
                    for third in characters { texts.append(prefix + first + second + third) }
                }
            }
        }
        texts = Set(texts).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for (text, next) in zip(texts, texts.dropFirst()) {
            #expect((bytes(text) + [0]).precedes(bytes(next) + [0]), "\(text) \(next)")
        }
    }

    @Test(arguments: [
        [0x61, 0x62, 0x01], [0x61, 0x62, 0xFF], [0x61, 0x62, 0x01, 0x05], [0x61, 0x62, 0x01, 0x01],
        [0x61, 0x62, 0xFF, 0x02], [0x61, 0x62, 0xFF, 0x03, 0x78], [0x61, 0x62, 0xFF, 0x04],
        [0x61, 0x62, 0x01, 0x02, 0xC3], [0xC3], [0x67, 0xC3],
        [0x61, 0x62, 0x10, 0x10, 0x10, 0xFF, 0x02, 0xFF, 0x03],
    ])
    func `bytes that are no ID are an error`(bytes: [UInt8]) {
        #expect(throws: IndexCorruption.self) { try RowDocumentID.decode(bytes.span) }
        var text: [UInt8] = []
        #expect(throws: IndexCorruption.self) { try RowDocumentID.decode(bytes.span, to: &text) }
    }

    private func bytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        RowDocumentID.append(text, to: &bytes)
        return bytes
    }

    // MARK: - Random IDs

    private static let characters = Array(
        "0123456789abcdef0123456789abcdef-./:@ABF`gz\u{1}\u{7F}\u{e9}\u{1F600}")

    private static func id(_ random: inout some RandomNumberGenerator) -> String {
        func digits(_ count: Int) -> String {
            // Those that take two bytes often.
            (0..<count / 2).map { _ in
                ["00", "01", "ff", "fe", "02", "9a", "f0", "0f"].randomElement(using: &random) ?? ""
            }.joined()
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return [8, 4, 4, 4, 12].map { digits($0) }.joined(separator: "-")
        case 1: return digits(32)
        case 2: return HexadecimalText.uuid(1 << 56 | random.next() & 0xffff, random.next())
        case 3: return changed(digits(40), &random)
        case 4: return changed([8, 4, 4, 4, 12].map { digits($0) }.joined(separator: "-"), &random)
        default:
            let count = Int.random(in: 1...12, using: &random)
            return String((0..<count).map { _ in characters.randomElement(using: &random) ?? "0" })
        }
    }

    /// A text with a few characters changed, taken away or added; never empty.
    private static func changed(_ text: String, _ random: inout some RandomNumberGenerator)
        -> String
    {
        var text = Array(text)
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let place = Int.random(in: 0...text.count, using: &random)
            let character = characters.randomElement(using: &random) ?? "0"
            switch Int.random(in: 0..<4, using: &random) {
            case 0: text = Array(text.prefix(place))
            case 1: text.insert(character, at: place)
            case 2 where place < text.count: text.remove(at: place)
            default: if place < text.count { text[place] = character }
            }
        }
        return text.isEmpty ? "0" : String(text)
    }
}
