// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// Design documents of `_users`, for the admins whom its `_security` names, for its users, and for clients without a name.
///
/// `root` is the administrator; `boss` is an admin of `_users` by name, `chief` by a role; `joe` and `sue` are users.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct UsersAdminTests {
    private static func basic(_ user: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array(user.utf8))]
    }

    private static let design = #"""
        {"views":{"names":{"map":"function (d) { emit(d.name, null); }"}},
         "lists":{"l":"function (h, r) { while (getRow()) {} return 'end'; }"},
         "shows":{"s":"function (d, r) { return {json: {name: d && d.name}}; }"}}
        """#

    private let scripts: ScriptSite
    private var site: TestSite { scripts.site }
    private let root = basic("root:secret")

    init() throws {
        scripts = try ScriptSite([:]) { $0.access = .users(["root": "secret"]) }
        for (name, roles) in [("boss", ""), ("chief", #""chiefs""#), ("joe", ""), ("sue", "")] {
            let body = #"{"name":"\#(name)","type":"user","roles":[\#(roles)],"password":"pw"}"#
            #expect(site.send("PUT", path(name), body, root).status == 201)
        }
        #expect(site.send("PUT", "/_users/_design/x", Self.design, root).status == 201)
        site.send(
            "PUT", "/_node/_local/_config/couchdb/users_db_security_editable", #""true""#, root)
    }

    private func open() {
        let security =
            #"{"admins":{"names":["boss"],"roles":["chiefs"]},"members":{"names":[],"roles":[]}}"#
        #expect(site.send("PUT", "/_users/_security", security, root).status == 200)
    }

    private func path(_ name: String) -> String { "/_users/org.couchdb.user:\(name)" }

    private func status(_ path: String, _ user: String?) -> Int {
        site.send("GET", path, "", user.map { Self.basic($0 + ":pw") } ?? [:]).status
    }

    private static let reads = [
        "/_users/_design/x", "/_users/_design/x/_view/names", "/_users/_design/x/_list/l/names",
        "/_users/_design/x/_info", "/_users/_design/x/_show/s/org.couchdb.user:sue",
        "/_users/org.couchdb.user:sue", "/_users/_design/_auth",
    ]

    @Test(arguments: ["boss", "chief"])
    func `admins of the database read its design documents and every account`(name: String) {
        for read in Self.reads {
            #expect(status(read, name) == 403 || status(read, name) == 404, "\(read)")
        }
        open()
        for read in Self.reads { #expect(status(read, name) == 200, "\(read)") }
        #expect(site.send("GET", path("sue"), "", Self.basic(name + ":pw")).json["name"] == "sue")
        #expect(status(path("none"), name) == 404)
        for list in ["_all_docs", "_changes"] { #expect(status("/_users/" + list, name) == 401) }
    }

    @Test func `a user reads neither, but has a function show the own account`() {
        open()
        for read in Self.reads { #expect([403, 404].contains(status(read, "joe")), "\(read)") }
        let show = "/_users/_design/x/_show/s"
        let own = site.send("GET", show + "/org.couchdb.user:joe", "", Self.basic("joe:pw"))
        #expect(own.status == 200 && own.json["name"] == "joe")
        #expect(status(show + "/org.couchdb.user:sue", "joe") == 404)
        #expect(status(show + "/_design%2Fx", "joe") == 403)
        #expect(status(show, "joe") == 403)
        #expect(status(show + "/org.couchdb.user:joe", nil) == 401)
    }

    @Test func `a view is forbidden to a client without a name where such clients are let in`() {
        let view = "/_users/_design/x/_view/names"
        #expect(status(view, nil) == 401)
        open()
        let answer = site.send("GET", view)
        #expect(answer.status == 403 && answer.json["error"] == "forbidden")
        #expect(status("/_users/_design/x/_list/l/names", nil) == 403)
        #expect(status("/db/_design/d/_view/names", nil) == 401)
    }
}
