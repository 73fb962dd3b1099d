// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@Suite struct CollationCorruptionTests {
    @Test func `a failure names the offset and what is missing`() {
        let coder = CollationSamples.coder(.unicode)
        func failure(_ bytes: [UInt8]) -> RowKeyCoder.Failure? {
            #expect(throws: RowKeyCoder.Failure.self) { try coder.decode(bytes.span) }
        }
        #expect(failure([])?.description == "A row key lacks a value at byte 0.")
        #expect(failure([0x10, 0x10])?.description == "A row key lacks its end at byte 1.")
        #expect(
            failure([0x60, 0x99])?.description == "A row key lacks the tag of a value at byte 1.")
        #expect(failure([0x60])?.offset == 1)
        #expect(failure([0x50, 0x00, 0x01, 0xFF, 0x00])?.expectation == "a text in UTF-8")
        #expect(failure([0x50, 0x00, 0x02, 0x00])?.expectation == "00 or 01 after a sort key")
        #expect(failure([0x50, 0x2A, 0x00])?.offset == 3)
        #expect(
            failure([0x50, 0x2A, 0x01, 0x05, 0x00, 0x00])?.description
                == "A row key lacks a sort key that tells its text at byte 1.")
        #expect(failure([0x50, 0x00, 0x01, 0x01, 0x03, 0x00])?.offset == 3)
        #expect(failure([0x40, 0xC0, 0x41, 0, 0, 0, 0, 0, 0, 0x12])?.offset == 9)
        // -0.0 has no bits of its own, a negative number no digits of a positive one.
        #expect(failure([0x40, 0x7F] + Array(repeating: 0xFF, count: 7) + [0x10])?.offset == 1)
        #expect(failure([0x40, 0x40] + Array(repeating: 0, count: 7) + [0x80])?.offset == 9)
        // Digits of zero.
        #expect(
            failure(
                [0x40, 0xC0] + Array(repeating: 0, count: 7) + [0x80]
                    + Array(repeating: 0, count: 9))?.offset == 1)
    }

    @Test func `forms that are not those of the value are a failure`() throws {
        let coder = CollationSamples.coder(.unicode)
        func failure(_ value: JSONValue, _ forms: [UInt8]) -> RowKeyCoder.Failure? {
            #expect(throws: RowKeyCoder.Failure.self) { try coder.restoring(value, forms.span) }
        }
        #expect(try coder.restoring([1, 2], [4].span) == [1, 2.0])
        #expect(failure([1], [3])?.expectation == "the form of a number")
        #expect(failure([1], [4])?.expectation == "a number that the form is of")
        #expect(failure("a", [0])?.expectation == "a number that the form is of")
        #expect(failure([1], [0, 0])?.expectation == "a number that the form is of")
        #expect(failure(0.5, [0])?.expectation == "a form that its number has")
        #expect(failure(1, [1])?.expectation == "a form that its number has")
        #expect(failure(9_007_199_254_740_993, [0])?.expectation == "a form that its number has")
        #expect(failure(1, [2])?.expectation == "the end of a count")
        #expect(failure(1, [2, 9])?.expectation == "a number's text")
        #expect(failure(1, [2, 1, 0x31])?.expectation == "a number's text")
        #expect(failure(1, [2, 5] + Array("1e400".utf8))?.offset == 7)
        #expect(failure(1, Array(repeating: 0xFF, count: 12))?.expectation == "the end of a count")
    }

    @Test func `corrupt forms fail or restore numbers that are equal`() throws {
        let (coder, order) = (CollationSamples.coder(.raw), CollationSamples.order(.raw))
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 9)
            let value = JSONValue.array(
                (0..<4).map { _ in RandomJSON.number(using: &generator) })
            var (key, forms) = CollationSamples.encoding(value, .raw)
            if let index = forms.indices.randomElement(using: &generator) {
                forms[index] = .random(in: 0...255, using: &generator)
            } else {
                forms = [.random(in: 0...255, using: &generator)]
            }
            let plain = try coder.decode(key.span)
            guard let restored = try? coder.restoring(plain, forms.span) else { continue }
            #expect(order.collatesAsEqual(restored, value))
            key = CollationSamples.key(restored, .raw)
            #expect(key == CollationSamples.key(value, .raw))
        }
    }

    @Test(arguments: Collation.allCases)
    func `corrupt bytes fail or decode and never trap`(_ collation: Collation) {
        let coder = CollationSamples.coder(collation)
        var (failures, rounds) = (0, 0)
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var generator = Soak.random(round: round, salt: 6)
            var bytes = CollationSamples.key(RandomJSON.value(using: &generator), collation)
            if round % 4 == 0 {
                bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &generator) & 0x7F }
            }
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
                let index = bytes.indices.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = .random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: index)
                default: bytes = Array(bytes[...index])
                }
            }
            rounds += 1
            do { _ = try coder.decode(bytes.span) } catch { failures += 1 }
        }
        #expect(failures > rounds / 4)
    }
}
