// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanJavaScript
import DivanTestSupport
import Testing

@testable import DivanListener

/// `_show`: what a function makes of a document, and what becomes of it as an answer.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct ShowTests {
    /// A site with the document `a` and shows of some sources.
    private func site(_ shows: JSONObject) throws -> ScriptSite {
        let site = try ScriptSite(["shows": .object(shows)])
        try site.database.save(MutableDocument(["name": "Ann"], id: "a"))
        try site.database.save(MutableDocument(["name": "Bo"], id: "b/c"))
        return site
    }

    /// The answer of a show that returns an object.
    private func answer(_ object: String) throws -> TestAnswer {
        try site(["s": .string("function() { return \(object) }")]).get("_show/s")
    }

    @Test func `a text is the body, and a document is what the path names`() throws {
        let site = try site([
            "s": "function(doc, req) { return (doc ? doc.name : 'none') + ' ' + req.id }"
        ])
        #expect(site.get("_show/s/a").text == "Ann a")
        #expect(site.get("_show/s/b/c").text == "Bo b/c")
        #expect(site.get("_show/s/b%2Fc").text == "Bo b/c")
        #expect(site.get("_show/s").text == "none null")
        #expect(site.get("_show/s/zz").text == "none zz")
        let answer = site.get("_show/s/a")
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(answer.headers["Content-Security-Policy"] == "sandbox")
        #expect(answer.headers["Vary"] == "Accept")
    }

    @Test func `a show is told of the history and of conflicts`() throws {
        let site = try site(["s": "function(doc) { return {json: doc} }"])
        let revisions = ["1-a", "2-b"].map { RevisionID($0) }
        try site.database.putExistingRevision(
            "x", ["n": 1], history: [revisions[1], revisions[0]])
        try site.database.putExistingRevision("x", ["n": 2], history: ["1-c"])
        let document = site.get("_show/s/x").json
        #expect(document["_id"] == "x")
        #expect(document["_rev"] == "2-b")
        #expect(document["_revisions"] == ["start": 2, "ids": ["b", "a"]])
        #expect(document["_conflicts"] == ["1-c"])
        #expect(document["n"] == 1)
    }

    @Test func `each member of the response has its effect`() throws {
        let code = try answer("{code: 404, body: 'gone'}")
        #expect(code.status == 404)
        #expect(code.text == "gone")

        let json = try answer("{json: {a: [1]}, body: 'ignored'}")
        #expect(json.text == "{\"a\":[1]}\n")
        #expect(json.headers["Content-Type"] == "application/json")

        let bytes = try answer("{base64: 'AP8=', headers: {'content-type': 'image/x'}}")
        #expect(bytes.bytes == [0, 255])
        #expect(bytes.headers["Content-Type"] == "image/x")
        #expect(
            try answer("{base64: ''}").headers["Content-Type"] == "application/binary")

        let headers = try answer(
            "{headers: {'X-A': 'b', 'ETag': 'own', 'Access-Control-Allow-Origin': '*'}, stop: true}"
        )
        #expect(headers.headers["X-A"] == "b")
        #expect(headers.headers["ETag"] != "own")
        #expect(headers.headers["Access-Control-Allow-Origin"] == nil)
        #expect(headers.text.isEmpty)
        #expect(headers.headers["Content-Type"] == "application/json")

        #expect(try answer("null").status == 200)
        #expect(try answer("{code: 304, body: 'x'}").bytes.isEmpty)
    }

    @Test(arguments: [
        "{code: 99}", "{code: 1000}", "{code: '200'}", "{code: 200.5}", "{body: 1}",
        "{base64: '***'}", "{headers: 'a'}", "{headers: {a: 1}}", #"{headers: {a: 'x\r\nb: c'}}"#,
        #"{headers: {'a b': 'x'}}"#, #"{headers: {'a\nb': 'x'}}"#,
        "{headers: {'content-length': '5'}}", "{headers: {'Transfer-Encoding': 'x'}}",
        "{headers: {Connection: 'close'}}", "{headers: {Date: 'now'}}", "{stop: false}",
        "{foo: 1}", "{headers: {a: 'x'.repeat(10000)}}",
    ])
    func `a response that would be no answer is refused`(object: String) throws {
        let answer = try answer(object)
        #expect(answer.status == 500)
        #expect(answer.json["error"] == "external_response_error")
    }

    @Test func `what a show sends stands before what it returns`() throws {
        let answer = try answer(
            "(function() { start({headers: {'X-A': 'b'}}); send('x'); send(1); return 'y' })()")
        #expect(answer.text == "x1y")
        #expect(answer.headers["X-A"] == "b")
        let bare = try self.answer("(function() { start({'X-A': 'c'}); send('x') })()")
        #expect(bare.text == "x")
        #expect(bare.headers["X-A"] == "c")
    }

    @Test func `errors have the status that their names have`() throws {
        let site = try site([
            "throws": "function() { throw {error: 'not_found', reason: 'mine'} }",
            "list": "function() { throw ['error', 'forbidden', 'no'] }",
            "bug": "function(doc) { return doc.a.b }", "bad": "function( {", "none": "",
            "number": "function() { return 3 }", "array": "function() { return [1] }",
        ])
        func error(_ path: String, _ status: Int, _ name: String, _ reason: String? = nil) {
            let answer = site.get("_show/" + path)
            #expect(answer.status == status, "\(path)")
            #expect(answer.json["error"]?.string == name, "\(path)")
            if let reason { #expect(answer.json["reason"]?.string == reason, "\(path)") }
        }
        error("throws", 404, "not_found", "mine")
        error("list", 403, "forbidden", "no")
        error("bug", 500, "render_error")
        error("bug/zz", 404, "not_found", "document not found")
        error("bad", 500, "compilation_error")
        error("none", 404, "not_found", "missing function")
        error("number", 500, "render_error")
        error("array", 500, "render_error", "undefined response from show function")
        error("other", 404, "not_found", "missing json key: other")
        #expect(site.get("_show").json["error"] == "show_error")
        #expect(site.get("_show").status == 404)
        #expect(
            site.site.send("GET", "/db/_design/zz/_show/s").json["reason"] == "missing")
        try site.add(["views": [:]])
        error("bug", 404, "not_found", "missing json key: shows")
    }

    @Test func `the client's Accept chooses what is provided`() throws {
        let site = try site([
            "s": """
            function() {
                provides('html', function() { return '<p>' });
                provides('json', function() { return {json: 1} });
                provides('xml', function() { return '<a/>' });
            }
            """
        ])
        let html = site.get("_show/s", ["Accept": "text/html, application/xml;q=0.5"])
        #expect(html.text == "<p>")
        #expect(html.headers["Content-Type"] == "text/html; charset=utf-8")
        let xml = site.get("_show/s", ["Accept": "application/xml"])
        #expect(xml.text == "<a/>")
        #expect(xml.headers["Content-Type"] == "application/xml")
        #expect(html.headers["ETag"] != xml.headers["ETag"])
        #expect(site.get("_show/s").text == "<p>")
        #expect(site.get("_show/s?format=xml").text == "<a/>")
        // No other route answers with this type, but a show may.
        let refused = site.get("_show/s", ["Accept": "image/png"])
        #expect(refused.status == 406)
        #expect(refused.json["error"] == "not_acceptable")
    }

    @Test func `a client that has the answer gets 304 and no function runs`() throws {
        let site = try site(["s": "function(doc, req) { return req.uuid }"])
        let first = site.get("_show/s/a")
        let tag = try #require(first.headers["ETag"])
        #expect(site.get("_show/s/a").headers["ETag"] == tag)
        let same = site.get("_show/s/a", ["If-None-Match": "\"x\", W/\(tag)"])
        #expect(same.status == 304)
        #expect(same.bytes.isEmpty)
        #expect(same.headers["ETag"] == tag)
        #expect(site.get("_show/s/a", ["If-None-Match": tag, "Accept": "a/b"]).status == 200)
        let document = try #require(try site.database.document(withID: "a"))
        try site.database.putExistingRevision(
            "a", [:], history: ["2-x", document.revisionID])
        #expect(site.get("_show/s/a", ["If-None-Match": tag]).status == 200)
        try site.add(["shows": ["s": "function() { return 'new' }"]])
        #expect(site.get("_show/s/b/c", ["If-None-Match": tag]).text == "new")
    }

    @Test func `the request is told, without what shows who the client is`() throws {
        let site = try site(["s": "function(doc, req) { return {json: req} }"])
        let answer = site.send(
            "POST", "_show/s/a?x=1&key=%5B2%5D", "f=1+2&g=%C3%A4",
            [
                "Content-Type": "application/x-www-form-urlencoded", "Authorization": "Basic eDp5",
                "Cookie": "a=b", "x-own": "1",
            ]
        ).json
        #expect(answer["method"] == "POST")
        #expect(answer["path"] == ["db", "_design", "d", "_show", "s", "a"])
        #expect(answer["raw_path"] == "/db/_design/d/_show/s/a?x=1&key=%5B2%5D")
        #expect(answer["query"] == ["x": "1", "key": [2]])
        #expect(answer["body"] == "f=1+2&g=%C3%A4")
        #expect(answer["form"] == ["f": "1 2", "g": "ä"])
        #expect(answer["id"] == "a")
        #expect(answer["info"]?["db_name"] == "db")
        #expect(answer["cookie"] == [:])
        #expect(answer["userCtx"]?["roles"] == ["_admin"])
        #expect(answer["headers"]?["X-Own"] == "1")
        #expect(answer["headers"]?["Authorization"] == nil)
        #expect(answer["headers"]?["Cookie"] == nil)
        #expect(site.get("_show/s").json["body"] == "undefined")
        #expect(site.get("_show/s?key=%5B").status == 400)
        // Bytes that are no text are replaced.
        let bytes = site.site.send("PUT", "/db/_design/d/_show/s", [0x61, 0xFF])
        #expect(bytes.json["body"] == "a\u{FFFD}")
    }

    @Test func `a body that is too long is refused`() throws {
        let site = try ScriptSite(["shows": ["s": "function() { return 'x' }"]]) {
            $0.limits.jsonBody = 100
        }
        #expect(site.send("POST", "_show/s", String(repeating: "a", count: 100)).status == 200)
        #expect(site.send("POST", "_show/s", String(repeating: "a", count: 101)).status == 413)
    }

    @Test func `a document that the user may not read is as one that is not there`() throws {
        let site = try ScriptSite(["shows": ["s": "function(doc) { return {json: doc} }"]]) {
            $0.authorization.reading = { !$2.id.text.contains("hidden") }
        }
        try site.database.save(MutableDocument(["n": 1], id: "hidden"))
        #expect(site.get("_show/s/hidden").text == site.get("_show/s/zz").text)
        #expect(
            site.get("_show/s/hidden").headers["ETag"] == site.get("_show/s/zz").headers["ETag"])
    }

    @Test func `a show that loops is ended, and the next one runs`() throws {
        var limits = JavaScriptLimits()
        limits.time = .seconds(1)
        let site = try ScriptSite(
            [
                "shows": [
                    "loop": "function() { while (true) {} }", "s": "function() { return 'x' }",
                ]
            ],
            limits: limits)
        let answer = site.get("_show/loop")
        #expect(answer.status == 500)
        #expect(answer.json["error"] == "os_process_error")
        // On a busy machine a function that does end may run out of its time, too, and is asked again.
        eventually { site.get("_show/s").text == "x" }
    }

    @Test func `HEAD runs the function as GET does`() throws {
        let site = try site(["s": "function(doc, req) { return {headers: {M: req.method}} }"])
        #expect(site.send("HEAD", "_show/s").headers["M"] == "GET")
    }
}

/// Functions of design documents where nothing runs them.
@Suite struct UnrunFunctionTests {
    /// The design document whose turn a request waits for, and whether it may write; nil where it waits with other requests.
    private func turn(
        _ method: String, _ target: String, in site: TestSite
    ) -> (design: String, isWrite: Bool)? {
        let request = ListenerRequest(RequestHead(method: method, target: target))
        guard case .scripted("db", let design, let isWrite) = site.router.lane(request) else {
            return nil
        }
        return (design, isWrite)
    }

    @Test func `a function keeps no other request waiting`() throws {
        let site = try TestSite { $0.scripts = [PathRuntime()] }
        for path in ["_show/s", "_show/s/a", "_list/s/v", "_list/s/o/v?limit=1", "_view/v"] {
            let turn = turn("GET", "/db/_design/d/" + path, in: site)
            #expect(turn?.design == "d", "\(path)")
            #expect(turn?.isWrite == false, "\(path)")
        }
        #expect(turn("POST", "/db/_design%2Fd/_update/s", in: site)?.isWrite == true)
        #expect(turn("GET", "/db/_design/d/_rewrite/a/b", in: site)?.isWrite == true)
        for target in ["/db/_design/d/a.txt", "/db/a/b/c/d/e", "/db/_all_docs"] {
            #expect(turn("GET", target, in: site) == nil, "\(target)")
        }
        let plain = try TestSite()
        #expect(turn("GET", "/db/_design/d/_view/v", in: plain) == nil)
    }

    @Test func `what needs a script is not implemented`() throws {
        let site = try TestSite()
        site.send("PUT", "/db")
        site.send(
            "PUT", "/db/_design/d",
            #"{"shows":{"s":"x"},"lists":{"s":"x"},"updates":{"s":"x"},"rewrites":"x"}"#)
        for path in [
            "_show/s", "_show/s/a", "_show", "_list/s/v", "_list", "_update", "_rewrite/a",
        ] {
            #expect(site.send("GET", "/db/_design/d/" + path).status == 501, "\(path)")
        }
        for path in ["_update/s", "_update/s/a"] {
            let answer = site.send("PUT", "/db/_design/d/" + path)
            #expect(answer.status == 501, "\(path)")
            #expect(answer.json["error"] == "not_implemented")
        }
    }
}
