// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// `COPY` of documents and of local ones, which read `Destination` in the same way.
@Suite struct CopyTests {
    let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db%2Fx")
        site.send("PUT", "/other")
    }

    @Test(arguments: ["http://localhost/db%2Fx/m", "HTTPS://example.org/db%2Fx/m"])
    func `a destination is not a URL with a host`(destination: String) {
        for path in ["l", "_local/l"] {
            site.send("PUT", "/db%2Fx/\(path)", "{}")
            let answer = site.send("COPY", "/db%2Fx/\(path)", "", ["Destination": destination])
            #expect(answer.status == 400)
            #expect(answer.json["reason"] == "Destination URL must be relative.")
        }
    }

    private static let written: [(destination: String, name: String)] = [
        ("m", "m"), ("a%2Fb", "a/b"), ("%C3%A9", "\u{E9}"), ("e%CC%81", "e\u{301}"),
        ("/db%2Fx/m", "m"), ("/db%2Fx/a%2Fb", "a/b"),
    ]

    @Test(arguments: ["", "_local/"], written.indices)
    func `a destination is read in the same way for both kinds`(kind: String, index: Int) throws {
        let (plain, name) = Self.written[index]
        let root = "/db%2Fx/"
        let destination =
            plain.hasPrefix(root) ? root + kind + plain.dropFirst(root.count) : kind + plain
        let first = site.send("PUT", "/db%2Fx/\(kind)l", #"{"n":1}"#)
        let old = try #require(first.json["rev"]?.string)
        func copy(_ query: String = "", _ end: String = "") -> TestAnswer {
            site.send("COPY", "/db%2Fx/\(kind)l\(query)", "", ["Destination": destination + end])
        }
        let made = copy()
        #expect(made.status == 201 && made.json["id"] == .string(kind + name), "\(made.text)")
        let revision = try #require(made.json["rev"]?.string)
        let path = "/db%2Fx/" + kind + PercentEncoding.encode(name)
        #expect(site.send("GET", path).json["n"] == 1)
        #expect(copy().status == 409)
        let other = kind.isEmpty ? "9-abc" : "0-9"
        #expect(copy("", "?rev=\(other)").status == 409)
        #expect(copy("", "?rev=").status == 400)
        #expect(copy("", "?rev=%zz").status == 400)

        // Over a revision, from a revision.
        site.send("PUT", "/db%2Fx/\(kind)l", #"{"n":2,"_rev":"\#(old)"}"#)
        #expect(copy("?rev=\(other)", "?rev=\(revision)").status == 404)
        #expect(copy("?rev=", "?rev=\(revision)").status == 400)
        #expect(copy("?rev=x", "?rev=\(revision)").status == 400)
        let again = copy("", "?rev=\(revision)")
        #expect(again.status == 201, "\(again.text)")
        #expect(site.send("GET", path).json["n"] == 2)
    }

    @Test(arguments: ["", "_local/"])
    func `a destination that names nothing here is refused`(kind: String) {
        site.send("PUT", "/db%2Fx/\(kind)l", "{}")
        for destination in [
            "", "/", "/other/m", "http://localhost/other/m", "http://localhost", "/db%2Fx", "a%zz",
            "a%FF", "a%00b", "a/b", "_design/d/_view/v",
        ] {
            let answer = site.send(
                "COPY", "/db%2Fx/\(kind)l", "", ["Destination": destination])
            #expect(answer.status == 400, "\(destination): \(answer.text)")
            #expect(answer.json["error"] == "bad_request", "\(destination): \(answer.text)")
        }
        #expect(site.send("COPY", "/db%2Fx/\(kind)l").status == 400)
    }

    @Test func `a revision that a local document no longer has is not copied`() {
        site.send("PUT", "/db%2Fx/_local/l", "{}")
        site.send("PUT", "/db%2Fx/_local/l", #"{"_rev":"0-1"}"#)
        for (query, status) in [("?rev=0-1", 404), ("?rev=0-2", 201), ("?rev=2-local", 409)] {
            let answer = site.send(
                "COPY", "/db%2Fx/_local/l\(query)", "", ["Destination": "_local/m"])
            #expect(answer.status == status, "\(query) \(answer.text)")
        }
    }

    @Test func `a document is copied to a local one, and a local one to a document`() {
        site.send("PUT", "/db%2Fx/d", #"{"n":1}"#)
        site.send("PUT", "/db%2Fx/_local/l", #"{"n":2}"#)
        func copy(_ source: String, _ destination: String) -> TestAnswer {
            site.send("COPY", "/db%2Fx/\(source)", "", ["Destination": destination])
        }
        let local = copy("d", "_local/m")
        #expect(local.status == 201 && local.json["id"] == "_local/m" && local.json["rev"] == "0-1")
        #expect(site.send("GET", "/db%2Fx/_local/m").json["n"] == 1)
        #expect(copy("d", "_local/m").status == 409)
        #expect(copy("d", "_local/m?rev=0-1").json["rev"] == "0-2")

        #expect(copy("_local/l", "m").status == 201)
        #expect(site.send("GET", "/db%2Fx/m").json["n"] == 2)
        #expect(copy("_local/l", "m").status == 409)
        #expect(copy("_local/l", "_local/_divan%2Fx").status == 404)

        // A local document has no attachments, so nothing is dropped.
        site.send("PUT", "/db%2Fx/f/text", "content", ["Content-Type": "text/plain"])
        #expect(copy("f", "_local/f").status == 400)
    }
}
