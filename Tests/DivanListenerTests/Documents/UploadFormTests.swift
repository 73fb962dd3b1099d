// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// Forms that browsers send to a document.
@Suite struct UploadFormTests {
    private let site: TestSite
    private static let headers: HTTPHeaders = [
        "Content-Type": "multipart/form-data; boundary=b", "Referer": "http://localhost/page",
    ]

    init() throws {
        site = try TestSite()
        _ = try site.manager.database(named: "db")
    }

    private static func form(_ fields: [(String, String)]) -> String {
        fields.map { "--b\r\nContent-Disposition: form-data; \($0.0)\r\n\r\n\($0.1)\r\n" }
            .joined() + "--b--"
    }

    private func post(_ fields: [(String, String)], _ more: HTTPHeaders = [:]) -> TestAnswer {
        var headers = Self.headers
        for field in more { headers[field.name] = field.value }
        return site.send("POST", "/db/d", Self.form(fields), headers)
    }

    @Test func `files of a form become attachments of the revision that it names`() throws {
        let made = site.send("PUT", "/db/d", #"{"n":1,"_attachments":{"old":{"data":"YQ=="}}}"#)
        let revision = try #require(made.json["rev"]?.string)
        let answer = post([
            ("name=_rev", revision),
            ("name=_attachments; filename=\"a.txt\"\r\nContent-Type: text/plain", "hello"),
            ("name=_attachments; filename=\"\"", ""),
            ("name=other", "x"),
        ])
        #expect(answer.status == 201)
        #expect(answer.json["rev"]?.string?.hasPrefix("2-") == true)
        let document = site.send("GET", "/db/d").json
        #expect(document["n"]?.int64 == 1)
        #expect(document["_attachments"]?.object?.keys.sorted() == ["a.txt", "old"])
        let content = site.send("GET", "/db/d/a.txt")
        #expect(content.text == "hello")
        #expect(content.headers["Content-Type"] == "text/plain")
    }

    @Test func `a form may bring the whole document, and of two files with one name the last`() {
        let answer = post([
            ("name=_doc", #"{"n":2}"#), ("name=_attachments; filename=a", "first"),
            ("name=_attachments; filename=a", "second"),
        ])
        #expect(answer.status == 201)
        #expect(site.send("GET", "/db/d").json["n"]?.int64 == 2)
        #expect(site.send("GET", "/db/d/a").text == "second")
        #expect(post([("name=_doc", "{")]).status == 400)
        #expect(post([("name=_doc", #"{"n":3}"#)]).status == 409)
    }

    @Test func `a form of a page elsewhere is refused`() {
        let none = site.send(
            "POST", "/db/d", Self.form([]), ["Content-Type": "multipart/form-data; boundary=b"])
        #expect(none.status == 400)
        #expect(none.json["reason"] == "Referer header required.")
        for referer in ["http://evil/", "http://localhost.evil/", "localhost", "http:/localhost/"] {
            let answer = post([("name=_doc", "{}")], ["Referer": referer])
            #expect(answer.status == 400, "\(referer)")
            #expect(answer.json["reason"] == "Referer header must match host.")
        }
        #expect(site.send("GET", "/db/d").status == 404)
    }

    @Test func `a body that is no form of files is refused`() {
        for type in ["application/x-www-form-urlencoded", "application/json", "multipart/mixed"] {
            let answer = post([], ["Content-Type": type])
            #expect(answer.status == 415, "\(type)")
            #expect(answer.json["error"] == "bad_content_type")
        }
        #expect(post([("name=_rev", "x")]).status == 400)
        let unknown = post([("name=_rev", "1-" + String(repeating: "a", count: 32))])
        #expect(unknown.status == 409)
        let cut = site.send("POST", "/db/d", "--b\r\nContent-", Self.headers)
        #expect(cut.status == 400)
    }
}
