// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

@Suite struct DocumentRouteTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    @Test func `a deleted document is not found, and its tombstone is by its revision`() throws {
        try database.save(MutableDocument(["n": 1], id: "a"))
        let tombstone = try database.delete("a").revisionID
        let gone = site.send("GET", "/db/a")
        #expect(gone.status == 404)
        #expect(gone.json == ["error": "not_found", "reason": "deleted"])
        let found = site.send("GET", "/db/a?rev=\(tombstone)")
        #expect(found.status == 200)
        #expect(
            found.json == ["_id": "a", "_rev": .string(tombstone.description), "_deleted": true])
        #expect(site.send("GET", "/db/a?open_revs=all").status == 200)
        let again = site.send("DELETE", "/db/a")
        #expect(again.status == 404)
        #expect(again.json["reason"] == "deleted")
    }

    @Test func `contents come from a known revision on, and say how they are coded, when asked`()
        throws
    {
        let coded: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0,
            0, 0,
        ]
        let first = try database.put(
            "a", [:], parent: nil, attachments: ["old": AttachmentContent.bytes(coded).gzipped()])
        let put = site.send(
            "PUT", "/db/a",
            #"{"_rev":"\#(first.revisionID)","_attachments":{"old":{"stub":true},"new":{"data":"aGk="}}}"#
        )
        #expect(put.status == 201)
        func attachments(_ options: String) -> JSONValue? {
            site.send("GET", "/db/a?" + options, "", ["Accept": "application/json"])
                .json["_attachments"]
        }
        let plain = attachments("attachments=true")
        #expect(plain?["old"]?["data"] == "aGVsbG8=")
        #expect(plain?["new"]?["data"] == "aGk=")
        let since = attachments(#"atts_since=["\#(first.revisionID)"]"#)
        #expect(since?["old"]?["stub"] == true && since?["old"]?["data"] == nil)
        #expect(since?["new"]?["data"] == "aGk=")
        #expect(attachments("att_encoding_info=false")?["old"]?["encoding"] == nil)
        let told = attachments("att_encoding_info=true")?["old"]
        #expect(told?["encoding"] == "gzip")
        #expect(told?["encoded_length"]?.int64 == Int64(coded.count))
        #expect(told?["length"] == 5)
    }

    @Test func `nothing stands behind the last boundary of parts`() throws {
        // CouchDB's replicator would wait for ever for what follows it.
        let attachment: JSONObject = ["_attachments": ["x": ["data": "eHg="]]]
        _ = site.send("PUT", "/db/a", JSONWriter.string(.object(attachment)))
        for target in ["/db/a?open_revs=all", "/db/a?open_revs=all&attachments=true"] {
            let answer = site.send("GET", target, "", ["Accept": "multipart/mixed"])
            #expect(answer.status == 200)
            #expect(answer.text.hasSuffix("--"))
        }
    }

    @Test func `a design document is one whatever character follows the slash`() throws {
        // The accent and the slash before it are one character of Swift's.
        let body = #"{"views":1}"#
        #expect(site.send("PUT", "/db/_design/%CC%81x", body).status == 400)
        #expect(site.send("PUT", "/db/_design%2F%CC%81x", body).status == 400)
        #expect(site.send("PUT", "/db/_design/%CC%81x", "{}").status == 201)
        #expect(site.send("GET", "/db/_design%2F%CC%81x").json["_id"] == "_design/\u{301}x")
        #expect(
            site.send("GET", "/db/_changes?filter=_design").json["results"]?.array?.count == 1)
        #expect(site.send("PUT", "/db/_local/%CC%81x", "{}").status == 201)
        let docs = #"{"docs":[{"_id":"_local/\#u{301}x","_rev":"0-1"}]}"#
        #expect(site.send("POST", "/db/_bulk_docs", docs).json[0]?["rev"] == "0-2")
        #expect(try database.localDocument("\u{301}x") != nil)
    }

    @Test func `a feed of some documents leaves out what only looks like one of them`() throws {
        // Composed and decomposed, two IDs that Swift calls equal.
        try database.save(MutableDocument(id: "\u{E9}"))
        try database.save(MutableDocument(id: "e\u{301}"))
        let feed = site.send(
            "POST", "/db/_changes?filter=_doc_ids", #"{"doc_ids":["\#u{E9}"]}"#)
        #expect(feed.json["results"]?.array?.compactMap { $0["id"] } == [.string("\u{E9}")])
    }

    @Test func `a purged document is missing, as one that never was`() throws {
        let revision = try database.save(MutableDocument(["n": 1], id: "a")).document.revisionID
        try database.purge("a")
        for path in ["/db/a", "/db/a?rev=\(revision)", "/db/never"] {
            let answer = site.send("GET", path)
            #expect(answer.status == 404)
            #expect(answer.json == ["error": "not_found", "reason": "missing"], "\(path)")
        }
        #expect(site.send("DELETE", "/db/a").json["reason"] == "missing")
    }

    @Test func `documents sent in bulk get new revisions unless new_edits says otherwise`() throws {
        let made = site.send("POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a","n":1}]}"#)
        let revision = try #require(made.json[0]?["rev"]?.string)
        let body = #"{"docs":[{"_id":"a","_rev":"\#(revision)","n":2}]"#
        let second = site.send("POST", "/db/_bulk_docs", body + "}")
        #expect(second.json[0]?["rev"]?.string?.hasPrefix("2-") == true)
        let stale = site.send("POST", "/db/_bulk_docs", body + #","new_edits":true}"#)
        #expect(stale.json[0]?["error"] == "conflict")
        let other = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a","_rev":"\#(revision)","n":3}]}"#)
        #expect(other.json[0]?["error"] == "conflict")
        let elsewhere = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"b","_rev":"7-x"}],"new_edits":false}"#)
        #expect(elsewhere.json == [])
        #expect(try database.document(withID: "b")?.revisionID == "7-x")
    }

    @Test func `what a validation function refuses is forbidden, with its sentence`() throws {
        try database.save(MutableDocument(["n": 1], id: "there"))
        let revision = try #require(try database.document(withID: "there")).revisionID
        database.setValidation(named: "kind") { revision, context in
            if revision["kind"].string == nil { throw context.rejection("a kind is needed") }
        }
        let requests = [
            ("PUT", "/db/a", "{}"), ("POST", "/db", #"{"_id":"a"}"#),
            ("PUT", "/db/a?new_edits=false", #"{"_rev":"1-x"}"#),
            ("DELETE", "/db/there?rev=\(revision)", ""),
        ]
        for (method, path, body) in requests {
            let answer = site.send(method, path, body)
            #expect(answer.status == 403, "\(method)")
            #expect(answer.json["error"] == "forbidden")
            #expect(answer.json["reason"]?.string?.contains("a kind is needed") == true)
        }
        let bulk = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a"},{"_id":"b","kind":"x"}]}"#)
        #expect(bulk.json[0]?["error"] == "forbidden")
        #expect(bulk.json[1]?["ok"] == true)
        #expect(try database.documentCount == 2)
    }

    @Test func `a full commit is answered as CouchDB does, and syncs`() throws {
        let answer = site.send("POST", "/db/_ensure_full_commit")
        #expect(answer.status == 201)
        #expect(answer.json["ok"] == true)
        #expect(answer.json["instance_start_time"]?.string != nil)
        #expect(site.send("GET", "/db/_ensure_full_commit").status == 405)
    }

    @Test func `an answer without a socket is the answer over one`() throws {
        try database.save(MutableDocument(["n": 1, "text": "\u{e9}"], id: "a/b"))
        try database.save(MutableDocument(["n": 2], id: "c"))
        let listener = Listener(site.manager, site.router.site.options)
        try listener.start()
        defer { listener.stop() }
        let client = try RawClient(port: try #require(listener.port))
        for path in [
            "/db", "/db/a%2Fb", "/db/_all_docs?include_docs=true", "/db/_changes?style=all_docs",
            "/db/none", "/db/_design/d/_view/v", "/none", "/db/c?revs=true&rev=x",
        ] {
            let inside = site.send("GET", path)
            client.request("GET", path)
            let outside = try #require(client.answer())
            #expect(outside.status == inside.status, "\(path)")
            #expect(String(decoding: outside.body, as: UTF8.self) == inside.text, "\(path)")
        }
    }
}
