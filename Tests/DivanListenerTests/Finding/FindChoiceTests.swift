// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Which index a `_find` reads, and what `_explain` tells of it.
@Suite struct FindChoiceTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        for (name, fields) in [
            ("aaa", #"["a","d","e"]"#), ("bbb", #"["a","b"]"#), ("ccc", #"["a"]"#),
            ("zzz", #"["a"]"#),
        ] {
            index(fields, name)
        }
        index(#"["a"]"#, "part", #","partial_filter_selector":{"b":{"$gt":1}}"#)
    }

    private func index(_ fields: String, _ name: String, _ rest: String = "") {
        let body = #"{"index":{"fields":\#(fields)\#(rest)},"ddoc":"\#(name)","name":"\#(name)"}"#
        #expect(site.send("POST", "/db/_index", body).json["result"]?.string == "created")
    }

    private func explain(_ body: String) -> JSONValue {
        site.send("POST", "/db/_explain", "{\(body)}").json
    }

    @Test(arguments: [
        (#""selector":{"a":1}"#, "ccc"), (#""selector":{"a":1,"b":{"$gt":2}}"#, "bbb"),
        (#""selector":{"a":1,"b":{"$in":[2]}}"#, "ccc"),
        (#""selector":{"a":1,"d":2,"e":3}"#, "aaa"), (#""selector":{"b":1}"#, "_all_docs"),
        (#""selector":{"a":{"$exists":false}}"#, "_all_docs"), (#""selector":{}"#, "_all_docs"),
        (#""selector":{"$or":[{"a":1},{"a":2}]}"#, "ccc"), (#""selector":{"$or":[]}"#, "ccc"),
        (#""selector":{"a":1},"sort":["a","b"]"#, "bbb"),
        (#""selector":{"a":1},"use_index":"zzz""#, "zzz"),
        (#""selector":{"a":1},"use_index":"_design/zzz""#, "zzz"),
        (#""selector":{"a":1},"use_index":"zzz/zzz""#, "zzz"),
        (#""selector":{"a":1},"use_index":["zzz","zzz"]"#, "zzz"),
        (#""selector":{"a":1},"use_index":["zzz","none"]"#, "ccc"),
        (#""selector":{"a":1},"use_index":"part""#, "part"),
        (#""selector":{"a":1},"use_index":null"#, "ccc"),
    ])
    func `the index is read whose leading fields have most conditions`(
        query: String, name: String
    ) {
        #expect(explain(query)["index"]?["name"]?.string == name)
    }

    @Test func `an index that does not serve is told of, or refused`() {
        func find(_ rest: String) -> TestAnswer {
            site.send("POST", "/db/_find", #"{"selector":{"a":1},\#(rest)}"#)
        }
        #expect(
            find(#""use_index":"bbb""#).json["warning"]?.string
                == "_design/bbb was not used because it does not contain a valid index for this query."
        )
        #expect(
            find(#""use_index":["bbb","bbb"]"#).json["warning"]?.string
                == "_design/bbb, bbb was not used because it is not a valid index for this query.")
        #expect(find(#""use_index":"zzz""#).json["warning"] == nil)
        let refused = find(#""use_index":"bbb","allow_fallback":false"#)
        #expect(refused.status == 400)
        #expect(refused.json["error"] == "invalid_index")
        #expect(
            refused.json["reason"]?.string
                == "_design/bbb specified by `use_index` could not be found or it is not suitable.")
    }

    @Test func `an explanation has the arguments of the view`() {
        let plan = explain(
            #""selector":{"a":1,"b":{"$gt":2}},"sort":[{"a":"desc"}],"fields":["b"],"limit":7"#)
        let arguments = plan["mrargs"]
        #expect(arguments?["direction"] == "rev")
        #expect(arguments?["start_key"] == [1, "<MAX>"])
        #expect(arguments?["end_key"] == [1, 2])
        #expect(arguments?["include_docs"] == false)
        #expect(arguments?["conflicts"] == "undefined")
        #expect(plan["covering"] == true)
        #expect(plan["partitioned"] == false)
        #expect(plan["dbname"] == "db")
        #expect(plan["fields"] == ["b"])
        #expect(plan["opts"]?["limit"] == 7)
        #expect(plan["opts"]?["sort"] == ["a": "desc"])
        #expect(plan["opts"]?["bookmark"] == "nil")
        #expect(plan["selector_hints"]?[0]?["indexable_fields"] == ["a", "b"])
        let all = explain(#""selector":{"b":1}"#)
        #expect(all["mrargs"]?["start_key"] == .null)
        #expect(all["mrargs"]?["end_key"] == "<MAX>")
        #expect(all["covering"] == false)
        #expect(all["selector_hints"]?[0]?["unindexable_fields"] == [])
        #expect(explain(#""selector":{"_id":{"$lt":"x"}}"#)["mrargs"]?["end_key"] == "x")
    }

    @Test func `an explanation judges the indexes that were not read`() {
        func judged(_ query: String) -> [String] {
            (explain(query)["index_candidates"]?.array ?? []).map { candidate in
                let analysis = candidate["analysis"]
                let reason = analysis?["reasons"]?[0]?["name"]?.string ?? ""
                let name = candidate["index"]?["name"]?.string ?? ""
                return "\(name) \(reason) \(analysis?["ranking"]?.int64 ?? -1)"
            }
        }
        #expect(
            judged(#""selector":{"a":1}"#) == [
                "zzz alphabetically_comes_after 1", "part is_partial 4", "bbb field_mismatch 3",
                "aaa field_mismatch 3", "_all_docs unfavored_type 2",
            ])
        #expect(
            judged(#""selector":{"a":1,"b":1},"use_index":"zzz""#) == [
                "part is_partial 3", "ccc excluded_by_user 1", "bbb excluded_by_user 1",
                "aaa field_mismatch 2", "_all_docs excluded_by_user 1",
            ])
        let none = explain(#""selector":{"a":1},"sort":["q"]"#)
        #expect(none["index"] == .null)
        #expect(none["mrargs"] == nil)
        #expect(judged(#""selector":{"a":1},"sort":["q"]"#).contains("ccc sort_order_mismatch 1"))
    }

    @Test
    func `an index that is read, though CouchDB would not, is no candidate that does not serve`() {
        for n in 1...3 { site.send("PUT", "/db/d\(n)", #"{"a":\#(n),"q":\#(n)}"#) }
        index(#"["q"]"#, "qqq")
        let plan = explain(#""selector":{"$or":[{"a":1},{"q":2}]}"#)
        #expect(plan["index"]?["name"] == "_all_docs")
        let access = plan["access"]?.string ?? ""
        #expect(access.contains("'qqq/qqq'"), "\(access)")
        let candidates = plan["index_candidates"]?.array ?? []
        let names = candidates.compactMap { $0["index"]?["name"]?.string }
        #expect(!names.isEmpty)
        for name in names { #expect(!access.contains("'\(name)/\(name)'")) }
        #expect(candidates.allSatisfy { $0["analysis"]?["usable"] == false })
    }

    // MARK: - The list

    @Test func `the list of indexes comes in pages`() {
        func names(_ query: String) -> [String] {
            (site.send("GET", "/db/_index" + query).json["indexes"]?.array ?? []).compactMap {
                $0["name"]?.string
            }
        }
        #expect(names("") == ["_all_docs", "aaa", "bbb", "ccc", "part", "zzz"])
        #expect(names("?limit=2") == ["_all_docs", "aaa"])
        #expect(names("?limit=2&skip=3") == ["ccc", "part"])
        #expect(names("?limit=5;skip=4") == ["part", "zzz"])
        #expect(names("?skip=100").isEmpty)
        #expect(site.send("GET", "/db/_index?limit=1").json["total_rows"] == 6)
    }

    @Test func `descending fields are listed so, and read in both directions`() {
        index(#"[{"n":"desc"}]"#, "down")
        let listed = site.send("GET", "/db/_index").json["indexes"]?.array
        let down = listed?.first { $0["name"]?.string == "down" }
        #expect(down?["def"]?["fields"] == [["n": "desc"]])
        let views = site.send("GET", "/db/_design/down").json["views"]
        #expect(views?["down"]?["map"]?["fields"] == ["n": "desc"])
        #expect(views?["down"]?["options"]?["def"]?["fields"] == [["n": "desc"]])
        for n in 1...3 { site.send("PUT", "/db/d\(n)", #"{"n":\#(n)}"#) }
        for (direction, first) in [("asc", "d1"), ("desc", "d3")] {
            let body = #"{"selector":{"n":{"$gt":0}},"sort":[{"n":"\#(direction)"}]}"#
            let found = site.send("POST", "/db/_find", body).json["docs"]
            #expect(found?[0]?["_id"]?.string == first)
        }
        let again = #"{"index":{"fields":[{"n":"desc"}]},"ddoc":"down","name":"down"}"#
        #expect(site.send("POST", "/db/_index", again).json["result"] == "exists")
    }

    @Test func `a filter is listed with its operators`() {
        index(#"["n"]"#, "some", #","partial_filter_selector":{"kind":"x"}"#)
        let listed = site.send("GET", "/db/_index").json["indexes"]?.array
        let some = listed?.first { $0["name"]?.string == "some" }
        #expect(some?["def"]?["partial_filter_selector"] == ["kind": ["$eq": "x"]])
    }

    @Test func `an index that the app made on elements is no candidate`() throws {
        let database = try site.manager.database(named: "db")
        try database.createIndex(PropertyIndex(named: "tags", on: "tags[]"))
        try database.createIndex(PropertyIndex(named: "bytes", on: "q", collation: .raw))
        site.send("PUT", "/db/x", #"{"tags":["t"],"q":"x"}"#)
        #expect(explain(#""selector":{"q":"x"}"#)["index"]?["name"] == "_all_docs")
        let found = site.send("POST", "/db/_find", #"{"selector":{"tags":{"$all":["t"]}}}"#).json
        #expect(found["docs"]?.array?.count == 1)
    }
}
