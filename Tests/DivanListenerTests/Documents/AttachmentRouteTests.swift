// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import Testing

@testable import DivanListener

/// What clients may write of attachments, compared with what CouchDB takes.
@Suite struct AttachmentRouteTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    /// A document as a client that read it gives it back: new content, and the old words beside it.
    private func stale(_ id: String, _ revision: String) -> String {
        #"""
        {"_id":"\#(id)","_rev":"\#(revision)","_attachments":{"t":{"content_type":"text/plain",
        "digest":"sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=","length":99,"revpos":1,"stub":false,"foo":1,
        "data":"aGVsbG8="}}}
        """#
    }

    private func made(_ id: String) -> String {
        let answer = site.send(
            "PUT", "/db/\(id)", #"{"_attachments":{"t":{"data":"YmVmb3Jl"}}}"#)
        return answer.json["rev"]?.string ?? ""
    }

    private func content(_ id: String, _ name: String = "t") -> String {
        site.send("GET", "/db/\(id)/\(name)").text
    }

    @Test func `content in place counts, in an edit as in a revision made elsewhere`() throws {
        #expect(site.send("PUT", "/db/a", stale("a", made("a"))).status == 201)
        #expect(site.send("POST", "/db", stale("b", made("b"))).status == 201)
        let bulk = site.send("POST", "/db/_bulk_docs", #"{"docs":[\#(stale("c", made("c")))]}"#)
        #expect(bulk.json[0]?["ok"]?.bool == true)
        #expect(site.send("PUT", "/db/d?new_edits=false", stale("d", "2-b")).status == 201)
        let copied = #"{"new_edits":false,"docs":[\#(stale("e", "2-b"))]}"#
        #expect(site.send("POST", "/db/_bulk_docs", copied).json == [])
        for id in ["a", "b", "c", "d", "e"] {
            #expect(content(id) == "hello", "\(id)")
            let stub = site.send("GET", "/db/\(id)").json["_attachments"]?["t"]
            #expect(stub?["length"]?.int64 == 5)
            #expect(stub?["digest"]?.string == "md5-XUFAKrxLKna5cZ2REBfFkg==")
            #expect(stub?["foo"] == nil)
            // An edit's content is new; a revision made elsewhere says since when it is there.
            #expect(stub?["revpos"]?.int64 == (["d", "e"].contains(id) ? 1 : 2), "\(id)")
        }
    }

    @Test func `a stub stands for content of its own document only, whatever its digest says`()
        throws
    {
        _ = made("hidden")
        let digest = site.send("GET", "/db/hidden").json["_attachments"]?["t"]?["digest"]?.string
        let stub = { (digest: String) in
            #"{"stub":true,"digest":"\#(digest)","length":6,"revpos":1}"#
        }
        let unknown = "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="
        for (path, rev) in [("/db/x", nil), ("/db/x?new_edits=false", "1-aa")] {
            // The answer does not tell whether another document has the content.
            let answers = [digest ?? "", unknown].map {
                let rev = rev.map { #""_rev":"\#($0)","# } ?? ""
                return site.send("PUT", path, #"{\#(rev)"_attachments":{"t":\#(stub($0))}}"#)
            }
            #expect(answers.map(\.status) == [412, 412], "\(path)")
            #expect(answers[0].bytes == answers[1].bytes)
        }
        let bulk = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"x","_attachments":{"t":\#(stub(digest ?? ""))}}]}"#)
        #expect(bulk.json[0]?["error"] == "missing_stub")
        #expect(site.send("GET", "/db/x").status == 404)
    }

    @Test func `a stub may stand for content of any stored revision of its document`() throws {
        let first = made("d")
        let entry = site.send("GET", "/db/d").json["_attachments"]?["t"] ?? .null
        let second = site.send("PUT", "/db/d?rev=\(first)", "{}").json["rev"]?.string ?? ""
        let again = site.send(
            "PUT", "/db/d?rev=\(second)", #"{"_attachments":{"other":\#(entry)}}"#)
        #expect(again.status == 201)
        #expect(content("d", "other") == "before")
        let parent = (again.json["rev"]?.string ?? "").dropFirst(2)
        let elsewhere =
            #"{"_rev":"4-bb","_revisions":{"start":4,"ids":["bb","\#(parent)"]},"#
            + #""_attachments":{"third":\#(entry)}}"#
        #expect(site.send("PUT", "/db/d?new_edits=false", elsewhere).status == 201)
        #expect(content("d", "third") == "before")
    }

    private func multipart(_ document: String, _ parts: [(name: String, content: String)]) -> String
    {
        let parts = parts.map { name, content in
            "--b\r\nContent-Disposition: attachment; filename=\"\(name)\"\r\n\r\n\(content)\r\n"
        }
        return "--b\r\nContent-Type: application/json\r\n\r\n\(document)\r\n" + parts.joined()
            + "--b--"
    }

    private func put(_ id: String, _ body: String) -> TestAnswer {
        site.send(
            "PUT", "/db/\(id)", body, ["Content-Type": "multipart/related; boundary=b"])
    }

    @Test func `content in a part is compared with what was declared, in place it is not`() {
        let follows = #"{"follows":true,"length":5,"digest":"md5-AAAAAAAAAAAAAAAAAAAAAA=="}"#
        let wrong = put("a", multipart(#"{"_attachments":{"t":\#(follows)}}"#, [("t", "hello")]))
        #expect(wrong.status == 400)
        // As in CouchDB, the part counts of an entry that says that its content follows.
        let both =
            #"{"_attachments":{"t":{"follows":true,"length":5,"data":"YmVmb3Jl"},"#
            + #""u":{"data":"aGVsbG8=","length":77}}}"#
        #expect(put("a", multipart(both, [("t", "hello")])).status == 201)
        #expect(content("a") == "hello")
        #expect(content("a", "u") == "hello")
    }

    @Test func `parts whose names differ in their bytes only are two attachments`() throws {
        let document =
            #"{"_attachments":{"\u00e9":{"follows":true,"length":3},"e\u0301":{"follows":true,"length":3}}}"#
        let body = multipart(document, [("e\u{301}", "two"), ("\u{E9}", "one")])
        #expect(put("a", body).status == 201)
        #expect(content("a", "%C3%A9") == "one")
        #expect(content("a", "e%CC%81") == "two")
    }

    @Test func `a name that begins with an underscore is refused in every way of writing one`()
        throws
    {
        let inline = #"{"_attachments":{"_x":{"data":"aGVsbG8="}}}"#
        let follows = #"{"_attachments":{"_x":{"follows":true,"length":5}}}"#
        let answers = [
            site.send("PUT", "/db/a/_x", "hello"), site.send("PUT", "/db/a", inline),
            site.send("POST", "/db", inline), put("a", multipart(follows, [("_x", "hello")])),
        ]
        for answer in answers {
            #expect(answer.status == 400)
            #expect(answer.json["error"] == "bad_request")
            let words = "Attachment name '_x' starts with prohibited character '_'"
            #expect(answer.json["reason"]?.string == words)
        }
        // So is one without a name.
        #expect(site.send("PUT", "/db/a", #"{"_attachments":{"":{"data":""}}}"#).status == 400)
        #expect(site.send("PUT", "/db/a/", "hello").status >= 400)
        let bulk = site.send("POST", "/db/_bulk_docs", #"{"docs":[\#(inline)]}"#)
        #expect(bulk.json[0]?["error"]?.string == "bad_request")
        #expect(try database.documentCount == 0)
        // So is a revision that a client brings, among others that are taken.
        let elsewhere = #"{"_id":"a","_rev":"1-a",\#(inline.dropFirst())"#
        let brought = site.send(
            "POST", "/db/_bulk_docs",
            #"{"new_edits":false,"docs":[\#(elsewhere),{"_id":"b","_rev":"1-b"}]}"#)
        #expect(brought.json[0]?["error"] == "forbidden" && brought.json[0]?["id"] == "a")
        #expect(brought.json[0]?["reason"]?.string?.contains("'_x'") == true)
        #expect(site.send("PUT", "/db/a?new_edits=false", elsewhere).status == 403)
        #expect(try database.documentCount == 1)
    }

    @Test func `a name that begins with an underscore is read, carried on and removed where it is`()
        throws
    {
        // Couchbase Lite 1.x takes such names, so a pull or an import may bring one.
        try database.putExistingRevision(
            "a", ["_attachments": ["_x": ["data": "aGVsbG8="]]], history: ["1-a"])
        #expect(content("a", "_x") == "hello")
        let next =
            #"{"new_edits":false,"docs":[{"_id":"a","_rev":"2-a","_revisions":{"start":2,"ids":["a","a"]},"_attachments":{"_x":{"data":"aGVsbG8="}}}]}"#
        #expect(site.send("POST", "/db/_bulk_docs", next).json == [])
        var document = site.send("GET", "/db/a").json.object ?? [:]
        document["n"] = 1
        let edited = site.send("PUT", "/db/a", JSONWriter.string(.object(document)))
        #expect(edited.status == 201)
        #expect(content("a", "_x") == "hello")
        // Of a revision that is not here nothing is known.
        document["_rev"] = "2-b"
        let other = site.send("PUT", "/db/a", JSONWriter.string(.object(document)))
        #expect(other.status == 400 && other.text.contains("prohibited character"))
        let revision = edited.json["rev"]?.string ?? ""
        #expect(site.send("DELETE", "/db/a/_x?rev=\(revision)").status == 200)
    }
}
