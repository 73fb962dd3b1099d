// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// By which digest clients are told of attachments: MD5, as CouchDB; Divans by what is stored.
@Suite struct AttachmentDigestTests {
    private static let md5 = "md5-XUFAKrxLKna5cZ2REBfFkg=="
    private static let sha1 = "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="

    let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        site.send("PUT", "/db/d/t", "hello", ["Content-Type": "text/plain"])
    }

    private func digest(in value: JSONValue?) -> String? {
        value?["_attachments"]?["t"]?["digest"]?.string
    }

    private var stored: String? {
        get throws {
            try site.manager.database(named: "db").document(withID: "d")?
                .attachment(named: "t")?.digest
        }
    }

    @Test func `every way to read a document shows the MD5, and what is stored keeps its SHA-1`()
        throws
    {
        #expect(try stored == Self.sha1)
        #expect(digest(in: site.send("GET", "/db/d").json) == Self.md5)
        let whole = site.send("GET", "/db/d?attachments=true", "", ["Accept": "application/json"])
        #expect(digest(in: whole.json) == Self.md5)
        let listed = site.send("GET", "/db/_all_docs?include_docs=true").json["rows"]?[0]?["doc"]
        #expect(digest(in: listed) == Self.md5)
        let change = site.send("GET", "/db/_changes?include_docs=true").json["results"]?[0]?["doc"]
        #expect(digest(in: change) == Self.md5)
        let got = site.send("POST", "/db/_bulk_get", #"{"docs":[{"id":"d"}]}"#).json
        #expect(digest(in: got["results"]?[0]?["docs"]?[0]?["ok"]) == Self.md5)
        let leaf = site.send("GET", "/db/d?open_revs=all", "", ["Accept": "application/json"]).json
        #expect(digest(in: leaf[0]?["ok"]) == Self.md5)
        let found = site.send("POST", "/db/_find", #"{"selector":{"_id":"d"}}"#).json["docs"]?[0]
        #expect(digest(in: found) == Self.md5)
        let related = site.send(
            "GET", "/db/d?attachments=true", "", ["Accept": "multipart/related"])
        #expect(related.text.contains(Self.md5))
    }

    @Test func `an attachment is tagged with its MD5`() {
        let answer = site.send("GET", "/db/d/t")
        #expect(answer.headers["ETag"] == "\"XUFAKrxLKna5cZ2REBfFkg==\"")
        #expect(answer.headers["Content-MD5"] == "XUFAKrxLKna5cZ2REBfFkg==")
        let again = site.send(
            "GET", "/db/d/t", "", ["If-None-Match": "\"XUFAKrxLKna5cZ2REBfFkg==\""])
        #expect(again.status == 304)
    }

    @Test func `a Divan is told what is stored`() {
        let field = HTTPHeaders([(StoredDigests.field, StoredDigests.value)])
        #expect(digest(in: site.send("GET", "/db/d", "", field).json) == Self.sha1)
        let got = site.send("POST", "/db/_bulk_get", #"{"docs":[{"id":"d"}]}"#, field).json
        #expect(digest(in: got["results"]?[0]?["docs"]?[0]?["ok"]) == Self.sha1)
        let other = HTTPHeaders([(StoredDigests.field, "md5")])
        #expect(digest(in: site.send("GET", "/db/d", "", other).json) == Self.md5)
    }

    @Test func `a stub with the MD5 stands for the content, also under another name`() throws {
        var document = try #require(site.send("GET", "/db/d").json.object)
        document["a"] = 1
        #expect(site.send("PUT", "/db/d", JSONWriter.string(.object(document))).status == 201)
        #expect(try stored == Self.sha1)
        document = try #require(site.send("GET", "/db/d").json.object)
        let stub = document["_attachments"]?["t"] ?? .null
        document["_attachments"] = ["renamed": stub]
        #expect(site.send("PUT", "/db/d", JSONWriter.string(.object(document))).status == 201)
        #expect(site.send("GET", "/db/d/renamed").text == "hello")
        let database = try site.manager.database(named: "db")
        let renamed = try database.document(withID: "d")?.attachment(named: "renamed")
        #expect(renamed?.digest == Self.sha1)
        #expect(try database.verify().isEmpty)
    }

    @Test func `the MD5 of content is found again by another process without reading it`() throws {
        let folder = TestSite.newFolder()
        do {
            let first = try TestSite(folder: folder)
            first.send("PUT", "/db")
            first.send("PUT", "/db/d/t", "hello", ["Content-Type": "text/plain"])
            let database = try first.manager.database(named: "db")
            let path = try #require(
                try database.document(withID: "d")?.attachment(named: "t")?.fileURL)
            // Where the content were read for it, other bytes would give another one.
            try Data("jello".utf8).write(to: path)
            first.manager.close()
            let second = try TestSite(folder: folder)
            #expect(digest(in: second.send("GET", "/db/d").json) == Self.md5)
            #expect(try !second.manager.database(named: "db").verify().isEmpty)
        }
    }
}
