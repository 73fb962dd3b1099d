// SPDX-License-Identifier: Apache-2.0

import DivanStorage
import DivanTestSupport
import enum DivanTestSupport.Soak
import FoundationEssentials
import Testing

@testable import DivanIndex

/// Doclists of many blocks agree with a model through edits of all kinds.
@Suite(.timeLimit(.minutes(10))) struct TextIndexTests {
    /// A few frequent words, and many rare ones.
    private static func word(_ random: inout SeededRandom) -> String {
        switch random.below(10) {
        case 0..<6: "f\(random.below(4))"
        case 6..<9: "m\(random.below(60))"
        default: "r\(random.below(5_000))"
        }
    }

    private static func words(_ random: inout SeededRandom) -> [String] {
        let count = random.oneIn(12) ? 0 : random.oneIn(40) ? 900 : random.below(14)
        return (0..<count).map { _ in word(&random) }
    }

    @Test func `postings are those of a model through additions, edits and deletions`() throws {
        for round in Soak.rounds(test: 3, soak: 300) {
            var random = Soak.random(round: round, salt: 0xD0C)
            let fixture = try TextIndexFixture()
            let population = 200 + random.below(900)
            var said: [String: [String]] = [:]
            for _ in 0..<(2 + random.below(6)) {
                var documents: [String: [String]] = [:]
                let isClearing = random.oneIn(6)
                for _ in 0..<(1 + random.below(random.oneIn(2) ? population : 20)) {
                    let id = "d\(random.below(population))"
                    documents[id] = isClearing ? [] : Self.words(&random)
                    // Of some documents a part is edited, or nothing.
                    if let last = said[id], !isClearing, random.oneIn(2) {
                        documents[id] = random.oneIn(3) ? last : last + Self.words(&random)
                    }
                }
                said.merge(documents) { $1 }
                try fixture.replace(documents.map { ($0.key, $0.value) })
                #expect(try fixture.read { try $0.verify { _ in } } == [], "round \(round)")
                for term in ["f0", "f1", "m3", "m\(random.below(60))", "r\(random.below(5_000))"] {
                    let expected = fixture.expected { $0 == term }
                    #expect(try fixture.found(term) == expected, "round \(round): \(term)")
                }
                try Self.checkPrefix(fixture, "m1", "round \(round)")
                try Self.checkPrefix(fixture, "", "round \(round)")
            }
        }
    }

    private static func checkPrefix(
        _ fixture: TextIndexFixture, _ prefix: String, _ comment: Comment
    ) throws {
        let found = try fixture.read { index in
            // With memory for many, and for a document at a time.
            try (prefix.isEmpty ? [1] : [1, 1 << 20, 1 << 26]).map { prefixes in
                let postings = try index.postings(
                    ofPrefix: Array(prefix.utf8), needsPlaces: true, sharedBy: prefixes)
                return try fixture.found(postings, index)
            }
        }
        let expected = fixture.expected { $0.hasPrefix(prefix) }
        #expect(found.allSatisfy { $0 == expected }, comment)
    }

    @Test func `a document with many words of a prefix is kept about once`() throws {
        let fixture = try TextIndexFixture()
        let words = (0..<3_000).map { "a\($0)" }
        try fixture.replace([("1", words), ("2", ["a1", "b"])])
        let places = try fixture.read { index in
            let postings = try #require(
                index.postings(ofPrefix: [0x61], needsPlaces: true) as? PrefixPostings)
            #expect(try postings.seek(1) == 1...2)
            return postings.places
        }
        #expect(places.count <= 2 * words.count + 1)
    }

    @Test func `a search for a prefix ends while it collects the words`() throws {
        let fixture = try TextIndexFixture()
        try fixture.replace([("1", (0..<50).map { "a\($0)" })])
        struct End: Error {}
        #expect(throws: End.self) {
            try fixture.read { index in
                let postings = try index.postings(ofPrefix: [0x61], needsPlaces: false) {
                    throw End()
                }
                _ = try postings.seek(1)
            }
        }
    }

    @Test func `going on to any ordinal finds the first document that is not before it`() throws {
        let fixture = try TextIndexFixture()
        try fixture.replace(
            (0..<6_000).map { ("\($0)", $0.isMultiple(of: 3) ? ["x"] : ["x", "y"]) })
        var random = SeededRandom(seed: 3)
        for _ in 0..<40 {
            try fixture.read { index in
                let postings = try index.postings(of: Array("y".utf8))
                var target = UInt64(1 + random.below(200))
                while target < 7_000 {
                    let stretch = try postings.seek(target)
                    // The first document has the ordinal 1, and each third is left out.
                    let first = (target - 1).isMultiple(of: 3) ? target + 1 : target
                    #expect(stretch?.lowerBound == (first > 6_000 ? nil : first))
                    guard let stretch else { break }
                    var wanted = Array(target...min(target + 9, stretch.upperBound))
                    let expected = wanted.filter { !($0 - 1).isMultiple(of: 3) }
                    postings.filter(&wanted)
                    #expect(wanted == expected)
                    target += UInt64(1 + random.below(random.oneIn(3) ? 3_000 : 9))
                }
                postings.close()
            }
        }
    }

    @Test func `an edit writes only the blocks of words that are new, gone or moved`() throws {
        let scratch = try ScratchDirectory()
        let fixture = try TextIndexFixture(in: scratch.path)
        func pagesWritten(_ documents: [(String, [String])]) throws -> Int {
            try fixture.reopen(in: scratch.path)
            try fixture.replace(documents)
            let attributes = try FileManager.default.attributesOfItem(
                atPath: scratch.path + "/main.sqlite3-wal")
            return (attributes[.size] as? Int ?? 0) / 4_096
        }
        func words(_ number: Int) -> [String] { (0..<20).map { "w\(number * $0 % 4_001)" } }
        try fixture.replace((0..<3_000).map { ("\($0)", words($0)) })
        let edited = stride(from: 0, to: 3_000, by: 100)
        #expect(try pagesWritten(edited.map { ("\($0)", words($0)) }) <= 1)
        #expect(try pagesWritten(edited.map { ("\($0)", words($0) + ["more"]) }) < 40)
        // All places of all words are others.
        #expect(try pagesWritten(edited.map { ("\($0)", ["first"] + words($0)) }) > 60)
        #expect(try fixture.read { try $0.verify { _ in } } == [])
    }

    @Test func `terms that no document has any more do not pile up`() throws {
        let fixture = try TextIndexFixture()
        for round in 0..<12 {
            try fixture.replace((0..<500).map { ("\($0)", ["word", "w\(round)-\($0)"]) })
            #expect(try fixture.read { try $0.verify { _ in } } == [])
            #expect(try fixture.read { $0.totals.terms } < 3_000)
        }
        try fixture.replace((0..<500).map { ("\($0)", ["w3-\($0)"]) })
        #expect(try fixture.found("w3-7") == ["7": [0]])
        #expect(try fixture.found("word") == [:])
        #expect(try fixture.read { try $0.verify { _ in } } == [])
    }

    @Test func `an index whose documents are all gone is empty`() throws {
        let fixture = try TextIndexFixture()
        try fixture.replace((0..<3_000).map { ("\($0)", ["a", "b\($0 % 7)"]) })
        try fixture.replace((0..<3_000).map { ("\($0)", []) })
        #expect(try fixture.read { try $0.verify { _ in } } == [])
        let totals = try fixture.read { $0.totals }
        #expect(totals.documents == 0 && totals.words == 0 && totals.unusedTerms == 8)
        for store in [fixture.stores.postings, fixture.stores.ids] {
            #expect(try fixture.engine.read { try $0.count(of: store) } == 0)
        }
    }

    /// Values whose checksum is right and whose content is not: a file that an attacker made may have them.
    @Test func `damaged values give errors and stop nothing`() throws {
        let fixture = try TextIndexFixture()
        var random = SeededRandom(seed: 11)
        try fixture.replace((0..<400).map { ("d\($0)", ["a", "b\($0 % 5)", "c\($0)", "a"]) })
        let text = fixture.stores
        var refused = 0
        for _ in 0..<Soak.count(test: 120, soak: 20_000) {
            struct Undo: Error {}
            let stores = [text.terms, text.postings, text.documents, text.ids, text.lengths]
            let place = random.below(stores.count)
            do {
                try fixture.engine.write { writer in
                    try Self.damage(
                        stores[place], isNumbered: place == 4, writer, &random)
                    refused += Self.use(fixture, writer)
                    throw Undo()
                }
            } catch is Undo {}
        }
        #expect(refused > 20)
        #expect(try fixture.read { try $0.verify { _ in } } == [])
    }

    private static func damage(
        _ store: Store, isNumbered: Bool, _ writer: any StorageWriter,
        _ random: inout SeededRandom
    ) throws {
        let cursor = try writer.cursor(in: store)
        var found = try cursor.seekToFirst()
        for _ in 0..<random.below(try writer.count(of: store)) { found = try cursor.next() }
        guard found else { return }
        let number = cursor.integerKey
        var (key, value) = ([UInt8](), [UInt8]())
        try cursor.withRow {
            key = [UInt8](copying: $0)
            value = [UInt8](copying: $1)
        }
        cursor.close()
        let place = random.below(value.count)
        switch random.below(4) {
        case 0: value[place] = 0xFF
        case 1: value.removeLast(value.count - place)
        default: value[place] ^= 1 << UInt8(random.below(8))
        }
        if isNumbered {
            try writer.set(value.span, forKey: number, in: store)
        } else {
            try writer.set(value.span, forKey: key.span, in: store)
        }
    }

    /// How much of what an index is asked for is refused.
    private static func use(_ fixture: TextIndexFixture, _ writer: any StorageWriter) -> Int {
        func isRefused(_ body: () throws -> Void) -> Int {
            do { try body() } catch { return error is IndexCorruption ? 1 : 0 }
            return 0
        }
        let text = fixture.stores
        var refused = isRefused {
            let index = try TextIndexReader(text, writer)
            for term in ["a", "b1", "c7"] {
                _ = try fixture.found(index.postings(of: Array(term.utf8)), index)
            }
            _ = try fixture.found(
                index.postings(ofPrefix: Array("b".utf8), needsPlaces: true), index)
        }
        refused += isRefused {
            let problems = try TextIndexReader(text, writer).verify { _ in }
            if !problems.isEmpty { throw IndexCorruption("It is found.") }
        }
        refused += isRefused {
            var batch = EmissionBatch()
            let vocabulary = TermVocabulary()
            for number in stride(from: 0, to: 500, by: 50) {
                batch.begin("d\(number)")
                let term = vocabulary.number(of: Array("b\(number % 7)".utf8)) ?? 0
                batch.appendValue {
                    DocumentTerms.append([DocumentTerms.occurrence(of: term, at: 4)], to: &$0)
                }
                batch.end()
            }
            var index = TextIndexWriter(text, writer)
            _ = try index.replace(with: batch, vocabulary) { _ in false }
        }
        return refused
    }
}
