// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// What docs/internal/features.md promises of routes beyond what the transcripts show.
@Suite struct PromisedRoutesTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    /// Puts a document and returns the ID of its revision.
    private func put(_ id: DocumentID, _ properties: JSONObject = [:]) throws -> String {
        try database.save(MutableDocument(properties, id: id)).document.revisionID.description
    }

    @Test func `the list of databases has ranges, a direction and windows`() throws {
        for name in ["a", "b", "c"] { _ = try site.manager.database(named: name) }
        func names(_ options: String) -> JSONValue { site.send("GET", "/_all_dbs" + options).json }
        #expect(names("") == ["a", "b", "c", "db"])
        #expect(names(#"?startkey="b"&endkey="c""#) == ["b", "c"])
        #expect(names(#"?start_key="b"&end_key="c""#) == ["b", "c"])
        #expect(names("?skip=1&limit=2") == ["b", "c"])
        #expect(names("?descending=true&limit=2") == ["db", "c"])
        #expect(names(#"?descending=true&startkey="b""#) == ["b", "a"])
    }

    @Test func `a database tells CouchDB's facts, and those of Couchbase Lite`() throws {
        _ = try put("a")
        _ = try put("b")
        try database.delete("b")
        let facts = site.send("GET", "/db").json
        #expect(facts["db_name"] == "db")
        #expect(facts["doc_count"] == 1 && facts["doc_del_count"] == 1)
        #expect(facts["update_seq"]?.place == 3 && facts["purge_seq"]?.place == 0)
        #expect(facts["compact_running"] == false)
        #expect(facts["instance_start_time"]?.string?.isEmpty == false)
        for size in ["file", "external", "active"] {
            #expect(facts["sizes"]?[size]?.int64 ?? 0 > 0, "\(size)")
        }
        #expect(facts["cluster"]?["n"] == 1)
        #expect(facts["db_uuid"]?.string == database.publicUUID)
        #expect(facts["committed_update_seq"] == facts["update_seq"])
        #expect(facts["disk_size"] == facts["sizes"]?["file"])
        // The log and the locks hold nothing.
        #expect(facts["sizes"]?["active"]?.int64 ?? 0 < facts["sizes"]?["file"]?.int64 ?? 0)
    }

    @Test func `a document is deleted by its current revision only`() throws {
        let first = try put("a", ["n": 1])
        let second = try database.update("a") { $0["n"] = 2 }.revisionID
        #expect(site.send("DELETE", "/db/a").status == 409)
        #expect(site.send("DELETE", "/db/a?rev=\(first)").status == 409)
        #expect(try database.contains("a"))
        #expect(site.send("DELETE", "/db/a?rev=\(second)").status == 200)
        #expect(try !database.contains("a"))
    }

    @Test func `deleted documents are listed when asked for`() throws {
        for id: DocumentID in ["a", "b"] { _ = try put(id) }
        try database.delete("a")
        func ids(_ options: String) -> [String]? {
            site.send("GET", "/db/_all_docs" + options).json["rows"]?.array?.compactMap {
                $0["id"]?.string
            }
        }
        #expect(ids("") == ["b"])
        #expect(ids("?include_deleted=true") == ["a", "b"])
    }

    @Test func `every row of a feed has its sequence, whatever seq_interval says`() throws {
        for id: DocumentID in ["a", "b", "c"] { _ = try put(id) }
        let feed = site.send("GET", "/db/_changes?seq_interval=2").json
        #expect(feed["results"]?.array?.compactMap { $0["seq"]?.place } == [1, 2, 3])
    }

    @Test func `a design document tells how its views stand`() throws {
        database.view(named: "people/all").setMap(version: "1") { document, emit in
            emit(document.id)
        }
        _ = try put("a")
        #expect(site.send("GET", "/db/_design/people/_view/all").status == 200)
        let facts = site.send("GET", "/db/_design/people/_info")
        #expect(facts.status == 200)
        #expect(facts.json["name"] == "people")
        #expect(facts.json["view_index"]?["update_seq"]?.int64 == 1)
        #expect(site.send("GET", "/db/_design/none/_info").status == 404)
    }

    // MARK: - Listeners

    /// Whether a database has heard of a document, deleted or not.
    private func knows(_ id: DocumentID, _ database: Database) throws -> Bool {
        try database.revisionTree(of: id) != nil
    }

    /// Makes documents and deletes them.
    private func deleteNew(_ ids: String...) throws {
        for id in ids {
            _ = try put(DocumentID(id))
            try database.delete(DocumentID(id))
        }
    }

    @Test func `HEAD of an attachment tells its length and type and sends nothing`() throws {
        let put = site.send(
            "PUT", "/db/a/note", Array("hello".utf8), ["Content-Type": "text/plain"])
        #expect(put.status == 201)
        let listener = try site.listen()
        defer { listener.stop() }
        let client = try RawClient(port: try #require(listener.port))
        client.request("HEAD", "/db/a/note")
        let header = try #require(client.read(until: "\r\n\r\n"))
        #expect(header.hasPrefix("HTTP/1.1 200"))
        for field in ["content-type: text/plain", "content-length: 5", "etag: "] {
            #expect(header.lowercased().contains(field), "\(field)")
        }
        // Had it sent the content, that would stand before the next answer.
        client.request("GET", "/db/a/note")
        #expect(client.answer()?.body == Array("hello".utf8))
    }

    @Test func `a first pull leaves deleted documents out, and later ones bring deletions`()
        async throws
    {
        let listener = try site.listen()
        defer { listener.stop() }
        _ = try put("kept")
        try deleteNew("gone")
        let here = try Database.inMemory(named: "here")
        let url = try #require(listener.url(of: database))
        let first = here.makePullReplication(from: url)
        first.start()
        await first.waitUntilEnded()
        #expect(first.lastError == nil)
        #expect(try knows("kept", here))
        #expect(try !knows("gone", here))
        try deleteNew("later")
        let second = here.makePullReplication(from: url)
        second.start()
        await second.waitUntilEnded()
        #expect(try knows("later", here))
        #expect(try !here.contains("later"))
    }

    @Test func `a listener that is let go stops`() throws {
        let port: UInt16
        do {
            let listener = try site.listen()
            port = try #require(listener.port)
            let client = try RawClient(port: port)
            client.request("GET", "/_up")
            #expect(client.answer()?.status == 200)
        }
        // Another test's server may have got the port meanwhile.
        eventually { (try? RawClient(port: port)) == nil }
    }
}
