// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// `_rewrite` by a function.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct RewriteFunctionTests {
    /// A site whose function has this body, and which has the document `a`.
    private func site(
        _ body: String, _ edit: (inout ListenerOptions) -> Void = { _ in }
    ) throws -> ScriptSite {
        let site = try ScriptSite(
            [
                "rewrites": .string("function(req) { \(body) }"),
                "shows": ["s": "function(doc, req) { return {json: req} }"],
            ], edit)
        try site.database.save(MutableDocument(["n": 1], id: "a"))
        return site
    }

    @Test func `a text is a path, seen from the design document`() throws {
        let site = try site("return req.path.slice(4).join('/')")
        #expect(site.get("_rewrite/_show/s?x=1").json["query"] == ["x": "1"])
        #expect(site.get("_rewrite/../../a").json["n"] == 1)
        #expect(site.get("_rewrite/..//./../a").json["n"] == 1)
        #expect(site.get("_rewrite").json["error"] == "rewrite_error")
        #expect(site.get("_rewrite").status == 404)
    }

    @Test func `an object changes what the request is`() throws {
        let site = try site(
            """
            return {path: '_show/s/x%20y', method: 'PUT', query: {q: 'a b', key: '1'},
                headers: {'X-A': 'b', Authorization: 'Basic x'}, body: 'own'}
            """)
        let request = site.send("POST", "_rewrite/z?old=1", "body", ["X-Old": "c"]).json
        #expect(request["method"] == "PUT")
        #expect(request["id"] == "x y")
        #expect(request["query"] == ["q": "a b", "key": 1])
        #expect(request["body"] == "own")
        #expect(request["headers"]?["X-A"] == "b")
        #expect(request["headers"]?["X-Old"] == "c")
        #expect(request["raw_path"]?.string?.contains("_show/s/x%20y") == true)
    }

    @Test func `what an object does not say stays as it was`() throws {
        let site = try site("return {path: '_show/s'}")
        let request = site.send("POST", "_rewrite/z?old=1", "body").json
        #expect(request["method"] == "POST")
        #expect(request["query"] == ["old": "1"])
        #expect(request["body"] == "body")
        let inPath = try self.site("return {path: '_show/s?new=2'}")
        #expect(inPath.get("_rewrite?old=1").json["query"] == ["new": "2"])
    }

    @Test func `a function may answer itself`() throws {
        let site = try site("return {code: +req.query.code, body: 'b', headers: {'X-A': 'c'}}")
        let answer = site.get("_rewrite?code=451")
        #expect(answer.status == 451)
        #expect(answer.text == "b")
        #expect(answer.headers["X-A"] == "c")
        #expect(site.get("_rewrite?code=999").json["reason"] == "bad code")
    }

    @Test(arguments: [
        ("return 3", "bad rewrite"), ("return [1]", "bad rewrite"),
        ("return {}", "Rewrite result must produce a new path."),
        ("return {path: 1}", "bad path"), ("return {path: '%'}", "bad path"),
        ("return {path: '../../../../x'}", "bad path"),
        ("return {path: 'a', method: 1}", "bad method"),
        ("return {path: 'a', method: 'A B'}", "bad method"),
        ("return {path: 'a', body: {}}", "bad body"),
        ("return {path: 'a', headers: 1}", "bad headers"),
        (#"return {path: 'a', headers: {a: 'b\nc'}}"#, "bad headers"),
        ("return {path: 'a', query: 1}", "bad query"),
        ("return {path: 'a', query: {a: 1}}", "object key/value must be strings k=v"),
        ("return {code: 200, body: 1}", "bad body"),
        ("return {code: 200, headers: {Date: 'x'}}", "bad headers"),
    ])
    func `a result that is none is refused`(body: String, reason: String) throws {
        let answer = try site(body).get("_rewrite/x")
        #expect(answer.status == 500)
        #expect(answer.json["error"] == "rewrite_error")
        #expect(answer.json["reason"]?.string == reason)
    }

    @Test func `errors have the status that their names have`() throws {
        let thrown = try site("throw {error: 'forbidden', reason: 'no'}").get("_rewrite")
        #expect(thrown.status == 403)
        let bug = try site("null.x").get("_rewrite")
        #expect(bug.status == 500)
        #expect(try site(") {").get("_rewrite").json["error"] == "compilation_error")
    }

    @Test func `a circle ends`() throws {
        let answer = try site("return '_rewrite/loop'").get("_rewrite/loop")
        #expect(answer.status == 400)
        #expect(answer.json["reason"] == "Exceeded rewrite recursion limit")
    }

    @Test func `a function leads out of its database only to read`() throws {
        let site = try site(
            "return {path: '../../../other/' + req.query.id, method: req.query.method}")
        let other = try site.site.manager.database(named: "other")
        try other.save(MutableDocument(["n": 2], id: "b"))
        #expect(site.get("_rewrite?id=b&method=GET").json["n"] == 2)
        let put = site.send("PUT", "_rewrite?id=c&method=PUT", "{}")
        #expect(put.status == 500)
        #expect(put.json["error"] == "insecure_rewrite_rule")
        #expect(try other.documentCount == 1)
    }

    @Test func `a request that reads becomes only one that reads`() throws {
        let site = try site(
            "return {path: req.query.path, method: req.query.method, body: '{}', "
                + "headers: {'Content-Type': 'application/json'}}")
        for (path, method) in [
            ("../../c", "PUT"), ("../../_bulk_docs", "POST"), ("../../_security", "PUT"),
            ("_rewrite/x", "POST"), ("_update/u", "POST"), ("../..", "DELETE"),
        ] {
            let answer = site.get("_rewrite?path=\(path)&method=\(method)")
            #expect(answer.json["error"] == "insecure_rewrite_rule", "\(method) \(path)")
        }
        #expect(site.get("_rewrite?path=../../_all_docs&method=POST").status == 200)
    }

    @Test func `who may not read the other database does not by a rewriting`() throws {
        let site = try site("return '../../../_all_dbs'") { $0.access = .users(["root": "r"]) }
        try site.addAnn()
        #expect(site.get("_rewrite", ["Authorization": "Basic YW5uOmE="]).status == 401)
        #expect(site.get("_rewrite", ["Authorization": "Basic cm9vdDpy"]).status == 200)
    }
}
