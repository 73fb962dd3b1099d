// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// What clients take, and what they are told about content.
@Suite struct NegotiationTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        let database = try site.manager.database(named: "db")
        try database.save(MutableDocument(["n": 1], id: "d"))
    }

    @Test(arguments: ["text/html", "image/png, application/xml", "application/json;q=0"])
    func `a client that takes none of what there is is told so`(accept: String) {
        let answer = site.send("GET", "/db/d", "", ["Accept": accept])
        #expect(answer.status == 406)
        #expect(answer.json["error"] == "not_acceptable")
        #expect(
            site.send("POST", "/db/_bulk_docs", #"{"docs":[]}"#, ["Accept": accept]).status == 406)
    }

    @Test(arguments: [
        "*/*", "application/json", "text/html, */*;q=0.1", "application/*", "text/plain",
        "multipart/mixed", "multipart/related, application/json", "text/event-stream", "",
    ])
    func `a client that takes anything of it is served`(accept: String) {
        #expect(site.send("GET", "/db/d", "", ["Accept": accept]).status == 200)
    }

    @Test func `attachments are of any type, and come whatever a client takes`() {
        let put = site.send(
            "PUT", "/db/new/a.png", "content",
            ["Content-Type": "image/png", "Accept": "image/png"])
        #expect(put.status == 201)
        let got = site.send("GET", "/db/new/a.png", "", ["Accept": "text/html"])
        #expect(got.status == 200)
    }

    @Test func `an attachment comes with the digests of what is sent`() throws {
        let content = "hello world"
        site.send("PUT", "/db/short/a", content, ["Content-Type": "text/plain"])
        let short = site.send("GET", "/db/short/a")
        #expect(short.text == content)
        #expect(short.headers["Content-MD5"] == "XrY7u+Ae7tCTyyK7j1rNww==")
        #expect(short.headers["Digest"] == "SHA=Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
        // The digest is of the whole content, also with a part of it.
        let part = site.send("GET", "/db/short/a", "", ["Range": "bytes=0-4"])
        #expect(part.status == 206)
        #expect(part.headers["Digest"] == short.headers["Digest"])
        #expect(part.headers["Content-MD5"] == nil)

        let long = [UInt8](repeating: 7, count: 100_000)
        site.send("PUT", "/db/long/a", long, ["Content-Type": "application/octet-stream"])
        let answer = site.send("GET", "/db/long/a")
        #expect(answer.bytes == long)
        #expect(answer.headers["Digest"]?.hasPrefix("SHA=") == true)
        #expect(answer.headers["Content-MD5"] == "O0fiy4WtlqkIgHPuQ+gUxg==")
    }

    @Test func `content that is sent decoded has no digest of what is stored`() throws {
        let coded = try #require(GzipCoding.encode(Array(repeating: 65, count: 4_000)))
        site.send(
            "PUT", "/db/g/a", coded, ["Content-Type": "text/plain", "Content-Encoding": "gzip"])
        let decoded = site.send("GET", "/db/g/a")
        #expect(decoded.bytes.count == 4_000)
        #expect(decoded.headers["Digest"] == nil)
        #expect(decoded.headers["Content-MD5"] == nil)
        let stored = site.send("GET", "/db/g/a", "", ["Accept-Encoding": "gzip"])
        #expect(stored.headers["Content-Encoding"] == "gzip")
        #expect(stored.bytes == coded)
        #expect(stored.headers["Digest"]?.hasPrefix("SHA=") == true)
        #expect(stored.headers["Content-MD5"] != nil)
    }

    @Test func `a change can be asked to be on the disk before it is answered`() {
        let answer = site.send("PUT", "/db/e", "{}", ["X-Couch-Full-Commit": "true"])
        #expect(answer.status == 201)
    }

    @Test func `a query without an index is refused where no other way is allowed`() {
        site.send("POST", "/db/_index", #"{"index":{"fields":["n"]},"ddoc":"x","name":"n"}"#)
        func find(_ rest: String) -> TestAnswer {
            site.send("POST", "/db/_find", #"{"allow_fallback":false,\#(rest)}"#)
        }
        #expect(find(#""selector":{"n":1}"#).json["docs"]?.array?.count == 1)
        #expect(find(#""selector":{"n":1},"use_index":["x","n"]"#).status == 200)
        for refused in [
            #""selector":{"m":1}"#, #""selector":{"n":1},"use_index":"none""#,
        ] {
            let answer = find(refused)
            #expect(answer.status == 400)
            #expect(answer.json["error"] == "invalid_index")
        }
        #expect(site.send("POST", "/db/_find", #"{"selector":{"m":1}}"#).status == 200)
    }
}
