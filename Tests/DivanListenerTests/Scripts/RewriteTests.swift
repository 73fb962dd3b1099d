// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// `_rewrite` by an array of rules, which no script runs.
@Suite struct RewriteTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
        for n in 1...5 {
            try database.save(MutableDocument(["n": .integer(Int64(n))], id: "d\(n)"))
        }
        database.view(named: "d/byN").setMap(version: "1") { document, emit in
            emit(document["n"], nil)
        }
        database.view(named: "d/byPair").setMap(version: "1") { document, emit in
            emit(["n", document["n"]], nil)
        }
    }

    private func save(_ rules: JSONValue) throws {
        let current = try database.document(withID: "_design/d")
        _ = try database.put("_design/d", ["rewrites": rules], parent: current?.revisionID)
    }

    private func send(
        _ method: String, _ path: String, _ body: String = "", _ headers: HTTPHeaders = [:]
    ) -> TestAnswer {
        site.send(method, "/db/_design/d/_rewrite" + path, body, headers)
    }

    private func get(_ path: String) -> TestAnswer { send("GET", path) }

    private func keys(_ path: String) -> JSONValue {
        .array((get(path).json["rows"]?.array ?? []).map { $0["key"] ?? .null })
    }

    @Test func `the first rule that fits says where a request goes`() throws {
        try save([
            ["from": "people/:id", "to": "../../:id"],
            ["from": "/only/put", "to": "../../d1", "method": "PUT"],
            ["from": "only/*", "to": "../../d2"],
            ["from": "", "to": "_view/byN"],
            ["from": "dots/:id", "to": "/./../..//:id"],
            ["from": "all/*", "to": "../../*"],
            ["from": "*/end", "to": "../../d4"],
            ["to": "../../d5"],
        ])
        #expect(get("/people/d3").json["n"] == 3)
        #expect(get("/only/put").json["n"] == 2)
        #expect(get("/only/a/b").json["n"] == 2)
        #expect(get("").json["total_rows"] == 5)
        #expect(get("/").json["total_rows"] == 5)
        #expect(get("/dots/d1").json["n"] == 1)
        #expect(get("/all/d1").json["n"] == 1)
        #expect(get("/all").json["db_name"] == "db")
        #expect(get("/all/_design/d").json["_id"] == "_design/d")
        #expect(get("/x/end").json["n"] == 4)
        #expect(get("/x/y").json["n"] == 5)
        #expect(get("/people/d3?rev=1-x").status == 404)
        try save([["from": "a", "to": "b"]])
        let none = get("/x")
        #expect(none.status == 404)
        #expect(none.json["reason"] == "missing")
    }

    @Test func `variables become parts of the path and parameters`() throws {
        try save([
            [
                "from": "range/:start/:end", "to": "_view/byN",
                "query": ["startkey": ":start", "endkey": ":end"],
                "formats": ["start": "int", "end": "int"],
            ],
            ["from": "fixed", "to": "_view/byN", "query": ["startkey": 4, "limit": "1"]],
            [
                "from": "pair/:n", "to": "_view/byPair", "query": ["key": ["n", ":n"]],
                "formats": ["n": "int"],
            ],
            ["from": "text/:key", "to": "_view/byN"],
            [
                "from": "docs/:with", "to": "_view/byN", "query": ["include_docs": ":with"],
                "formats": ["with": "bool"],
            ],
            ["from": "star/*/x", "to": "../../:id", "query": ["id": "*"]],
            ["from": "unbound", "to": "../../:nothing"],
            ["from": "plain", "to": "_view/byN"],
        ])
        #expect(keys("/range/2/4") == [2, 3, 4])
        #expect(keys("/range/2/4?limit=1") == [2])
        #expect(keys("/fixed?startkey=1") == [4])
        #expect(keys("/pair/3") == [["n", 3]])
        #expect(keys("/text/3") == [])
        #expect(keys("/plain?startkey=4") == [4, 5])
        #expect(keys("/plain?keys=%5B2,1%5D") == [2, 1])
        #expect(get("/plain?startkey=%5B").status == 400)
        #expect(get("/docs/TRUE").json["rows"]?[0]?["doc"]?["n"] == 1)
        #expect(get("/docs/1").status == 400)
        #expect(get("/star/d2/x").json["n"] == 2)
        #expect(get("/unbound").json["reason"] == "missing")
    }

    @Test func `rules lead out of the database where that is configured, and only to read`() throws
    {
        try save([
            ["from": "uuids", "to": "../../../_uuids"],
            ["from": "far/*", "to": "../../../../../*"],
        ])
        #expect(get("/uuids").json["error"] == "insecure_rewrite_rule")
        site.send("PUT", "/_node/_local/_config/chttpd/secure_rewrites", #""false""#)
        #expect(get("/uuids").json["uuids"]?.array?.count == 1)
        // Above the root is the root.
        #expect(get("/far/db/d1").json["n"] == 1)
        #expect(send("PUT", "/far/new").json["error"] == "insecure_rewrite_rule")
        #expect(site.send("GET", "/new").status == 404)
        #expect(send("PUT", "/far/db/new", "{}").status == 201)
        site.send("PUT", "/_node/_local/_config/chttpd/secure_rewrites", #""true""#)
        #expect(get("/uuids").json["error"] == "insecure_rewrite_rule")
    }

    @Test func `a name that a client writes is a name and leads nowhere else`() throws {
        _ = try site.manager.database(named: "other")
        try save([["from": "x/:id", "to": "../../:id"], ["from": "all/*", "to": "../../*"]])
        #expect(get("/all/../other").status == 404)
        #expect(get("/all/..%2Fother").status == 404)
        #expect(get("/x/..").status == 404)
        try database.save(MutableDocument(["n": 9], id: "a/b ä"))
        #expect(get("/x/a%2Fb%20%C3%A4").json["n"] == 9)
    }

    @Test(
        arguments: [
            (["from": "uuids", "to": "../../../_uuids"], "insecure_rewrite_rule"),
            (["from": "../../..", "to": "x"], "insecure_rewrite_rule"),
            (["from": "a"], "error"), ("x", "rewrite_error"), (["to": 1], "rewrite_error"),
        ] as [(JSONValue, String)])
    func `a wrong rule is told whichever fits`(rule: JSONValue, error: String) throws {
        try save([["from": "ok", "to": "../../d1"], rule])
        let answer = get("/ok")
        #expect(answer.status == 500)
        #expect(answer.json["error"]?.string == error)
    }

    @Test func `a method, a body and header fields go along`() throws {
        try save([
            ["from": "doc/:id", "to": "../../:id"], ["from": "find", "to": "../../_find"],
        ])
        #expect(send("PUT", "/doc/new", #"{"a":1}"#).status == 201)
        #expect(get("/doc/new").json["a"] == 1)
        #expect(send("HEAD", "/doc/new").status == 200)
        #expect(send("PUT", "/doc/new", "{}").status == 409)
        let tag = try #require(get("/doc/new").headers["ETag"])
        #expect(send("GET", "/doc/new", "", ["If-None-Match": tag]).status == 304)
        #expect(send("DELETE", "/doc/new", "", ["If-Match": tag]).status == 200)
        let found = send(
            "POST", "/find", #"{"selector":{"n":{"$gt":3}}}"#, ["Content-Type": "application/json"])
        #expect(found.json["docs"]?.array?.count == 2)
    }

    @Test func `a circle ends`() throws {
        try save([
            ["from": "loop", "to": "_rewrite/loop"],
            ["from": "step/:n", "to": "_rewrite/last"], ["from": "last", "to": "../../d1"],
        ])
        let answer = get("/loop")
        #expect(answer.status == 400)
        #expect(answer.json["reason"] == "Exceeded rewrite recursion limit")
        #expect(get("/step/1").json["n"] == 1)
    }

    @Test func `a rule that doubles a parameter is refused before it is longer than a head may be`()
        throws
    {
        try save([["from": "x", "to": "_rewrite/x", "query": ["key": [":key", ":key"]]]])
        let doubled = get("/x?key=1")
        #expect(doubled.status == 431)
        #expect(doubled.json["error"] == "header_too_large")
        // At once as much as the design document is long, in the path, the query or by other names.
        let long = String(repeating: "1", count: 5_000)
        for rule in [
            ["from": "x", "to": .string(String(repeating: "/:key", count: 1_000))],
            [
                "from": "x", "to": "../..",
                "query": ["key": .array(Array(repeating: ":key", count: 1_000))],
            ],
            [
                "from": "x", "to": "../..",
                "query": .object(JSONObject((0..<1_000).map { ("p\($0)", ":key") })),
            ],
        ] as [JSONValue] {
            try save([rule])
            #expect(get("/x?key=\(long)").status == 431)
        }
        try save([["from": "x", "to": "_view/byN", "query": ["key": ":key", "keys": [":key"]]]])
        #expect(get("/x?key=\(long)").status != 431)
    }

    @Test func `without rewrites there is nothing to follow`() throws {
        _ = try database.put("_design/d", ["views": [:]], parent: nil)
        let answer = get("/a")
        #expect(answer.status == 404)
        #expect(answer.json["error"] == "rewrite_error")
        #expect(site.send("GET", "/db/_design/zz/_rewrite/a").json["reason"] == "missing")
        #expect(site.send("GET", "/zz/_design/zz/_rewrite/a").status == 404)
    }

    @Test func `what a request becomes is allowed for itself`() throws {
        let site = try TestSite { $0.readOnly = true }
        let database = try site.manager.database(named: "db")
        try database.save(MutableDocument(["n": 1], id: "a"))
        _ = try database.put(
            "_design/d", ["rewrites": [["from": "*", "to": "../../*"]]], parent: nil)
        #expect(site.send("GET", "/db/_design/d/_rewrite/a").status == 200)
        #expect(site.send("PUT", "/db/_design/d/_rewrite/b", "{}").status == 403)
    }

    @Test func `a user is the same behind a rewriting`() throws {
        let site = try TestSite { $0.access = .users(["root": "r"]) }
        let database = try site.manager.database(named: "db")
        _ = try database.put(
            "_design/d", ["rewrites": [["from": "*", "to": "../../*"]]], parent: nil)
        let root: HTTPHeaders = ["Authorization": "Basic cm9vdDpy"]
        #expect(site.send("GET", "/db/_design/d/_rewrite/_security").status == 401)
        #expect(site.send("PUT", "/db/_design/d/_rewrite/_security", "{}", root).status == 200)
    }
}
