// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@Suite struct RevisionIDTests {
    @Test(arguments: [
        "1-7fb403f73a4446d70cf0a21a97e0b10a", "1-a", "2-877", "41-abc",
        "12-7FB403F73A4446D70CF0A21A97E0B10A", "3-with-hyphens-", "3--", "1-\u{e9}\u{1f600}",
        "1-7fb403f73a4446d70cf0a21a97e0b10", "1-7fb403f73a4446d70cf0a21a97e0b10a0",
        "9007199254740992-00000000000000000000000000000000",
        "1-" + String(repeating: "x", count: 255),
    ])
    func `a valid text is parsed and printed unchanged`(text: String) throws {
        let id = try RevisionID(validating: text)
        #expect(id.description == text)
        #expect("\(id.generation)-\(id.digest)" == text)
        #expect(try RevisionID(generation: id.generation, digest: id.digest) == id)
    }

    @Test(
        arguments: [
            ("", .malformedRevisionID), ("1", .malformedRevisionID), ("-a", .malformedRevisionID),
            ("x-a", .malformedRevisionID), ("1x-a", .malformedRevisionID),
            ("+1-a", .malformedRevisionID), ("01-a", .malformedRevisionID),
            (" 1-a", .malformedRevisionID), ("0-a", .generationOutOfRange),
            ("9007199254740993-a", .generationOutOfRange),
            ("99999999999999999999999999-a", .generationOutOfRange),
            ("1-", .digestLengthOutOfRange),
            ("1-" + String(repeating: "x", count: 256), .digestLengthOutOfRange),
        ] as [(String, IDFailure)])
    func `an invalid text is refused with its reason`(text: String, failure: IDFailure) {
        #expect(throws: failure) { try RevisionID(validating: text) }
        // Such a text can be named all the same: it stays what it is, and no revision has it.
        let id = RevisionID(text)
        #expect(!id.isValid && id.generation == 0)
        #expect(id.description == text && id.digest == text)
        #expect(throws: failure) { try id.validate() }
        #expect(id == RevisionID(text) && id != "1-a" && id < "1-a")
    }

    @Test func `texts that are no revision IDs are told apart by their bytes`() {
        #expect(RevisionID("\u{E9}") != RevisionID("e\u{301}"))
        // Digits of a digest alone are no ID, and not the ID of that digest.
        let digits = "7fb403f73a4446d70cf0a21a97e0b10a"
        #expect(RevisionID(digits) != RevisionID("1-" + digits) && !RevisionID(digits).isValid)
        #expect(RevisionID("1-" + digits).isValid)
    }

    @Test func `generations are ordered as numbers, then digests as bytes`() throws {
        let texts = [
            "1-z", "2-54a", "2-877", "2-B", "2-a", "9-x", "10-",
            "10-7fb403f73a4446d70cf0a21a97e0b109", "10-7fb403f73a4446d70cf0a21a97e0b10a",
            "10-7fb403f73a4446d70cf0a21a97e0b10aa", "10-8fb403f73a4446d70cf0a21a97e0b10a",
            "10-Bfb403f73a4446d70cf0a21a97e0b10a", "10-afb403f73a4446d70cf0a21a97e0b10a", "10-b",
        ].filter { $0 != "10-" }
        let ids = try texts.map { try RevisionID(validating: $0) }
        for left in ids.indices {
            for right in ids.indices {
                #expect((ids[left] < ids[right]) == (left < right))
                #expect((ids[left] == ids[right]) == (left == right))
            }
        }
    }

    @Test func `an MD5 given as numbers is its 32 digits`() throws {
        let id = RevisionID(generation: 1, md5: (0x7fb4_03f7_3a44_46d7, 0x0cf0_a21a_97e0_b10a))
        #expect(id == RevisionID("1-7fb403f73a4446d70cf0a21a97e0b10a"))
        #expect(
            id.hashValue
                == (try RevisionID(validating: "1-7fb403f73a4446d70cf0a21a97e0b10a").hashValue))
    }

    @Test func `digests are compared as bytes, not as letters`() throws {
        let composed = try RevisionID(validating: "1-\u{e9}")
        let decomposed = try RevisionID(validating: "1-e\u{301}")
        #expect(composed != decomposed)
        #expect(decomposed < composed)
    }

    @Test func `the binary form of random IDs comes back`() throws {
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 5)
            let generation = UInt64.random(in: 1...RevisionID.maximumGeneration, using: &random)
            let id = RevisionFamily.randomID(generation: generation, using: &random)
            var bytes: [UInt8] = [7]
            id.append(to: &bytes)
            var offset = 1
            #expect(try RevisionID.decode(bytes.span, at: &offset) == id)
            #expect(offset == bytes.count)
        }
    }

    @Test func `the binary form of most IDs is 17 bytes`() throws {
        var bytes: [UInt8] = []
        try RevisionID(validating: "3-7fb403f73a4446d70cf0a21a97e0b10a").append(to: &bytes)
        #expect(bytes.count == 17)
        #expect(bytes.prefix(3) == [6, 0x7f, 0xb4])
    }

    @Test(
        arguments: [
            [], [0], [1], [2], [2, 1, 2, 3], [3], [3, 0], [3, 2, 0x61], [3, 1, 0xff],
            [3, 32] + Array("7fb403f73a4446d70cf0a21a97e0b10a".utf8),
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] as [[UInt8]])
    func `damaged binary forms are refused`(bytes: [UInt8]) {
        var offset = 0
        #expect(throws: ModelCorruption.self) { try RevisionID.decode(bytes.span, at: &offset) }
    }
}
