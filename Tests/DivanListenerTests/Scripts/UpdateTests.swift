// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// `_update`: what a function returns is saved as the user's own edit.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct UpdateTests {
    private static let updates: JSONValue = [
        "set": """
        function(doc, req) {
            if (!doc) return [{_id: req.id || 'made', text: req.body}, 'made'];
            doc.text = req.body;
            return [doc, {body: 'changed', headers: {'X-A': 'b'}}];
        }
        """,
        "remove": "function(doc) { doc._deleted = true; return [doc, 'removed'] }",
        "nothing": "function(doc) { return [null, {json: {doc: doc}}] }",
        "code": "function(doc, req) { return [{_id: 'c'}, {code: 299, body: 'x'}] }",
        "stale": "function(doc) { doc._rev = '1-0'; return [doc, 'x'] }",
        "forbidden": "function(doc, req) { return [{_id: 'x', bad: true}, 'x'] }",
        "noID": "function() { return [{}, 'x'] }",
        "badID": "function() { return [{_id: '_x'}, 'x'] }",
        "badMember": "function() { return [{_id: 'x', _foo: 1}, 'x'] }",
        "local": "function() { return [{_id: '_local/x'}, 'x'] }",
        "design": "function() { return [{_id: '_design/x'}, 'x'] }",
        "noArray": "function() { return 3 }",
        "noResponse": "function(doc) { return [{_id: 'x'}] }",
        "badResponse": "function(doc) { return [{_id: 'x'}, {foo: 1}] }",
    ]

    private func site(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> ScriptSite {
        try ScriptSite(
            [
                "updates": Self.updates,
                "validate_doc_update": "function(doc) { if (doc.bad) throw {forbidden: 'bad'} }",
            ], edit)
    }

    @Test func `an update makes, changes and deletes a document`() throws {
        let site = try site()
        let made = site.send("PUT", "_update/set/a", "one")
        #expect(made.status == 201)
        #expect(made.text == "made")
        #expect(made.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(made.headers["X-Couch-Id"] == "a")
        let document = try #require(try site.database.document(withID: "a"))
        #expect(document["text"].string == "one")
        #expect(made.headers["X-Couch-Update-NewRev"] == document.revisionID.description)

        let changed = site.send("POST", "_update/set/a", "two")
        #expect(changed.status == 201)
        #expect(changed.text == "changed")
        #expect(changed.headers["X-A"] == "b")
        #expect(try site.database.document(withID: "a")?["text"].string == "two")
        // What a script is told beside the document is not saved.
        #expect(try site.database.document(withID: "a")?.body.keys == ["text"])

        #expect(site.send("POST", "_update/remove/a").status == 201)
        #expect(try site.database.document(withID: "a") == nil)

        #expect(site.send("POST", "_update/set").headers["X-Couch-Id"] == "made")
        #expect(site.send("POST", "_update/set/x/%C3%A4").headers["X-Couch-Id"] == "x%2F%C3%A4")
    }

    @Test func `without a document nothing is saved`() throws {
        let site = try site()
        let answer = site.send("POST", "_update/nothing/zz")
        #expect(answer.status == 200)
        #expect(answer.json == ["doc": .null])
        #expect(answer.headers["X-Couch-Id"] == nil)
        #expect(try site.database.documentCount == 1)
        #expect(site.send("POST", "_update/code").status == 299)
    }

    @Test(arguments: [
        ("stale/a", 409, "conflict"), ("forbidden", 403, "forbidden"),
        ("noID", 400, "illegal_docid"), ("badID", 400, "illegal_docid"),
        ("badMember", 400, "doc_validation"), ("local", 400, "illegal_docid"),
        ("noArray", 500, "render_error"), ("noResponse", 500, "render_error"),
        ("badResponse", 500, "external_response_error"), ("other", 404, "not_found"),
        ("", 404, "update_error"),
    ])
    func `an update that may not be saved is refused`(path: String, status: Int, error: String)
        throws
    {
        let site = try site()
        site.send("PUT", "_update/set/a", "one")
        let sequence = try site.database.lastSequence
        let answer = site.send("POST", "_update/" + path)
        #expect(answer.status == status)
        #expect(answer.json["error"]?.string == error)
        #expect(try site.database.lastSequence == sequence)
    }

    @Test func `GET does not update`() throws {
        let site = try site()
        for method in ["GET", "HEAD"] {
            let answer = site.send(method, "_update/set/a")
            #expect(answer.status == 405)
            #expect(answer.json["error"] == "method_not_allowed")
        }
        #expect(try site.database.document(withID: "a") == nil)
    }

    @Test func `a listener that only reads refuses updates`() throws {
        let site = try site { $0.readOnly = true }
        #expect(site.send("PUT", "_update/set/a", "one").status == 403)
        #expect(try site.database.document(withID: "a") == nil)
    }

    @Test func `an update is not told of a document that the user may not read`() throws {
        let site = try site { $0.authorization.reading = { $2.id != "hidden" } }
        try site.database.save(MutableDocument(["n": 1], id: "hidden"))
        #expect(site.send("POST", "_update/nothing/hidden").json == ["doc": .null])
        // A user who makes it learns that its ID is taken, as by a PUT.
        #expect(site.send("POST", "_update/set/hidden", "x").status == 409)
        #expect(try site.database.document(withID: "hidden")?["n"].int == 1)
    }

    @Test func `an update may do no more than its user`() throws {
        let site = try site { options in
            options.access = .users(["root": "r"])
            options.authorization.writing = { $0.isAdmin || $2.documentID != "mine" }
        }
        try site.addAnn()
        let ann: HTTPHeaders = ["Authorization": "Basic YW5uOmE="]
        let root: HTTPHeaders = ["Authorization": "Basic cm9vdDpy"]
        #expect(site.send("PUT", "_update/set/a").status == 401)
        #expect(site.send("PUT", "_update/set/a", "x", ann).status == 201)
        #expect(site.send("PUT", "_update/set/mine", "x", ann).status == 403)
        #expect(site.send("PUT", "_update/design", "x", ann).status == 403)
        #expect(site.send("PUT", "_update/set/mine", "x", root).status == 201)
        #expect(site.send("PUT", "_update/design", "x", root).status == 201)
    }
}
