// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Testing

@testable import DivanListener

/// `_exp` and `show_exp`, which are Couchbase Lite's.
@Suite struct ExpirationRouteTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    private func date(_ id: DocumentID) throws -> Double? {
        try database.expirationDate(of: id)?.timeIntervalSince1970
    }

    @Test func `a document that is put with _exp expires then, and shows it to who asks`() throws {
        #expect(site.send("PUT", "/db/a", #"{"n":1,"_exp":4000000000}"#).status == 201)
        #expect(try date("a") == 4_000_000_000)
        let plain = site.send("GET", "/db/a")
        #expect(plain.json["_exp"] == nil)
        #expect(plain.headers["ETag"] != nil)
        let shown = site.send("GET", "/db/a?show_exp=true")
        #expect(shown.json["_exp"] == "2096-10-02T07:06:40.000Z")
        #expect(shown.json["n"] == 1)
        // The date changes without a revision, so the answer has no tag by which it could be kept.
        #expect(shown.headers["ETag"] == nil)
        // It is no part of the revision.
        #expect(try database.document(withID: "a")?.body["_exp"] == nil)
        #expect(site.send("PUT", "/db/b", #"{"n":1}"#).json["rev"] == plain.json["_rev"])
        #expect(site.send("GET", "/db/b?show_exp=true").json["_exp"] == nil)
    }

    @Test func `a date is text or seconds, and null or 0 takes it away`() throws {
        var revision = ""
        func put(_ expiration: String) -> TestAnswer {
            let base = revision.isEmpty ? "" : #","_rev":"\#(revision)""#
            let answer = site.send("PUT", "/db/a", #"{"_exp":\#(expiration)\#(base)}"#)
            revision = answer.json["rev"]?.string ?? revision
            return answer
        }
        for (text, expected) in [
            (#""2096-10-02T07:06:40Z""#, 4_000_000_000), ("null", nil),
            ("4000000000.5", 4_000_000_000.5),
            ("0", nil), (#""2096-10-02""#, 3_999_974_400),
        ] as [(String, Double?)] {
            #expect(put(text).status == 201)
            #expect(try date("a") == expected, "\(text)")
        }
        // Without a word of it the date stays.
        _ = put("4000000000")
        #expect(site.send("PUT", "/db/a", #"{"_rev":"\#(revision)"}"#).status == 201)
        #expect(try date("a") == 4_000_000_000)
        for text in [#""soon""#, "true", "-1", "{}", #""""#] {
            let refused = site.send("PUT", "/db/other", #"{"_exp":\#(text)}"#)
            #expect(refused.status == 400, "\(text)")
            #expect(refused.json["error"] == "doc_validation")
        }
        #expect(try database.document(withID: "other") == nil)
    }

    @Test func `many documents may have dates, and a conflict sets none`() throws {
        try database.save(MutableDocument([:], id: "there"))
        let answer = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"a","_exp":4000000000},{"_id":"there","_exp":4000000000},{"_id":"b"}]}"#
        )
        #expect(answer.json[1]?["error"] == "conflict")
        #expect(try date("a") == 4_000_000_000)
        #expect(try date("there") == nil)
        #expect(try date("b") == nil)
    }

    @Test func `a revision made elsewhere brings no date`() throws {
        let answer = site.send(
            "PUT", "/db/a?new_edits=false", #"{"_rev":"1-a","_exp":4000000000}"#)
        #expect(answer.status == 201)
        #expect(try date("a") == nil)
        #expect(try database.document(withID: "a")?.body["_exp"] == nil)
    }
}
