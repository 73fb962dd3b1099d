// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// JSONP: answers that call a function of a page.
@Suite struct CallbackTests {
    private static let ann: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
    ]
    private static let key = "/_node/_local/_config/chttpd/allow_jsonp"
    private let site: TestSite

    init() throws {
        site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let database = try site.manager.database(named: "db")
        for n in 0..<3 { try database.save(MutableDocument(["n": 1], id: DocumentID("d\(n)"))) }
    }

    private func ask(_ path: String, _ method: String = "GET", _ body: String = "") -> TestAnswer {
        site.send(method, path, body, Self.ann)
    }

    private func allow() { #expect(ask(Self.key, "PUT", #""true""#).status == 200) }

    @Test func `nothing calls a function before the configuration allows it`() {
        let answer = ask("/db/d0?callback=show")
        #expect(answer.headers["Content-Type"] == "application/json")
        #expect(answer.json["n"] == 1)
        #expect(ask(Self.key, "PUT", #""maybe""#).status == 400)
    }

    @Test(arguments: ["/db/d0", "/db/_all_docs", "/db/_changes", "/_uuids", "/"])
    func `an answer in one piece or several is the argument of a call`(path: String) throws {
        allow()
        let plain = ask(path)
        let call = ask(path + "?callback=my.list[0]")
        #expect(call.status == 200 && call.headers["Content-Type"] == "application/javascript")
        let (beginning, end) = ("/* CouchDB */my.list[0](", ");\n")
        #expect(call.text.hasPrefix(beginning) && call.text.hasSuffix(end))
        let inner = try JSONParser.parse(
            String(call.text.dropFirst(beginning.count).dropLast(end.count)))
        #expect(inner.object?.keys.sorted() == plain.json.object?.keys.sorted())
        if path != "/_uuids" { #expect(inner == plain.json) }
    }

    @Test
    func `a name that is none is refused, and a refusal, a change and other content are no call`() {
        allow()
        for name in ["show%22", "a(b)", "a%20b", "alert%3C", "%C3%A9"] {
            let answer = ask("/db/d0?callback=\(name)")
            #expect(answer.status == 400 && answer.json["reason"] == "invalid_callback")
        }
        #expect(ask("/db/d0?callback=").json["n"] == 1)
        #expect(ask("/db/none?callback=show").json["error"] == "not_found")
        #expect(ask("/db/new?callback=show", "PUT", "{}").json["ok"] == true)
        #expect(ask("/db/new?callback=show").text.contains("show({"))
        var headers = Self.ann
        headers["Content-Type"] = "text/plain"
        site.send("PUT", "/db/f/text", "words", headers)
        #expect(ask("/db/f/text?callback=show").text == "words")
        headers["Content-Type"] = "application/json"
        site.send("PUT", "/db/j/json", "{}", headers)
        #expect(ask("/db/j/json?callback=show").text == "{}")
    }

    @Test func `a listener for all programs of the machine calls no function of a page`() throws {
        let open = try TestSite()
        #expect(open.send("PUT", Self.key, #""true""#).status == 403)
        try open.router.site.configuration.set("chttpd", "allow_jsonp", to: "true", isKept: false)
        #expect(open.send("GET", "/_uuids?callback=show").json["uuids"] != nil)
    }
}
