// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanDatabase

@Suite(.timeLimit(.minutes(10))) struct FullTextTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let index: FullTextIndex

    init() throws {
        database = try sandbox.database()
        index = database.fullTextIndex(
            named: "notes", on: ["title", "body", "comments.text"],
            options: FullTextOptions(language: .english))
    }

    private func find(_ text: String, in index: FullTextIndex? = nil) throws -> [String] {
        try (index ?? self.index).search(text).run().map(\.documentID.text).sorted()
    }

    private func fill() throws {
        try database.create("a", ["title": "The cat", "body": "A cat was typing on the couch."])
        try database.create("b", ["title": "Dogs", "body": "The dogs sleep; cats don’t."])
        try database.create("c", ["title": "Couch potatoes", "body": "All day on a sofa"])
        try database.create(
            "d", ["title": "Café", "comments": [["text": "Potato soup"], ["text": "no couch"]]])
        try database.create("e", ["n": 5])
    }

    @Test func `words are found in all forms, and common ones left out`() throws {
        try fill()
        #expect(try find("cats") == ["a", "b"])
        #expect(try find("TYPE") == ["a"])
        #expect(try find("dog") == ["b"])
        #expect(try find("the cat") == ["a", "b"])
        #expect(try find("the") == [])
        #expect(try find("nowhere") == [])
        #expect(try find("") == [])
    }

    /// A Hangul filler is a letter to Unicode, and is folded to nothing; so is a tatweel by the Arabic stemmer.
    @Test func `words of which nothing is left are found by no search, and keep their places`()
        throws
    {
        let arabic = try #require(FullTextOptions.Language(named: "arabic"))
        for (number, language) in [nil, arabic].enumerated() {
            let index = database.fullTextIndex(
                named: "invisible \(number)", on: ["t"],
                options: FullTextOptions(language: language))
            for round in 0..<3 {
                let id = "\(number) \(round)"
                try database.create(
                    DocumentID(id), ["t": "one \u{3164} two \u{640} three \(round)"])
                #expect(try find("\u{3164}", in: index) == [])
                if language != nil { #expect(try find("\u{640}", in: index) == []) }
                #expect(try find("\u{3164}*", in: index) == [])
                #expect(try find("three \(round)", in: index).contains(id))
                #expect(try find("\"one \u{3164} two\"", in: index).contains(id))
                #expect(try find("\"one two\"", in: index) == [])
            }
        }
        for id in ["0 0", "1 1"] { _ = try database.delete(DocumentID(id)) }
        let plain = database.fullTextIndex(named: "invisible 0", on: ["t"])
        #expect(try find("two", in: plain).count == 4)
        #expect(try database.verify().isEmpty)
    }

    @Test func `a search without words makes the index, as every search does`() throws {
        try fill()
        #expect(try index.search("the").run().isEmpty)
        #expect(try database.fullTextIndexNames() == ["notes"])
        #expect(try index.lastSequenceIndexed == database.lastSequence)
    }

    @Test func `case and accents make no difference unless they are to`() throws {
        try fill()
        #expect(try find("CAFE") == ["d"])
        #expect(try find("cafe\u{301}") == ["d"])
        let exact = database.fullTextIndex(
            named: "exact", on: ["title"],
            options: FullTextOptions(language: nil, ignoresAccents: false))
        #expect(try find("cafe", in: exact) == [])
        #expect(try find("CAFÉ", in: exact) == ["d"])
        #expect(try find("cats", in: exact) == [])
        #expect(try find("the", in: exact) == ["a"])
    }

    @Test func `words are told apart in any script`() throws {
        let plain = database.fullTextIndex(named: "plain", on: ["t"])
        try database.create("jp", ["t": "東京都に住んでいます"])
        try database.create("th", ["t": "สวัสดีชาวโลก"])
        try database.create("he", ["t": "שָׁלוֹם עוֹלָם"])
        try database.create("de", ["t": "Straße nach Ångström"])
        try database.create("ru", ["t": "Привет, мир"])
        #expect(try find("東京", in: plain) == ["jp"])
        #expect(try find("โลก", in: plain) == ["th"])
        #expect(try find("שלום", in: plain) == ["he"])
        #expect(try find("STRASSE", in: plain) == ["de"])
        #expect(try find("angstrom", in: plain) == ["de"])
        #expect(try find("МИР", in: plain) == ["ru"])
    }

    @Test func `operators combine words`() throws {
        try fill()
        #expect(try find("couch potato") == ["c", "d"])
        #expect(try find("couch AND potato") == ["c", "d"])
        #expect(try find("sofa OR typing") == ["a", "c"])
        #expect(try find("couch NOT potato") == ["a"])
        #expect(try find("couch -potato") == ["a"])
        #expect(try find("(sofa OR soup) couch") == ["c", "d"])
        // In lower case it is a word, and one that is left out.
        #expect(try find("cat or dog") == ["b"])
        #expect(try index.search(.any([.word("sofa"), .prefix("soup")])).run().count == 2)
    }

    @Test func `very many words may be excluded`() throws {
        try fill()
        #expect(try find("couch -potato -sofa NOT unheard") == ["a"])
        let many = String(repeating: " -unheard", count: 200_000)
        let expression = try FullTextExpression(parsing: "couch" + many + " -potato")
        guard case .except(.word("couch"), .any(let words)) = expression else {
            Issue.record("Excluded words are one exception.")
            return
        }
        #expect(words.count == 200_001)
        #expect(
            try find("couch" + String(repeating: " -unheard", count: 500) + " -potato") == ["a"])
    }

    @Test func `phrases, beginnings and nearness`() throws {
        try fill()
        #expect(try find("\"couch potato\"") == ["c"])
        // Another text of the document, or another order, is no phrase.
        #expect(try find("\"soup couch\"") == [])
        #expect(try find("\"potatoes couch\"") == [])
        // Words that are left out keep their places.
        #expect(try find("\"typing on the couch\"") == ["a"])
        #expect(try find("\"typing couch\"") == [])
        #expect(try find("pot*") == ["c", "d"])
        #expect(try find("\"couch pot*\"") == ["c"])
        #expect(try find("ty* sof*") == [])
        #expect(try find("typing NEAR couch") == ["a"])
        #expect(try find("typing NEAR/2 couch") == [])
        #expect(try find("typing NEAR/3 couch") == ["a"])
        #expect(try find("potato NEAR couch") == ["c"])
        #expect(try find("don't") == find("don’t"))
    }

    @Test func `nearness reaches over phrases and words that are left out`() throws {
        try fill()
        // A phrase that begins with a word that is left out, and one that does not.
        #expect(try find("\"the couch\" NEAR typing") == ["a"])
        #expect(try find("typing NEAR/3 \"the couch\"") == ["a"])
        #expect(try find("\"a sofa\" NEAR \"the couch\"") == [])
        #expect(try index.search(.near(["couch", "typing"], within: 0)).run().isEmpty)
        #expect(try index.search(.near(["typing", "couch"], within: .max)).run().count == 1)
        #expect(try index.search(.near([], within: 3)).run().isEmpty)
    }

    @Test func `a phrase that is near something stands together, and its nearest word counts`()
        throws
    {
        let plain = database.fullTextIndex(named: "near", on: ["t", "u"])
        for (id, text, other) in [
            ("a", "big dog and a cat", ""), ("b", "dog big cat", ""),
            ("c", "cat one two big dog", ""),
            ("d", "big dog one two three cat", ""), ("e", "big dog", "cat"),
        ] {
            try database.create(DocumentID(id), ["t": .string(text), "u": .string(other)])
        }
        #expect(try find("\"big dog\" NEAR cat", in: plain) == ["a", "c", "d"])
        #expect(try find("cat NEAR \"big dog\"", in: plain) == ["a", "c", "d"])
        #expect(try find("\"big dog\" NEAR/3 cat", in: plain) == ["a", "c"])
        #expect(try find("cat NEAR/3 \"big dog\"", in: plain) == ["a", "c"])
        #expect(try find("\"big d*\" NEAR/3 \"a cat\"", in: plain) == ["a"])
        #expect(try find("\"big dog\" NEAR \"big dog\"", in: plain) == [])
    }

    @Test func `no nearness reaches from one text of a document to another`() throws {
        let plain = database.fullTextIndex(named: "near", on: ["t", "u"])
        try database.create("a", ["t": "couch", "u": "potato"])
        for distance in [1, 999, 1_000, 2_000, .max] {
            let search = plain.search(.near(["couch", "potato"], within: distance))
            #expect(try search.run().isEmpty, "\(distance)")
        }
    }

    @Test func `a search of too many words, or beginnings of words, is an error`() throws {
        try fill()
        func words(_ count: Int) -> String { String(repeating: "couch ", count: count) }
        #expect(try find(words(1_000)) == ["a", "c", "d"])
        #expect(code { try index.search(words(1_001)).run() } == .invalidQuery)
        #expect(code { try index.search("\"\(words(1_001))\"").run() } == .invalidQuery)
        // Words that are left out count in a phrase, which could else reach over the end of a text.
        let long = "\"couch \(String(repeating: "the ", count: 1_000)) couch\""
        #expect(code { try index.search(long).run() } == .invalidQuery)
        func starts(_ count: Int) -> String { String(repeating: "cou* ", count: count) }
        #expect(try find(starts(16)) == ["a", "c", "d"])
        #expect(code { try index.search(starts(17)).run() } == .invalidQuery)
        #expect(code { try index.search("couch -(\(starts(17)))").run() } == .invalidQuery)
    }

    @Test func `a word near itself stands there twice`() throws {
        let plain = database.fullTextIndex(named: "near", on: ["t"])
        for (id, text) in [("a", "row"), ("b", "row your boat row"), ("c", "row row on row")] {
            try database.create(DocumentID(id), ["t": .string(text)])
        }
        func find(_ words: [String], _ distance: Int) throws -> [String] {
            try plain.search(.near(words, within: distance)).run().map(\.documentID.text).sorted()
        }
        #expect(try find(["row", "row"], 2) == ["c"])
        #expect(try find(["row", "row"], 3) == ["b", "c"])
        #expect(try find(["row", "row", "row"], 3) == ["c"])
        #expect(try find(["boat", "row", "row"], 2) == ["b"])
        #expect(try find(["boat", "row", "row"], 1) == [])
    }

    @Test func `of a word that is very long the beginning counts`() throws {
        let plain = database.fullTextIndex(named: "plain", on: ["t"])
        // Cut in the middle of a character.
        let long = String(repeating: "a", count: 1_023) + String(repeating: "é", count: 5_000)
        try database.create("long", ["t": .string("one \(long) two")])
        try database.create("huge", ["t": .string(String(repeating: "b", count: 3_000_000))])
        #expect(try find(long, in: plain) == ["long"])
        #expect(try find("\"one \(long) two\"", in: plain) == ["long"])
        #expect(try find(String(repeating: "b", count: 2_000), in: plain) == ["huge"])
        #expect(try find("bbb*", in: plain) == ["huge"])
        #expect(try database.verify().isEmpty)
    }

    private static let senseless = [
        "\"open", "(a", "a)", "AND", "a AND", "NOT a", "a OR", "a NEAR (b OR c)", "()", "NEAR/2 b",
        "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a",
    ]

    @Test(arguments: senseless)
    func `text that makes no sense is an error`(_ text: String) throws {
        try fill()
        #expect(code { try index.search(text).run() } == .invalidQuery)
    }

    @Test func `the best documents come first`() throws {
        try database.create("often", ["body": "couch couch couch bed"])
        try database.create("once", ["body": "couch chair table bed"])
        try database.create(
            "long", ["body": "couch chair table bed lamp shelf desk stool rug door"])
        for number in 0..<20 { try database.create("other \(number)", ["body": "bed"]) }
        var search = index.search("couch")
        #expect(try search.run().map(\.documentID) == ["often", "once", "long"])
        #expect(
            try index.search("bed OR couch").run().prefix(3).map(\.documentID).contains("often"))
        search.isRanked = false
        #expect(try search.run().map(\.documentID) == ["long", "often", "once"])
        search.isRanked = true
        search.skip = 1
        search.limit = 1
        let page = try search.run()
        #expect(page.map(\.documentID) == ["once"])
        #expect(page.totalMatches == 3 && page.totalDocuments == 23)
        search.limit = -1
        #expect(code { try search.run() } == .invalidQuery)
    }

    @Test func `snippets show the words, and matches tell where they stand`() throws {
        let long = (0..<100).map { "word\($0)" }.joined(separator: " ")
        try database.create(
            "a", ["title": "Nothing", "body": .string("\(long) the Cats’ couch, \(long).")])
        let row = try #require(try index.search("cat couch").run().first)
        let snippet = try #require(row.snippet(start: "[", end: "]", words: 8))
        #expect(snippet.hasPrefix("…") && snippet.hasSuffix("…"))
        #expect(snippet.contains("the [Cats]’ [couch], word0"))
        #expect(row.matches.map(\.term) == [0, 1])
        #expect(row.matches.map { String(row.texts[$0.text][$0.range]) } == ["Cats", "couch"])
        try database.create("b", ["title": "A cat, and so on!"])
        let short = try #require(try index.search("cat -couch").run().first)
        #expect(short.snippet(start: "<", end: ">") == "A <cat>, and so on!")
        var bare = index.search("cat")
        bare.includeDocuments = false
        #expect(try bare.run().first?.snippet() == nil)
    }

    @Test func `the index follows edits, deletions and purges`() throws {
        try fill()
        #expect(try find("couch") == ["a", "c", "d"])
        try database.update("a") { $0["body"] = "On the sofa" }
        try database.delete("c")
        try database.purge("d")
        try database.create("f", ["body": "couch"])
        #expect(try find("couch") == ["f"])
        #expect(try find("sofa") == ["a"])
        #expect(try database.problems() == [])
        #expect(try index.search("couch").run().totalDocuments == 3)
    }

    @Test func `an index knows its definition and is built anew for another`() throws {
        try fill()
        #expect(try database.existingFullTextIndex(named: "notes") == nil)
        _ = try find("cat")
        database.close()
        let again = try sandbox.database()
        let known = try #require(try again.existingFullTextIndex(named: "notes"))
        #expect(known.keyPaths == ["title", "body", "comments.text"])
        #expect(known.options == FullTextOptions(language: .english))
        #expect(try again.fullTextIndexNames() == ["notes"])
        let before = try known.lastSequenceIndexed
        #expect(before == 5)
        #expect(try known.search("cats").run().count == 2)
        let other = again.fullTextIndex(named: "notes", on: ["title"])
        #expect(try other.search("cats").run().isEmpty)
        #expect(try other.search("cat").run().map(\.documentID) == ["a"])
        try other.deleteIndex()
        #expect(try again.fullTextIndexNames() == [])
        again.close()
    }

    @Test func `a read-only database searches an old index by scan`() throws {
        try fill()
        _ = try find("cat")
        try database.create("late", ["body": "A cat"])
        database.close()
        let reader = try sandbox.database { $0.readOnly = true }
        let known = try #require(try reader.existingFullTextIndex(named: "notes"))
        let rows = try known.search("cat").run()
        #expect(rows.isScanned && rows.map(\.documentID).sorted() == ["a", "b", "late"])
        #expect(code { try known.updateIndex() } == .readOnly)
        reader.close()
    }

    @Test func `a live search follows changes`() async throws {
        try fill()
        let live = index.search("sofa").live(interval: .zero)
        var results = live.updates.makeAsyncIterator()
        #expect(try await results.next()?.rows.map(\.documentID) == ["c"])
        try database.create("x", ["title": "Sofa", "body": "sofa"])
        let update = try await results.next()
        #expect(update?.rows.map(\.documentID) == ["x", "c"])
        #expect(update?.difference.inserted == [0])
        database.close()
        #expect(try await results.next() == nil)
    }

    @Test func `only documents of a type are indexed where that is asked for`() throws {
        let typed = database.fullTextIndex(
            named: "typed", on: ["t"], options: FullTextOptions(language: nil, documentType: "note")
        )
        try database.create("a", ["type": "note", "t": "word"])
        try database.create("b", ["type": "task", "t": "word"])
        #expect(try find("word", in: typed) == ["a"])
    }
}
