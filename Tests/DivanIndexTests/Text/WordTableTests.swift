// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanIndex
import DivanModel

struct WordTableTests {
    @Test func `each word has the number that it was given, wherever it stands in a text`() throws {
        for round in Soak.rounds(test: 20, soak: 500) {
            var random = Soak.random(round: round, salt: 0x30D5)
            var (table, model) = (WordTable(), [[UInt8]: UInt32]())
            for _ in 0..<Int.random(in: 1...3_000, using: &random) {
                let word = Self.someWord(&random)
                let (text, range) = Self.place(word, &random)
                let known = table.value(of: range, in: text.span)
                #expect(known == model[word], "round \(round)")
                guard known == nil else { continue }
                let value = UInt32.random(in: 0 ... .max, using: &random)
                let isAdded = table.add(range, in: text.span, value)
                #expect(isAdded)
                model[word] = value
            }
            #expect(table.count == model.count)
            for (word, value) in model {
                let (text, range) = Self.place(word, &random)
                let found = table.value(of: range, in: text.span)
                #expect(found == value, "round \(round)")
            }
            table.removeAll()
            #expect(table.count == 0)
            for word in model.keys.prefix(20) {
                let found = table.value(of: 0..<word.count, in: word.span)
                #expect(found == nil)
            }
        }
    }

    @Test func `words that differ in a zero at their end, or in one byte, are different words`() {
        var table = WordTable()
        var words: [[UInt8]] = []
        for length in 0...20 {
            words.append([UInt8](repeating: 0, count: length))
            words.append([UInt8](repeating: 0xFF, count: length))
            for place in 0..<length {
                var word = [UInt8](repeating: 0, count: length)
                word[place] = 1
                words.append(word)
            }
        }
        words.remove(at: 1)
        for (number, word) in words.enumerated() {
            let known = table.value(of: 0..<word.count, in: word.span)
            #expect(known == nil)
            let isAdded = table.add(0..<word.count, in: word.span, UInt32(number))
            #expect(isAdded)
        }
        for (number, word) in words.enumerated() {
            let found = table.value(of: 0..<word.count, in: word.span)
            #expect(found == UInt32(number))
        }
    }

    @Test func `strings sort by their bytes, also those with the same beginning`() {
        for round in Soak.rounds(test: 20, soak: 500) {
            var random = Soak.random(round: round, salt: 0x50A7)
            var (table, strings) = (ByteTable(), [[UInt8]]())
            for _ in 0..<Int.random(in: 0...500, using: &random) {
                let string = Self.someWord(&random)
                guard !strings.contains(string) else { continue }
                let number = table.add(string.span)
                #expect(number == strings.count)
                strings.append(string)
            }
            let sorted = table.sorted(Array(strings.indices)).map { strings[$0] }
            #expect(sorted == strings.sorted { $0.precedes($1) }, "round \(round)")
        }
    }

    @Test func `places of up to four bytes are those of the text, and longer ones are left there`()
    {
        for round in Soak.rounds(test: 50, soak: 2_000) {
            var random = Soak.random(round: round, salt: 0x5407)
            var bytes: [UInt8] = []
            let frequency = Int.random(in: 1...5, using: &random)
            for _ in 0..<frequency {
                let most: UInt64 = Bool.random(using: &random) ? 127 : 70_000
                Varint.append(UInt64.random(in: 0...most, using: &random), to: &bytes)
            }
            let (text, range) = Self.place(bytes, &random)
            let places = ShortPlaces(text.span, range)
            #expect((places == nil) == (bytes.count > ShortPlaces.mostBytes))
            guard let places else { continue }
            #expect(places.frequency == UInt64(frequency))
            #expect((0..<places.size).map { places[$0] } == bytes, "round \(round)")
        }
    }

    /// Few letters, so that words come again and share their beginnings.
    private static func someWord(_ random: inout SeededRandom) -> [UInt8] {
        let length = Int.random(
            in: 0...(Int.random(in: 0..<4, using: &random) == 0 ? 40 : 9), using: &random)
        return (0..<length).map { _ in UInt8.random(in: 0...2, using: &random) }
    }

    /// A text that a word stands in, at its end or before other bytes.
    private static func place(
        _ word: [UInt8], _ random: inout SeededRandom
    ) -> (text: [UInt8], range: Range<Int>) {
        let before = [UInt8](repeating: 7, count: Int.random(in: 0...9, using: &random))
        let behind = [UInt8](repeating: 9, count: Int.random(in: 0...9, using: &random))
        return (before + word + behind, before.count..<before.count + word.count)
    }
}
