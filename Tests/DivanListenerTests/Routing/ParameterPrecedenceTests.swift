// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// Which parameter counts where the query and the body say different things.
@Suite struct ParameterPrecedenceTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        let database = try site.manager.database(named: "db")
        for id in ["a", "b", "_design/a", "_design/b"] as [DocumentID] {
            try database.save(MutableDocument([:], id: id))
        }
        for name in ["a", "b"] { site.send("PUT", "/db/_local/\(name)", "{}") }
    }

    private func ids(_ target: String, _ body: String) -> [String] {
        (site.send("POST", target, body).json["rows"]?.array ?? []).compactMap {
            $0["id"]?.string
        }
    }

    @Test func `the query counts before the body in lists of documents`() {
        #expect(ids("/db/_all_docs?limit=1", #"{"keys":["a","b"],"limit":2}"#) == ["a"])
        #expect(ids("/db/_all_docs?keys=[%22b%22]", #"{"keys":["a"]}"#) == ["b"])
        #expect(ids("/db/_all_docs", #"{"keys":["a","b"],"descending":true}"#) == ["b", "a"])
        #expect(ids("/db/_all_docs?start_key=%22b%22", #"{"startkey":"a"}"#) == ["b"])
        #expect(ids("/db/_design_docs?limit=1", #"{"limit":2}"#) == ["_design/a"])
        #expect(ids("/db/_local_docs?limit=1", #"{"limit":2}"#) == ["_local/a"])
    }

    @Test func `a query of several counts before the one that all have in common`() {
        for list in ["_all_docs", "_design_docs", "_local_docs"] {
            let answer = site.send(
                "POST", "/db/\(list)/queries?limit=0", #"{"queries":[{"limit":1},{}]}"#)
            let counts = (answer.json["results"]?.array ?? []).map { $0["rows"]?.array?.count }
            #expect(counts == [1, 0], "\(list)")
        }
    }

    @Test func `keys with a range are refused`() {
        for range in [#""key":"b""#, #""startkey":"a""#, #""end_key":"a""#] {
            let answer = site.send("POST", "/db/_all_docs", #"{"keys":["a"],\#(range)}"#)
            #expect(answer.status == 400)
            #expect(answer.json["error"] == "query_parse_error")
        }
        let wrong = site.send("POST", "/db/_all_docs", #"{"keys":1}"#)
        #expect(wrong.json["reason"] == "`keys` body member must be an array.")
    }

    @Test func `a list of all documents says how many lie before its first row`() throws {
        func offset(_ query: String) -> JSONValue? {
            site.send("GET", "/db/_all_docs?\(query)").json["offset"]
        }
        // Both design documents stand before the others.
        #expect(offset("") == 0)
        #expect(offset("startkey=%22a%22") == 2)
        #expect(offset("startkey=%22a%22&skip=1") == 3)
        #expect(offset("startkey=%22aa%22") == 3)
        #expect(offset("key=%22b%22") == 3)
        #expect(offset("descending=true&startkey=%22a%22") == 1)
        #expect(offset("keys=[%22a%22]") == .null)
        let database = try #require(try site.manager.existingDatabase(named: "db"))
        try database.inBatch {
            for n in 0..<1_000 { try database.save(MutableDocument([:], id: "c\(n)")) }
        }
        #expect(offset("startkey=%22c%22") == 4)
        #expect(offset("startkey=%22d%22") == .null)
    }

    @Test func `a heartbeat that is none is refused`() {
        let words = [
            "-1": "The heartbeat value should be a positive integer (in milliseconds).",
            "a1":
                "Invalid heartbeat value. Expecting a positive integer value (in milliseconds).",
        ]
        for (value, reason) in words {
            let answer = site.send("GET", "/db/_changes?feed=continuous&heartbeat=\(value)")
            #expect(answer.status == 400)
            #expect(answer.json["reason"]?.string == reason)
        }
    }
}
