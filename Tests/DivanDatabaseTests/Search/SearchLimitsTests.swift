// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

@testable import DivanQuery

/// Whatever a query is, it is answered or refused, within bounds.
@Suite struct SearchLimitsTests {
    private func index(_ count: Int = 20) throws -> (Database, SearchIndex) {
        let database = try Database.inMemory()
        try database.inBatch {
            for n in 0..<count {
                let calls: JSONValue = [
                    ["default", .string("w\(n) x"), [:]], ["n", JSONValue(n), [:]],
                ]
                try database.save(MutableDocument(["fields": calls], id: "d\(n)"))
            }
        }
        return (database, try SearchIndex.calling(database))
    }

    private func refusal(
        _ index: SearchIndex, _ text: String, budget: SearchBudget = SearchBudget()
    )
        -> DatabaseError.Code?
    {
        do {
            _ = try SearchRun(index, SearchQuery(text), budget: budget).run()
            return nil
        } catch let error as DatabaseError { return error.code } catch { return .io }
    }

    @Test func `random signs are answered or refused as a query`() throws {
        let (database, index) = try index()
        defer { database.close() }
        let pieces = [
            "a", "w1", "x", " ", " ", "+", "-", "!", "(", ")", ":", "^", "[", "]", "\"", "{", "}",
            "~",
            "*", "?", "\\", "/", "AND", "OR", "NOT", " TO ", "&&", "||", "2", "0.5", "n:",
            "\u{301}", "é", "\u{0}", "*:*",
        ]
        for round in Soak.rounds(test: 4_000, soak: 200_000) {
            var random = Soak.random(round: round, salt: 0x5161)
            let text = (0..<random.below(12)).map { _ in random.element(of: pieces) }.joined()
            let code = refusal(index, text)
            #expect(code == nil || code == .invalidQuery, "\(text)")
        }
    }

    @Test(arguments: ["standard", "simple", "simple_asciifolding", "classic", "english", "email"])
    func `letters that no term has are found nowhere, by whatever pattern`(analyzer: String) throws
    {
        let database = try Database.inMemory()
        defer { database.close() }
        // The Hangul filler, a letter that folding removes, alone and within words.
        let texts = ["word", "\u{3164}", "wor\u{3164}d", "other \u{3164} word"]
        for (number, text) in texts.enumerated() {
            let calls: JSONValue = [["default", .string(text), [:]]]
            try database.save(MutableDocument(["fields": calls], id: "d\(number)"))
        }
        let index = try SearchIndex.calling(database, analyzer: .string(analyzer))
        func found(_ text: String) throws -> [String] {
            try SearchRun(index, SearchQuery(text), budget: SearchBudget()).run().hits
                .map(\.id.text).sorted()
        }
        let filler = "\u{3164}"
        for text in ["*", "?", "?*", "*d", "~", "~1"].map({ filler + $0 }) {
            #expect(try found(text).isEmpty, "\(text.unicodeScalars.map(\.value))")
            #expect(try found("word AND \(text)").isEmpty)
        }
        // Within a word it changes nothing.
        #expect(try found("wo\(filler)r*") == ["d0", "d2", "d3"])
        #expect(try found("word") == ["d0", "d2", "d3"])
        #expect(try found("o*") == ["d3"])
    }

    @Test func `depth, length and clauses are bounded`() throws {
        let (database, index) = try index()
        defer { database.close() }
        let nested = { String(repeating: "(", count: $0) + "x" + String(repeating: ")", count: $0) }
        #expect(refusal(index, nested(64)) == nil)
        #expect(refusal(index, nested(65)) == .invalidQuery)
        #expect(refusal(index, String(repeating: "(", count: 60_000)) == .invalidQuery)
        #expect(refusal(index, String(repeating: "x ", count: 1_024)) == nil)
        #expect(refusal(index, String(repeating: "x ", count: 1_025)) == .invalidQuery)
        #expect(refusal(index, String(repeating: "x", count: 65_536)) == nil)
        #expect(refusal(index, String(repeating: "x", count: 65_537)) == .invalidQuery)
        #expect(refusal(index, "x" + String(repeating: "*?", count: 500)) == nil)
        #expect(refusal(index, "x" + String(repeating: "*?", count: 512)) == .invalidQuery)
        #expect(refusal(index, String(repeating: "x", count: 256) + "~") == nil)
        #expect(refusal(index, String(repeating: "x", count: 257) + "~") == .invalidQuery)
    }

    @Test func `what a search reads and keeps is bounded`() throws {
        let (database, index) = try index(2_000)
        defer { database.close() }
        #expect(refusal(index, "x", budget: SearchBudget(rows: 100)) == .invalidQuery)
        #expect(refusal(index, "w*", budget: SearchBudget(bytes: 1_000)) == .invalidQuery)
        #expect(refusal(index, "n:[* TO *]", budget: SearchBudget(bytes: 1_000)) == .invalidQuery)
        // To compare long terms with a pattern costs as reading rows does.
        try database.save(
            MutableDocument(
                [
                    "fields": [
                        ["default", .string("y" + String(repeating: "x", count: 30_000)), [:]]
                    ]
                ],
                id: "long"))
        let pattern = "y" + String(repeating: "*x", count: 500)
        #expect(refusal(index, pattern) == nil)
        #expect(refusal(index, pattern, budget: SearchBudget(rows: 10_000)) == .invalidQuery)
        // A word keeps no more than a page, which is given back for the next one.
        #expect(refusal(index, "x", budget: SearchBudget(bytes: 256 << 10)) == nil)
        #expect(refusal(index, "x", budget: SearchBudget(bytes: 100)) == .invalidQuery)
        #expect(refusal(index, "w1 AND x", budget: SearchBudget(rows: 100)) == nil)
    }

    @Test func `the words that an analyzer makes of one count as clauses, and equal ones once`()
        throws
    {
        let (database, _) = try index()
        defer { database.close() }
        let simple = try SearchIndex.calling(database, analyzer: "simple")
        let joined = { (count: Int) in
            (0..<count).map { "w" + String(repeating: "x", count: $0 % 40) }
                .joined(separator: "-")
        }
        #expect(refusal(simple, joined(1_024)) == nil)
        #expect(refusal(simple, joined(1_025)) == .invalidQuery)
        let once = try simple.run(SearchQuery("w-x")).hits.map(\.order)
        #expect(try simple.run(SearchQuery("w-x-x-w")).hits.map(\.order) == once)
        let all = String(repeating: "*:* ", count: 1_024)
        #expect(try simple.run(SearchQuery(all)).hits.first?.order == [1.0])
    }

    @Test func `places of a word that is long cost as rows do`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        let index = try SearchIndex.calling(database)
        let long = String(repeating: "x y ", count: 20_000)
        try database.save(
            MutableDocument(["fields": [["default", .string(long), [:]]]], id: "a"))
        #expect(refusal(index, "x") == nil)
        for text in ["x", "\"x y\"", "\"x y x\""] {
            #expect(
                refusal(index, text, budget: SearchBudget(rows: 1_000)) == .invalidQuery, "\(text)")
        }
        var query = SearchQuery("x")
        query.order = [SearchOrder(.document)]
        // In another order than by scores nothing of the places is read.
        let result = try SearchRun(index, query, budget: SearchBudget(rows: 1_000)).run()
        #expect(result.total == 1)
        #expect(try index.run(SearchQuery("\"x y x y\"")).total == 1)
        #expect(try index.run(SearchQuery("\"x x\"")).total == 0)
    }

    @Test func `boosts in each other are bounded`() throws {
        let (database, index) = try index(1)
        defer { database.close() }
        let open = String(repeating: "(", count: 63)
        let close = String(repeating: ")^1000000", count: 63)
        for text in [open + "x" + close, "(\(open)x\(close))^0"] {
            let score = try index.run(SearchQuery(text)).hits.first?.order.first??.double
            #expect(score?.isFinite == true, "\(text)")
        }
    }

    private func index(of calls: [[JSONValue]]) throws -> (Database, SearchIndex) {
        let database = try Database.inMemory()
        for (n, fields) in calls.enumerated() {
            try database.save(MutableDocument(["fields": .array(fields)], id: "d\(n)"))
        }
        return (database, try SearchIndex.calling(database))
    }

    @Test func `a value that a document has twice in a facet counts once`() throws {
        let facet: JSONValue = ["facet": true]
        let (database, index) = try index(of: [
            [["tag", "a", facet], ["tag", "a", facet], ["tag", "b", facet]]
        ])
        defer { database.close() }
        var query = SearchQuery("*:*")
        query.counts = ["tag"]
        let labels = try index.run(query).counts?.first?.labels ?? []
        #expect(labels.map { $0.label } == ["a", "b"])
        #expect(labels.map { $0.count } == [1, 1])
    }

    @Test func `hits are sorted by the beginning of a text, and show fields that are asked for`()
        throws
    {
        let long = String(repeating: "x", count: 1_000)
        let options: JSONValue = ["facet": true, "store": true]
        let (database, index) = try index(of: [
            [["tag", .string(long + "b"), options], ["n", 1, options]],
            [["tag", .string(long + "a"), options], ["n", 2, options]],
        ])
        defer { database.close() }
        var query = SearchQuery("*:*")
        query.order = [SearchOrder(.field("tag", .text))]
        query.fields = ["n", "none"]
        query.limit = 1
        let page = try index.run(query)
        #expect(page.hits.map(\.id) == ["d0"])
        #expect(page.hits.first?.order.first??.string?.utf8.count == 256)
        #expect(page.hits.first?.fields == ["n": 1])
        query.after = page.end
        #expect(try index.run(query).hits.map(\.id) == ["d1"])
        // What hits show is kept, too.
        query.after = nil
        query.fields = nil
        #expect(throws: DatabaseError.self) {
            try SearchRun(index, query, budget: SearchBudget(bytes: 1_000)).run()
        }
    }

    @Test func `the length of a field is its number of words, however many values it has`() throws {
        let (database, index) = try index(of: [
            [["default", "x y", [:]]], [["default", "x", [:]], ["default", "y", [:]]],
        ])
        defer { database.close() }
        let orders = try index.run(SearchQuery("x")).hits.map(\.order)
        #expect(orders.count == 2)
        #expect(orders.first == orders.last)
        #expect(try index.run(SearchQuery("\"x y\"")).total == 1)
    }

    @Test func `numbers as ends of a range find texts, too, in indexes of Nouveau`() throws {
        let (database, index) = try index(of: [
            [["year", "1999", ["index": "not_analyzed"]], ["n", 1999, [:]]]
        ])
        defer { database.close() }
        let nouveau = SearchIndex(index.view, index.analyzers, .nouveau)
        #expect(try nouveau.run(SearchQuery("year:[1990 TO 2000]")).total == 1)
        #expect(try nouveau.run(SearchQuery("n:[1990 TO 2000]")).total == 1)
        #expect(try index.run(SearchQuery("year:[1990 TO 2000]")).total == 0)
        #expect(refusal(nouveau, "n:[1 TO 1e999]") == .invalidQuery)
        #expect(refusal(nouveau, "n:[-1e999 TO 1]") == .invalidQuery)
        #expect(refusal(nouveau, "n:[-Infinity TO Infinity]") == nil)
    }

    @Test func `AND binds before OR in the language of Nouveau alone`() throws {
        func parsed(_ text: String, _ service: SearchService) throws -> SearchExpression {
            try SearchQueryParser.parse(text, for: service)
        }
        for (text, meaning) in [
            ("a OR b AND c", "a (b AND c)"), ("a AND b OR c", "(a AND b) c"),
            ("a AND b OR c AND NOT d", "(a AND b) (c AND NOT d)"), ("a AND b", "+a +b"),
            ("a b NOT c", "a b -c"),
        ] {
            let (one, other) = (try parsed(text, .nouveau), try parsed(meaning, .nouveau))
            #expect(one == other, "\(text)")
        }
        let (one, other) = (
            try parsed("a OR b AND c", .clouseau), try parsed("a +b +c", .clouseau)
        )
        #expect(one == other)
    }

    @Test func `an index that other functions have built is empty for a look that does not update`()
        throws
    {
        let (database, index) = try index()
        defer { database.close() }
        #expect(try index.run(SearchQuery("x")).total == 20)
        let other = try SearchIndex.calling(database, analyzer: "simple")
        var query = SearchQuery("x")
        query.updates = false
        query.counts = ["tag"]
        let result = try other.run(query)
        #expect(result.total == 0)
        #expect(result.counts?.first?.field == "tag")
        query.updates = true
        query.counts = nil
        #expect(try other.run(query).total == 20)
    }

    @Test func `a word that many documents have is skipped through for a rare one`() throws {
        let (database, index) = try index(2_000)
        defer { database.close() }
        let result = try index.run(SearchQuery("+w1999 +x +n:[0 TO 5000]"))
        #expect(result.hits.map(\.id.text) == ["d1999"])
    }

    @Test func `terms are cut to what a key may be, at the end of a character`() {
        let long = String(repeating: "é", count: 20_000)
        let cut = SearchAnalyzer.cut(long)
        #expect(cut.utf8.count == 32_766)
        #expect(cut.unicodeScalars.allSatisfy { $0 == "é" })
        #expect(SearchAnalyzer.cut("a" + long).utf8.count == 32_765)
        #expect(SearchAnalyzer.cut("abc") == "abc")
    }

    @Test func `the first megabyte of the texts of a document is taken apart`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        let index = try SearchIndex.calling(database)
        let long = "first " + String(repeating: "x ", count: SearchRows.mostText / 2) + "last"
        let calls: JSONValue = [
            ["default", .string(long), [:]], ["other", "more", [:]],
            ["whole", "text", ["index": "not_analyzed"]],
        ]
        try database.save(MutableDocument(["fields": calls], id: "a"))
        #expect(try index.run(SearchQuery("first")).total == 1)
        #expect(try index.run(SearchQuery("last")).total == 0)
        #expect(try index.run(SearchQuery("other:more")).total == 0)
        #expect(try index.run(SearchQuery("whole:text")).total == 1)
    }

    @Test func `texts that are equal for Swift and not in bytes are two terms`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        let index = try SearchIndex.calling(database)
        for (id, text) in [("one", "caf\u{E9}"), ("two", "cafe\u{301}")] as [(DocumentID, String)] {
            try database.save(
                MutableDocument(
                    ["fields": [["default", .string(text), ["facet": true]]]], id: id))
        }
        #expect(try index.run(SearchQuery("caf\u{E9}")).hits.map(\.id) == ["one"])
        #expect(try index.run(SearchQuery("cafe\u{301}")).hits.map(\.id) == ["two"])
        var query = SearchQuery("*:*")
        query.counts = ["default"]
        #expect(try index.run(query).counts?.first?.labels.count == 2)
    }

    @Test func `a read-only look and a read of the app see the index as it is then`() throws {
        let (database, index) = try index()
        defer { database.close() }
        var query = SearchQuery("x")
        query.updates = false
        #expect(try index.run(query).total == 0)
        #expect(try !index.isBuilt)
        #expect(try index.run(SearchQuery("x")).total == 20)
        #expect(try index.isBuilt)
        try database.delete("d1")
        #expect(try index.run(query).total == 20)
        let inside = try database.read { _ in try index.run(SearchQuery("x")).total }
        #expect(inside == 19)
        #expect(try index.run(SearchQuery("x")).total == 19)
        #expect(try index.statistics().documents == 19)
    }
}
