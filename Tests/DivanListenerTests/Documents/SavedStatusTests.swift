// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// How a change is answered that asks for more, or for less, than that it is saved.
@Suite struct SavedStatusTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        _ = try site.manager.database(named: "db")
    }

    @Test func `more copies than one node has are answered 202`() throws {
        #expect(site.send("PUT", "/db/a?w=1", "{}").status == 201)
        let made = site.send("PUT", "/db/b?w=2", "{}")
        #expect(made.status == 202)
        let revision = try #require(made.json["rev"]?.string)
        #expect(site.send("POST", "/db?w=3", "{}").status == 202)
        #expect(site.send("POST", "/db/_bulk_docs?w=3", #"{"docs":[{}]}"#).status == 202)
        #expect(site.send("COPY", "/db/b?w=3", "", ["Destination": "c"]).status == 202)
        let attached = site.send("PUT", "/db/b/t?w=3&rev=\(revision)", "x")
        #expect(attached.status == 202)
        let last = try #require(attached.json["rev"]?.string)
        #expect(site.send("DELETE", "/db/b?w=3&rev=\(last)").status == 200)
    }

    @Test func `a document of a batch that is in conflict is dropped without a word`() {
        for n in 1...2 {
            let answer = site.send("PUT", "/db/a?batch=ok", #"{"n":\#(n)}"#)
            #expect(answer.status == 202)
            #expect(answer.json == ["ok": true, "id": "a"])
        }
        #expect(site.send("GET", "/db/a").json["n"]?.int64 == 1)
        #expect(site.send("PUT", "/db/b?batch=ok", #"{"_x":1}"#).status == 400)
    }

    @Test func `a stub of content that came later than the edited revision is missing`() throws {
        let made = site.send("PUT", "/db/a", #"{"_attachments":{"t":{"data":"YQ=="}}}"#)
        let revision = try #require(made.json["rev"]?.string)
        func body(_ position: Int) -> String {
            #"{"_id":"a","_rev":"\#(revision)","_attachments":{"t":{"stub":true,"revpos":\#(position)}}}"#
        }
        let answer = site.send("PUT", "/db/a", body(2))
        #expect(answer.status == 412)
        #expect(answer.json["error"] == "missing_stub")
        let bulk = site.send("POST", "/db/_bulk_docs", #"{"docs":[\#(body(10))]}"#)
        #expect(bulk.json[0]?["error"] == "missing_stub")
        #expect(site.send("PUT", "/db/a", body(1)).status == 201)
    }
}
