// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Which documents a `_find` gives, in which order: those of the index that is read, as in CouchDB.
@Suite struct FindOrderTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        for (id, body) in [
            ("a", #"{"age":30,"name":"Ann"}"#), ("b", #"{"age":20,"name":"Bob"}"#),
            ("c", #"{"age":10}"#), ("d", #"{"name":"Dan"}"#),
        ] {
            site.send("PUT", "/db/\(id)", body)
        }
        index(#"["age"]"#, "age")
    }

    private func index(_ fields: String, _ name: String, _ rest: String = "") {
        let body = #"{"index":{"fields":\#(fields)\#(rest)},"ddoc":"\#(name)","name":"\#(name)"}"#
        #expect(site.send("POST", "/db/_index", body).status == 200)
    }

    private func find(_ body: String) -> TestAnswer { site.send("POST", "/db/_find", "{\(body)}") }

    private func ids(_ body: String) -> String {
        (find(body).json["docs"]?.array ?? []).compactMap { $0["_id"]?.string }.joined()
    }

    @Test func `without an order documents come as the rows of the index`() {
        #expect(ids(#""selector":{"age":{"$gt":5}}"#) == "cba")
        #expect(ids(#""selector":{"age":{"$gt":5}},"limit":2"#) == "cb")
        #expect(ids(#""selector":{"age":{"$gt":5}},"sort":[{"age":"desc"}]"#) == "abc")
        #expect(ids(#""selector":{"name":{"$gt":""}}"#) == "abd")
        #expect(ids(#""selector":{"_id":{"$gt":"a"}},"sort":[{"_id":"desc"}]"#) == "dcb")
    }

    @Test func `a document without a field of the index is left out`() {
        #expect(ids(#""selector":{"_id":{"$gt":null}},"sort":["age"]"#) == "cba")
        index(#"["age","name"]"#, "both")
        #expect(ids(#""selector":{"_id":{"$gt":null}},"sort":["age","name"]"#) == "ba")
        #expect(ids(#""selector":{"age":{"$gt":0}}"#) == "cba")
    }

    @Test func `an order that no index has is refused unless the app allows it`() throws {
        let refused = find(#""selector":{"age":{"$gt":0}},"sort":["name"]"#)
        #expect(refused.status == 400)
        #expect(refused.json["error"] == "no_usable_index")
        #expect(find(#""selector":{},"sort":["_id"]"#).json["error"] == "no_usable_index")
        let other = try TestSite({ $0.sortsWithoutIndex = true })
        other.send("PUT", "/db")
        for id in ["x", "y"] { other.send("PUT", "/db/\(id)", #"{"n":"\#(id)"}"#) }
        let body = #"{"selector":{},"sort":[{"n":"desc"}]}"#
        let found = other.send("POST", "/db/_find", body).json["docs"]?.array
        #expect(found?.compactMap { $0["_id"]?.string } == ["y", "x"])
    }

    @Test func `fields at the front that are the same in all rows need not be sorted by`() {
        index(#"["name","age"]"#, "both")
        #expect(ids(#""selector":{"name":"Ann","age":{"$gt":0}},"sort":["age"]"#) == "a")
        let other = find(#""selector":{"name":{"$gt":""},"age":{"$gt":0}},"sort":["name"]"#)
        #expect(other.json["docs"]?.array?.count == 2)
        index(#"["name","z","age"]"#, "three")
        let refused = find(#""selector":{"name":"Ann"},"sort":["z","name"]"#)
        #expect(refused.json["error"] == "no_usable_index")
    }

    @Test func `texts too long for a key are found and sorted`() {
        let long = String(repeating: "z", count: 5_000)
        site.send("PUT", "/db/e", #"{"name":"\#(long)"}"#)
        site.send("PUT", "/db/f", #"{"name":"\#(long)a"}"#)
        index(#"["name"]"#, "name")
        #expect(ids(#""selector":{"name":{"$gt":"B"}},"sort":["name"]"#) == "bdef")
        #expect(ids(#""selector":{"name":{"$gt":"B"}},"sort":[{"name":"desc"}]"#) == "fedb")
        var (found, bookmark) = ("", "")
        repeat {
            let page = find(
                #""selector":{"name":{"$gt":"B"}},"sort":["name"],"limit":1,"bookmark":"\#(bookmark)""#
            ).json
            bookmark = page["bookmark"]?.string ?? ""
            guard let id = page["docs"]?[0]?["_id"]?.string else { break }
            found += id
        } while found.count < 9
        #expect(found == "bdef")
    }

    // MARK: - Pages

    @Test(arguments: [
        #""selector":{"age":{"$gt":0}}"#, #""selector":{"age":{"$gt":0}},"sort":[{"age":"desc"}]"#,
        #""selector":{}"#, #""selector":{"$or":[{"age":{"$lt":25}},{"name":"Ann"}]}"#,
    ])
    func `pages follow each other, and the last one has the place of the one before`(query: String)
    {
        let whole = ids(query)
        var (found, bookmark) = ("", "nil")
        for _ in 0..<10 {
            let page = find(query + #","limit":2,"bookmark":"\#(bookmark)""#).json
            let rows = page["docs"]?.array ?? []
            found += rows.compactMap { $0["_id"]?.string }.joined()
            if rows.isEmpty { #expect(page["bookmark"]?.string == bookmark) }
            bookmark = page["bookmark"]?.string ?? ""
        }
        #expect(whole.count >= 3)
        #expect(found == whole)
    }

    @Test func `a bookmark of another query is refused by its name`() {
        let bad = find(#""selector":{},"bookmark":"bad""#)
        #expect(bad.status == 400)
        #expect(bad.json["error"] == "invalid_bookmark")
        #expect(bad.json["reason"]?.string == #"Invalid bookmark value: "bad""#)
        let other = find(#""selector":{"age":{"$gt":0}},"limit":1"#).json["bookmark"]?.string ?? ""
        #expect(find(#""selector":{},"bookmark":"\#(other)""#).json["error"] == "invalid_bookmark")
    }

    // MARK: - Fields

    @Test func `documents in conflict are found where conflicts are asked for`() {
        let bodies = #"{"_id":"a","_rev":"1-00","x":1}"#
        site.send("POST", "/db/_bulk_docs", #"{"new_edits":false,"docs":[\#(bodies)]}"#)
        let selector = #""selector":{"_conflicts":{"$exists":true}}"#
        #expect(ids(selector) == "")
        #expect(ids(selector + #","conflicts":true"#) == "a")
        index(#"["_conflicts"]"#, "conflicts")
        let found = find(selector + #","conflicts":true"#)
        #expect(found.json["docs"]?[0]?["_conflicts"] == ["1-00"])
        #expect(found.json["warning"] == nil)
        let some = find(#""selector":{"age":30},"fields":["_id","_conflicts"],"conflicts":true"#)
        #expect(some.json["docs"] == [["_id": "a", "_conflicts": ["1-00"]]])
    }

    @Test func `a backslash takes a dollar sign as a part of a name`() {
        site.send("PUT", "/db/e", #"{"$ref":"x","a.b":1}"#)
        #expect(ids(#""selector":{"\\$ref":"x"}"#) == "e")
        #expect(ids(#""selector":{"\\$ref":{"$gt":"a"}}"#) == "e")
        #expect(ids(#""selector":{"a\\.b":1}"#) == "e")
        index(#"["$ref"]"#, "ref")
        #expect(ids(#""selector":{"\\$ref":{"$gt":"a"}},"use_index":"ref""#) == "e")
    }

    @Test(arguments: ["$lt", "$lte", "$gt", "$gte"], ["{}", "[]"])
    func `no ID stands before or behind an array or an object`(name: String, value: String) {
        #expect(ids(#""selector":{"_id":{"\#(name)":\#(value)}}"#) == "")
        #expect(ids(#""selector":{"_id":{"$gt":null,"$ne":\#(value)}}"#) == "abcd")
    }

    @Test func `a type that is none is that of no value`() {
        #expect(ids(#""selector":{"age":{"$type":"date"}}"#) == "")
        #expect(ids(#""selector":{"age":{"$not":{"$type":"date"}}}"#) == "cba")
    }

    // MARK: - What it tells

    @Test func `statistics and warnings say what was read`() {
        let all = find(#""selector":{"name":"Ann"},"execution_stats":true"#).json
        #expect(
            all["warning"]?.string
                == "No matching index found, create an index to optimize query time.")
        #expect(all["execution_stats"]?["total_docs_examined"] == 4)
        #expect(all["execution_stats"]?["results_returned"] == 1)
        let some = find(#""selector":{"age":{"$lt":25}},"execution_stats":true,"r":2"#).json
        #expect(some["warning"] == nil)
        #expect(some["execution_stats"]?["total_keys_examined"] == 2)
        #expect(some["execution_stats"]?["total_docs_examined"] == 0)
        #expect(some["execution_stats"]?["total_quorum_docs_examined"] == 2)
        for number in 10..<30 { site.send("PUT", "/db/\(number)", #"{"age":\#(number)}"#) }
        let few = find(#""selector":{"age":{"$gt":0},"name":"Ann"}"#).json["warning"]?.string
        #expect(few?.hasPrefix("The number of documents examined is high") == true)
    }
}
