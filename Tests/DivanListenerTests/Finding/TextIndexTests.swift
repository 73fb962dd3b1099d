// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

@testable import DivanListener

/// What a text index of `_find` answers, and what it cannot.
@Suite(.timeLimit(.minutes(5))) struct TextIndexTests {
    private let site: TestSite

    init() throws { site = try TestSite() }

    private func makeDatabase(_ name: String, _ definition: String?) {
        #expect(site.send("PUT", "/\(name)").status == 201)
        guard let definition else { return }
        let body = "{\"type\":\"text\",\"ddoc\":\"t\",\"name\":\"t\",\"index\":\(definition)}"
        #expect(site.send("POST", "/\(name)/_index", body).json["result"] == "created")
    }

    private func ids(_ name: String, _ selector: JSONValue, _ rest: String = "") -> [String] {
        let answer = site.send(
            "POST", "/\(name)/_find", "{\"selector\":\(selector),\"limit\":1000\(rest)}")
        #expect(answer.status == 200, "\(selector)")
        return (answer.json["docs"]?.array ?? []).compactMap { $0["_id"]?.string }
    }

    @Test(arguments: ["keyword", "standard", "english", "simple"])
    func `a text index on all fields finds what a look through all documents does`(analyzer: String)
        throws
    {
        makeDatabase("plain", nil)
        makeDatabase("db", "{\"default_analyzer\":\"\(analyzer)\"}")
        var random = Soak.random(round: analyzer.utf8.count, salt: 0x7E87)
        for n in 0..<60 {
            let body = Self.document(&random).description
            for name in ["plain", "db"] { site.send("PUT", "/\(name)/d\(n)", body) }
        }
        var total = 0
        for round in Soak.rounds(test: 150, soak: 1_500) {
            let selector = Self.selector(&random, depth: 2)
            let found = ids("db", selector, #","use_index":"t","allow_fallback":false"#)
            #expect(found.sorted() == ids("plain", selector).sorted(), "\(round): \(selector)")
            total += found.count
        }
        #expect(total > 500)
    }

    @Test func `pages of a text index follow each other, in an order and without one`() throws {
        makeDatabase("db", "{}")
        for n in 0..<50 {
            site.send(
                "PUT", "/db/d\(n)", #"{"n":\#(n * 7 % 50),"t":"some words \#(n)","odd":\#(n % 2)}"#)
        }
        for (sort, size) in [
            ("", 7), (#","sort":["n:number"]"#, 3), (#","sort":[{"n":"desc"}]"#, 20),
        ] {
            var (seen, bookmark) = ([JSONValue](), "nil")
            for _ in 0..<20 {
                let body =
                    #"{"selector":{"$text":"words","n":{"$gte":0},"odd":1},"limit":\#(size),"bookmark":"\#(bookmark)"\#(sort)}"#
                let answer = site.send("POST", "/db/_find", body).json
                let documents = answer["docs"]?.array ?? []
                guard !documents.isEmpty else { break }
                seen += documents.compactMap { $0["n"] }
                bookmark = answer["bookmark"]?.string ?? ""
            }
            let numbers = seen.compactMap(\.int64)
            #expect(numbers.count == 25)
            #expect(Set(numbers).count == 25)
            if sort.contains("desc") { #expect(numbers == numbers.sorted(by: >)) }
            if sort.contains("number") { #expect(numbers == numbers.sorted()) }
        }
    }

    @Test func `a selector of too many conditions is refused, and long lists are not`() {
        makeDatabase("db", "{}")
        site.send("PUT", "/db/a", #"{"n":1,"t":"x"}"#)
        let many = (0..<1_100).map { "{\"n\":\($0)}" }.joined(separator: ",")
        let refused = site.send("POST", "/db/_find", "{\"selector\":{\"$or\":[\(many)]}}")
        #expect(refused.status == 400)
        #expect(refused.json["error"] == "text_search_error")
        let values = JSONValue.array((0..<2_000).map { JSONValue($0) })
        #expect(ids("db", ["n": ["$in": values]]) == ["a"])
        #expect(ids("db", ["n": ["$nin": values]]) == [])
        let long = String(repeating: "word ", count: 100_000)
        #expect(ids("db", ["t": .string(long)]) == [])
        let words = site.send("POST", "/db/_find", "{\"selector\":{\"$text\":\"\(long)\"}}")
        #expect(words.status == 400)
        #expect(words.json["error"] == "text_search_error")
    }

    @Test
    func `a text index that is deleted leaves nothing, and one that comes as a document is used`()
        throws
    {
        makeDatabase("db", "{}")
        site.send("PUT", "/db/a", #"{"t":"some words"}"#)
        #expect(ids("db", ["$text": "words"]) == ["a"])
        site.send("PUT", "/copy")
        let declaration = site.send("GET", "/db/_design/t").json["indexes"] ?? .null
        let document = #"{"language":"query","indexes":\#(declaration)}"#
        #expect(site.send("PUT", "/copy/_design/t", document).status == 201)
        site.send("PUT", "/copy/a", #"{"t":"some words"}"#)
        #expect(ids("copy", ["$text": "words"]) == ["a"])
        let database = try site.manager.database(named: "db")
        #expect(try database.viewNames() == ["%_search t/t"])
        #expect(site.send("DELETE", "/db/_index/t/text/t").status == 200)
        #expect(try database.viewNames().isEmpty)
        #expect(site.send("GET", "/db/_design/t").status == 404)
        let body = #"{"selector":{"$text":"words"}}"#
        #expect(site.send("POST", "/db/_find", body).json["error"] == "no_usable_index")
    }

    @Test func `an index of the type nouveau is one of full text`() throws {
        let site = try TestSite()
        site.send("PUT", "/db")
        let fields = #"[{"name":"n","type":"number"},{"name":"t","type":"string"}]"#
        let body = #"{"type":"nouveau","index":{"fields":\#(fields)},"ddoc":"d","name":"i"}"#
        #expect(site.send("POST", "/db/_index", body).json["result"] == "created")
        for n in 0..<3 { site.send("PUT", "/db/d\(n)", #"{"t":"some words","n":\#(n)}"#) }
        let found = site.send(
            "POST", "/db/_find",
            #"{"selector":{"$text":"words","n":{"$gt":0}},"sort":[{"n:number":"desc"}]}"#)
        #expect(found.json["docs"]?.array?.compactMap { $0["_id"]?.string } == ["d2", "d1"])
        #expect(site.send("DELETE", "/db/_index/d/nouveau/i").status == 200)
    }

    @Test func `hidden documents are not found by a text index`() throws {
        let site = try TestSite { options in
            options.authorization.reading = { _, _, document in document["secret"].bool != true }
        }
        site.send("PUT", "/db")
        site.send("POST", "/db/_index", #"{"type":"text","index":{}}"#)
        for n in 0..<6 {
            site.send("PUT", "/db/d\(n)", #"{"t":"words","secret":\#(n % 2 == 0)}"#)
        }
        let answer = site.send(
            "POST", "/db/_find", #"{"selector":{"$text":"words"},"limit":2,"execution_stats":true}"#
        ).json
        #expect(answer["docs"]?.array?.compactMap { $0["_id"]?.string } == ["d1", "d3"])
        #expect(answer["execution_stats"]?["total_docs_examined"] == .null)
    }

    // MARK: - Random documents and selectors

    private static let words = ["a", "The Cat", "the cat", "dogs", "", "a.b", "running", "5"]

    private static func scalar(_ random: inout SeededRandom) -> JSONValue {
        switch random.below(6) {
        case 0: .bool(random.oneIn(2))
        case 1: .null
        case 2: .double(Double(random.below(4)) / 2)
        case 3: JSONValue(random.below(4))
        default: .string(random.element(of: words))
        }
    }

    private static func value(_ random: inout SeededRandom) -> JSONValue {
        switch random.below(8) {
        case 0: .array((0..<random.below(3)).map { _ in value(&random) })
        case 1: ["x": scalar(&random)]
        case 2: [:]
        default: scalar(&random)
        }
    }

    private static func document(_ random: inout SeededRandom) -> JSONValue {
        var object: JSONObject = [:]
        if !random.oneIn(4) { object["n"] = JSONValue(random.below(6)) }
        if !random.oneIn(4) { object["s"] = .string(random.element(of: words)) }
        for name in ["v", "a.b", "5"] where random.oneIn(2) { object[name] = value(&random) }
        if random.oneIn(2) {
            object["list"] = .array((0..<random.below(4)).map { _ in value(&random) })
        }
        return .object(object)
    }

    private static func selector(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        switch depth > 0 ? random.below(7) : 9 {
        case 0:
            ["$and": [selector(&random, depth: depth - 1), selector(&random, depth: depth - 1)]]
        case 1: ["$or": [selector(&random, depth: depth - 1), selector(&random, depth: depth - 1)]]
        case 2: ["$not": selector(&random, depth: depth - 1)]
        case 3: ["$nor": [selector(&random, depth: depth - 1)]]
        case 4:
            ["list": [(random.oneIn(2) ? "$elemMatch" : "$allMatch"): condition(&random)]]
        default: leaf(&random)
        }
    }

    private static func leaf(_ random: inout SeededRandom) -> JSONValue {
        let ends = ["$lt", "$lte", "$gt", "$gte"]
        switch random.below(6) {
        case 0: return ["n": [random.element(of: ends): JSONValue(random.below(6))]]
        case 1: return ["s": [random.element(of: ends): .string(random.element(of: words))]]
        case 2: return ["_id": [random.element(of: ends): .string("d\(random.below(60))")]]
        default:
            let path = random.element(of: [
                "n", "s", "v", "v.x", "a\\.b", "5", "list", "list.0", "list.1.x", "none", "_id",
                "_rev",
            ])
            return [path: condition(&random)]
        }
    }

    private static func condition(_ random: inout SeededRandom) -> JSONValue {
        switch random.below(12) {
        case 0: ["$eq": value(&random)]
        case 1: ["$ne": value(&random)]
        case 2: ["$in": [value(&random), scalar(&random)]]
        case 3: ["$nin": [value(&random), scalar(&random)]]
        case 4: ["$exists": .bool(random.oneIn(2))]
        case 5: ["$size": JSONValue(random.below(3))]
        case 6: ["$all": random.oneIn(3) ? [[scalar(&random)]] : [scalar(&random)]]
        case 7: ["$type": .string(random.element(of: ["string", "number", "object", "null"]))]
        case 8: ["$mod": [2, 1]]
        case 9: ["$regex": "[aT]"]
        case 10: ["$beginsWith": .string(random.element(of: words))]
        default: ["$not": ["$eq": scalar(&random)]]
        }
    }
}
