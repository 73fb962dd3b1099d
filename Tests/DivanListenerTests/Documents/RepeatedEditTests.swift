// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// Of two clients that make the same edit of the same revision, one succeeds: a revision can be a lock.
@Suite struct RepeatedEditTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    private func make(_ id: DocumentID) throws -> RevisionID {
        try database.put(id, ["n": 1], parent: nil).revisionID
    }

    private func status(_ answer: TestAnswer) -> Int {
        guard let item = answer.json[0] else { return answer.status }
        return item["error"] == "conflict" ? 409 : answer.status
    }

    /// Ways to edit document `a` in its revision `REV`.
    static let edits: [(method: String, path: String, body: String, headers: HTTPHeaders)] = [
        ("PUT", "/db/a?rev=REV", #"{"locked":true}"#, [:]),
        ("PUT", "/db/a", #"{"_rev":"REV","locked":true}"#, [:]),
        ("PUT", "/db/a", #"{"locked":true}"#, ["If-Match": "\"REV\""]),
        ("PUT", "/db/a", #"{"_rev":"REV","_deleted":true}"#, [:]),
        ("POST", "/db", #"{"_id":"a","_rev":"REV","locked":true}"#, [:]),
        ("POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a","_rev":"REV","locked":true}]}"#, [:]),
        ("POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a","_rev":"REV","_deleted":true}]}"#, [:]),
        ("COPY", "/db/b", "", ["Destination": "a?rev=REV"]),
        ("PUT", "/db/a/file?rev=REV", "content", ["Content-Type": "text/plain"]),
    ]

    @Test(arguments: edits.indices)
    func `the same edit of the same revision succeeds once`(index: Int) throws {
        let edit = Self.edits[index]
        let revision = try make("a")
        _ = try make("b")
        func send() -> TestAnswer {
            // Not by the helper that compares the two ways to answer: that would send it twice.
            var head = RequestHead(
                method: edit.method,
                target: edit.path.replacing("REV", with: revision.description),
                headers: edit.headers)
            if let match = head.headers["If-Match"] {
                head.headers["If-Match"] = match.replacing("REV", with: revision.description)
            }
            if let destination = head.headers["Destination"] {
                head.headers["Destination"] = destination.replacing(
                    "REV", with: revision.description)
            }
            head.headers["Host"] = "localhost"
            if edit.method == "POST" { head.headers["Content-Type"] = "application/json" }
            let body = Array(edit.body.replacing("REV", with: revision.description).utf8)
            return TestAnswer(
                site.router.respond(ListenerRequest(head, body: .bytes(body))))
        }
        #expect(
            status(send()) == (edit.method == "PUT" && edit.body.contains("_deleted") ? 200 : 201))
        let sequence = try database.lastSequence
        #expect(status(send()) == 409)
        #expect(try database.lastSequence == sequence)
        // The client whose answer was lost sees in the document that the edit is its own.
        let leaf = try #require(try database.leafRevisions(of: "a").first)
        #expect(leaf.generation == 2)
    }

    @Test func `an attachment is removed once`() throws {
        let revision = site.send("PUT", "/db/a/file", "content").json["rev"]?.string ?? ""
        let target = "/db/a/file?rev=\(revision)"
        #expect(site.send("DELETE", target).status == 200)
        #expect(site.send("DELETE", target).status == 409)
    }

    @Test func `an edit that others have gone on from does not succeed again`() throws {
        let first = try make("a")
        let body = #"{"_rev":"\#(first)","n":2}"#
        let second = site.send("PUT", "/db/a", body)
        #expect(second.status == 201)
        let revision = second.json["rev"]?.string ?? ""
        #expect(site.send("PUT", "/db/a", #"{"_rev":"\#(revision)","n":3}"#).status == 201)
        #expect(site.send("PUT", "/db/a", body).status == 409)
    }

    @Test func `a document is deleted once`() throws {
        let first = try make("a")
        let second = try database.put("a", ["n": 2], parent: first).revisionID
        func delete(_ rev: RevisionID) -> TestAnswer { site.send("DELETE", "/db/a?rev=\(rev)") }
        #expect(delete(first).status == 409)
        #expect(delete("1-unknown").status == 409)
        #expect(delete(second).status == 200)
        let tombstone = try #require(try database.leafRevisions(of: "a").first).revisionID
        for revision in [second, first, tombstone, "1-unknown"] {
            let again = delete(revision)
            #expect(again.status == 404)
            #expect(again.json == ["error": "not_found", "reason": "deleted"])
        }
        #expect(site.send("DELETE", "/db/never?rev=1-a").json["reason"] == "missing")
        let put = site.send("PUT", "/db/a", #"{"_rev":"\#(tombstone)","_deleted":true}"#)
        #expect(put.status == 409)
        #expect(try database.lastSequence == 3)
        // A document that was deleted can be made anew below its tombstone.
        #expect(site.send("PUT", "/db/a", #"{"_rev":"\#(tombstone)","n":4}"#).status == 201)
    }

    @Test func `a losing revision of a conflict is deleted once`() throws {
        for revision: RevisionID in ["2-a", "2-b"] {
            try database.putExistingRevision("a", [:], history: [revision, "1-r"])
        }
        #expect(site.send("DELETE", "/db/a?rev=2-a").status == 200)
        #expect(site.send("DELETE", "/db/a?rev=2-a").status == 409)
        #expect(site.send("GET", "/db/a").json["_rev"] == "2-b")
    }

    @Test func `of two equal documents in one request the first is saved`() throws {
        let revision = try make("a")
        let document = #"{"_id":"a","_rev":"\#(revision)","locked":true}"#
        let answer = site.send("POST", "/db/_bulk_docs", #"{"docs":[\#(document),\#(document)]}"#)
        #expect(answer.json[0]?["ok"] == true)
        #expect(answer.json[1]?["error"] == "conflict")
    }

    @Test func `a revision that arrives twice is there once, and no conflict`() throws {
        let body = #"{"new_edits":false,"docs":[{"_id":"a","_rev":"1-a"}]}"#
        for _ in 0..<2 { #expect(site.send("POST", "/db/_bulk_docs", body).json == []) }
        #expect(site.send("PUT", "/db/a?new_edits=false", #"{"_rev":"1-a"}"#).status == 201)
        #expect(try database.lastSequence == 1)
    }
}
