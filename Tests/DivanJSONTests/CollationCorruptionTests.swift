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
        #expect(failure([0x50, 0x00, 0x02, 0x00])?.expectation == "01 after a sort key")
        #expect(failure([0x50, 0x00, 0x01, 0x01, 0x03, 0x00])?.offset == 3)
        #expect(failure([0x40, 0xC0, 0x41, 0, 0, 0, 0, 0, 1, 0x10])?.offset == 1)
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
