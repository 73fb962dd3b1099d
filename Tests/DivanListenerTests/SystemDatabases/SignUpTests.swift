// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// Accounts that clients without a name make, and the design document of the users.
@Suite struct SignUpTests {
    private static func basic(_ user: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array(user.utf8))]
    }

    private let site: TestSite
    private let ann = basic("ann:secret")

    init() throws {
        site = try TestSite { $0.access = .users(["ann": "secret"]) }
        site.send("PUT", "/_users", "", ann)
    }

    private func set(_ path: String, _ text: String) {
        site.send(
            "PUT", "/_node/_local/_config/" + path, JSONValue.string(text).description, ann)
    }

    /// Has clients sign up, as it is done in CouchDB.
    private func open() {
        set("couchdb/users_db_security_editable", "true")
        let security = #"{"admins":{"roles":["_admin"]},"members":{"names":[],"roles":[]}}"#
        #expect(site.send("PUT", "/_users/_security", security, ann).status == 200)
    }

    private func signUp(
        _ name: String, roles: String = "[]", _ more: String = "", _ query: String = ""
    ) -> TestAnswer {
        site.send(
            "PUT", "/_users/org.couchdb.user:\(name)\(query)",
            #"{"name":"\#(name)","type":"user","roles":\#(roles),"password":"pw"\#(more)}"#)
    }

    @Test func `a client signs up where clients may, and then signs in`() throws {
        open()
        let answer = signUp("joe")
        #expect(answer.status == 201 && answer.json["id"] == "org.couchdb.user:joe")
        let joe = Self.basic("joe:pw")
        #expect(site.send("GET", "/_session", "", joe).json["userCtx"]?["name"] == "joe")
        let document = site.send("GET", "/_users/org.couchdb.user:joe", "", joe)
        #expect(document.status == 200 && document.json["password"] == nil)
    }

    @Test func `users read the public properties of other accounts, and no more`() throws {
        open()
        let members = #"{"members":{"roles":["staff"]}}"#
        #expect(signUp("joe").status == 201)
        let path = "/_users/org.couchdb.user:joe"
        let (sue, joe) = (Self.basic("sue:pw"), Self.basic("joe:pw"))
        for (name, more) in [("sue", ""), ("tim", #","site":"t.example","secret":1"#)] {
            site.send(
                "PUT", "/_users/org.couchdb.user:\(name)",
                #"{"name":"\#(name)","type":"user","roles":["staff"],"password":"pw"\#(more)}"#, ann
            )
        }
        #expect(site.send("PUT", "/_users/_security", members, ann).status == 200)
        let tim = "/_users/org.couchdb.user:tim"
        // Both keys must be set.
        #expect(site.send("GET", tim, "", sue).status == 404)
        set("chttpd_auth/public_fields", "name, site, derived_key, _attachments")
        #expect(site.send("GET", tim, "", sue).status == 404)
        set("chttpd_auth/users_db_public", "true")
        let seen = site.send("GET", tim + "?revs=true&conflicts=true&attachments=true", "", sue)
        #expect(seen.status == 200)
        let body = seen.json.object ?? [:]
        #expect(body.keys.sorted() == ["_id", "_rev", "name", "site"])
        #expect(body["site"] == "t.example")
        let revision = body["_rev"]?.string ?? ""
        #expect(seen.headers["ETag"] == "\"\(revision)\"")
        #expect(site.send("GET", tim + "?rev=\(revision)", "", sue).status == 200)
        #expect(
            site.send("GET", tim + "?rev=1-00000000000000000000000000000000", "", sue).status == 404
        )
        #expect(site.send("GET", tim + "?open_revs=all", "", sue).status == 404)
        // The own account is seen whole; the rest stays for administrators.
        let own = site.send("GET", "/_users/org.couchdb.user:sue", "", sue).json
        #expect(own["derived_key"] != nil)
        #expect(site.send("GET", tim + "/file", "", sue).status == 404)
        #expect(site.send("GET", "/_users/_design/_auth", "", sue).status == 403)
        for list in ["_all_docs", "_changes"] {
            #expect(site.send("GET", "/_users/" + list, "", sue).status == 401, "\(list)")
        }
        #expect(site.send("PUT", tim, "{}", sue).status == 404)
        #expect(site.send("DELETE", tim + "?rev=\(revision)", "", sue).status == 404)
        // Neither who is no member nor who has no name sees any.
        #expect(site.send("GET", tim, "", joe).status == 403)
        #expect(site.send("GET", tim).status == 401)
        set("chttpd_auth/public_fields", "site")
        #expect(site.send("GET", path, "", sue).status == 404)
        #expect(site.send("GET", "/_users/org.couchdb.user:none", "", sue).status == 404)
    }

    @Test
    func
        `a client without a name leaves no deleted account, and takes no name of another kind of user`()
    {
        open()
        let grave = site.send("PUT", "/_users/org.couchdb.user:zoe", #"{"_deleted":true,"x":1}"#)
        #expect([401, 403].contains(grave.status))
        #expect(signUp("ann").status == 409)
    }

    @Test func `another rule for accounts goes into a document of another name`() {
        let path = "/_users/_design/_auth"
        let revision = site.send("GET", path, "", ann).json["_rev"]?.string ?? ""
        let other = #"{"validate_doc_update":"function () { throw({forbidden: 'no'}); }"}"#
        #expect(site.send("PUT", "\(path)?rev=\(revision)", other, ann).status == 501)
        #expect(site.send("GET", path, "", ann).json["_rev"]?.string == revision)
    }

    @Test func `a session ends by the timeout of now, not by that of its beginning`() throws {
        set("chttpd_auth/timeout", "100000")
        let signedIn = site.send(
            "POST", "/_session", #"{"name":"ann","password":"secret"}"#,
            ["Content-Type": "application/json"])
        let cookie = try #require(signedIn.headers["Set-Cookie"]?.prefix { $0 != ";" })
        let fields: HTTPHeaders = ["Cookie": String(cookie)]
        #expect(site.send("GET", "/_session", "", fields).json["userCtx"]?["name"] == "ann")
        set("chttpd_auth/timeout", "600")
        #expect(site.send("GET", "/_session", "", fields).json["userCtx"]?["name"] != "ann")
    }

    @Test func `a client signs up for a name that is free, without roles, and for nothing else`()
        throws
    {
        open()
        #expect(signUp("joe").status == 201)
        // Nothing is told of the account that is there, whatever revision is named.
        let revision = site.send("GET", "/_users/org.couchdb.user:joe", "", ann).json["_rev"]?
            .string
        #expect(signUp("joe").status == 409)
        #expect(signUp("joe", "", "?rev=\(revision ?? "")").status == 409)
        #expect(signUp("max", roles: #"["staff"]"#).status == 403)
        #expect(signUp("max", roles: #"["_admin"]"#).status == 403)
        #expect(signUp("max", #","derived_key":"00""#).status == 201)
        #expect(signUp("eve", "", "?new_edits=false").status != 201)
        for (method, path) in [
            ("GET", ""), ("GET", "_all_docs"), ("GET", "_changes"), ("PUT", "_design/x"),
            ("PUT", "_design%2Fx"), ("PUT", "_local/x"), ("PUT", "_local%2Fx"),
            ("PUT", "org.couchdb.user:joe/attachment"), ("POST", "_bulk_docs"),
        ] {
            let answer = site.send(method, "/_users/" + path, "{}")
            #expect(answer.status == 401, "\(method) \(path)")
        }
        // Of accounts none is told to be there.
        for name in ["joe", "ann", "eve"] {
            for method in ["GET", "HEAD", "DELETE"] {
                let answer = site.send(method, "/_users/org.couchdb.user:\(name)?open_revs=all")
                #expect(answer.status == 404, "\(method) \(name)")
            }
        }
        let long = String(repeating: "x", count: 70_000)
        #expect(signUp("eve", #","long":"\#(long)""#).status == 413)
    }

    @Test func `what a client would sign up with and is no account is refused by its form`() {
        let path = "/_users/org.apache.couchdb:w00x"
        let body = #"{"name":"w00x","type":"user","roles":[],"password":"bar"}"#
        #expect(site.send("PUT", path, body).status == 401)
        open()
        let refused = site.send("PUT", path, body)
        #expect(refused.status == 403 && refused.json["error"] == "forbidden")
        #expect(refused.json["reason"] == "Doc ID must be of the form org.couchdb.user:name")
        #expect(site.send("PUT", "/_users/other", "{}").json["reason"] == "doc.type must be user")
        #expect(site.send("POST", "/_users", "{}").status == 403)
        #expect(site.send("PUT", "/_users/other", #"{"_deleted":true}"#).status == 401)
        // Users with a name have theirs, and no other is there.
        #expect(signUp("joe").status == 201)
        #expect(site.send("PUT", path, body, Self.basic("joe:pw")).status == 404)
    }

    @Test func `an account that a client without a name would delete is not there for it`() {
        #expect(signUp("joe").status == 401)
        #expect(site.send("DELETE", "/_users/org.couchdb.user:joe").status == 401)
        open()
        let revision = signUp("joe").json["rev"]?.string ?? ""
        let path = "/_users/org.couchdb.user:joe"
        let refused = site.send("DELETE", path + "?rev=\(revision)")
        #expect(refused.status == 404 && refused.json["error"] == "not_found")
        #expect(site.send("DELETE", "/_users/org.couchdb.user:none?rev=1-0").status == 404)
        #expect(site.send("GET", path, "", ann).json["_rev"]?.string == revision)
    }

    private func post(_ id: String?, _ name: String, _ more: String = "", _ query: String = "")
        -> TestAnswer
    {
        let id = id.map { #""_id":"\#($0)","# } ?? ""
        return site.send(
            "POST", "/_users\(query)",
            #"{\#(id)"name":"\#(name)","type":"user","roles":[],"password":"pw"\#(more)}"#)
    }

    @Test func `a client signs up by POST, for a name that is free, and makes nothing else by it`()
        throws
    {
        #expect(post("org.couchdb.user:joe", "joe").status == 401)
        open()
        let answer = post("org.couchdb.user:joe", "joe")
        #expect(answer.status == 201 && answer.json["id"] == "org.couchdb.user:joe")
        let joe = Self.basic("joe:pw")
        #expect(site.send("GET", "/_session", "", joe).json["userCtx"]?["name"] == "joe")
        // An account that is there is not touched, also by who names its revision.
        let rev = answer.json["rev"]?.string ?? ""
        #expect(post("org.couchdb.user:joe", "joe").status == 409)
        #expect(post("org.couchdb.user:joe", "joe", #","_rev":"\#(rev)""#).status == 409)
        #expect(post("org.couchdb.user:ann", "ann").status == 409)
        #expect(post("org.couchdb.user:max", "joe").status == 403)
        #expect(post("org.couchdb.user:max", "max", #","roles":["staff"]"#).status == 403)
        #expect(post("org.couchdb.user:max", "max", "", "?new_edits=false").status == 403)
        for id in [nil, "plain", "_local/x", "_local/_divan/security", "_design/d"] {
            #expect([400, 401, 403].contains(post(id, "max").status), "\(id ?? "")")
        }
        let long = String(repeating: "x", count: 70_000)
        #expect(post("org.couchdb.user:max", "max", #","x":"\#(long)""#).status == 413)
        let database = try #require(try site.manager.existingDatabase(named: "_users"))
        #expect(try database.documentCount == 2)
        #expect(site.send("GET", "/_users/_local_docs", "", ann).json["rows"] == [])
        #expect(
            site.send("GET", "/_users/org.couchdb.user:joe", "", ann).json["_rev"]?.string == rev)
    }

    @Test func `a user changes the own account by POST, and no other document`() throws {
        open()
        #expect(signUp("joe").status == 201)
        #expect(signUp("sue").status == 201)
        let joe = Self.basic("joe:pw")
        func post(_ name: String, _ more: String) -> Int {
            let id = "org.couchdb.user:\(name)"
            var body = site.send("GET", "/_users/" + id, "", ann).json.object ?? [:]
            for (key, value) in (try? JSONParser.parse(Array(more.utf8)))?.object ?? [:] {
                body[key] = value
            }
            return site.send("POST", "/_users", JSONWriter.string(.object(body)), joe).status
        }
        #expect(post("joe", #"{"mail":"j"}"#) == 201)
        #expect(post("joe", #"{"roles":["staff"]}"#) == 403)
        #expect(post("joe", #"{"derived_key":"00"}"#) == 403)
        #expect(post("sue", #"{"mail":"j"}"#) == 404)
        #expect(post("none", #"{"_id":"org.couchdb.user:none"}"#) == 404)
        #expect(site.send("POST", "/_users", "{}", joe).status == 404)
        #expect(site.send("POST", "/_users", #"{"_id":"_local/x"}"#, joe).status == 403)
        #expect(site.send("POST", "/_users", #"{"_id":"_design/x"}"#, joe).status == 403)
    }

    /// What a user may do in `_users` where it has no `_security`.
    @Test(arguments: ["everyone", "admin_local"])
    func `users have their own account where databases without a security object are open`(
        setting: String
    ) throws {
        func add(_ name: String) {
            site.send(
                "PUT", "/_users/org.couchdb.user:\(name)",
                #"{"name":"\#(name)","type":"user","roles":["staff"],"password":"pw"}"#, ann)
        }
        add("joe")
        add("sue")
        let (own, other) = ("/_users/org.couchdb.user:joe", "/_users/org.couchdb.user:sue")
        let joe = Self.basic("joe:pw")
        #expect(site.send("GET", own, "", joe).status == 403)
        set("couchdb/default_security", setting)
        var body = site.send("GET", own, "", joe).json.object ?? [:]
        #expect(body["name"] == "joe")
        func put(_ path: String) -> Int {
            site.send("PUT", path, JSONWriter.string(.object(body)), joe).status
        }
        body["roles"] = ["staff", "boss"]
        #expect(put(own) == 403)
        body["roles"] = ["staff"]
        body["password"] = "new"
        #expect(put(own) == 201)
        let now = Self.basic("joe:new")
        #expect(site.send("GET", "/_session", "", joe).status == 401)
        #expect(site.send("GET", "/_session", "", now).json["userCtx"]?["roles"] == ["staff"])
        // Another account is as one that there is not, in whatever way it is asked for.
        let rev = site.send("GET", other, "", ann).json["_rev"]?.string ?? ""
        for path in [other, "/_users/org.couchdb.user:none", "/_users/plain"] {
            for (method, query) in [
                ("GET", ""), ("HEAD", ""), ("GET", "?open_revs=all"), ("GET", "/a"),
                ("PUT", "?rev=\(rev)"), ("DELETE", "?rev=\(rev)"), ("DELETE", ""),
                ("PUT", "/a?rev=\(rev)"), ("COPY", ""), ("POST", ""),
            ] {
                var headers = now
                headers["Destination"] = "org.couchdb.user:joe"
                let answer = site.send(method, path + query, "{}", headers)
                #expect(answer.status == 404, "\(method) \(path)\(query)")
                #expect(method == "HEAD" || answer.json["reason"] == "missing")
            }
        }
        for path in ["_all_docs", "_changes", "_local_docs", "_find", "_security", "_design/_auth"]
        {
            let answer = site.send("GET", "/_users/" + path, "", now)
            #expect([401, 403, 405].contains(answer.status), "\(path)")
        }
        #expect(site.send("POST", "/_users/_bulk_docs", #"{"docs":[]}"#, now).status == 403)
        #expect(site.send("PUT", "/_users/_security", "{}", now).status == 403)
        #expect(site.send("GET", other, "", ann).json["_rev"]?.string == rev)
        // A client without a name sees nothing, and signs up where that is configured, too.
        for path in [own, other, "/_users/org.couchdb.user:none"] {
            let answer = site.send("GET", path)
            #expect(answer.status == 404 && answer.json["reason"] == "missing", "\(path)")
        }
        #expect(site.send("GET", "/_users/plain").status == 401)
        #expect(signUp("max").status == 401)
        set("couchdb/users_db_security_editable", "true")
        #expect(signUp("max").status == 201)
        // What is stored goes before it.
        site.send("PUT", "/_users/_security", #"{"members":{"names":["sue"]}}"#, ann)
        #expect(site.send("GET", own, "", now).status == 403)
        #expect(site.send("GET", own).status == 401)
        #expect(signUp("eve").status == 401)
        site.send("PUT", "/_replicator", "", ann)
        #expect(site.send("GET", "/_replicator/r", "", now).status == 403)
    }

    @Test
    func `no client signs up unless the configuration and the security of the users let them`()
        throws
    {
        #expect(signUp("joe").status == 401)
        set("couchdb/users_db_security_editable", "true")
        #expect(signUp("joe").status == 401)
        let security = #"{"members":{"names":["ann"]}}"#
        site.send("PUT", "/_users/_security", security, ann)
        #expect(signUp("joe").status == 401)
        #expect(site.send("GET", "/_users/org.couchdb.user:joe").status == 401)
        open()
        set("couchdb/users_db_security_editable", "false")
        #expect(signUp("joe").status == 401)
        open()
        set("chttpd/require_valid_user", "true")
        #expect(signUp("joe").status == 401)
    }

    @Test func `a sign-up waits its turn as other passwords do, and not among the writers`() {
        func lane(_ method: String, _ target: String) -> Router.Lane {
            site.router.lane(
                ListenerRequest(
                    RequestHead(method: method, target: target, headers: [:]), body: .bytes([])))
        }
        let ways = [("PUT", "/_users/org.couchdb.user:joe"), ("POST", "/_users")]
        for (method, target) in ways {
            guard case .writing = lane(method, target) else {
                Issue.record("\(method) is not a write.")
                continue
            }
        }
        open()
        for (method, target) in ways {
            guard case .signingIn = lane(method, target) else {
                Issue.record("\(method) is not a sign-in.")
                continue
            }
        }
        guard case .writing = lane("POST", "/db") else {
            Issue.record("A document of another database is not a write.")
            return
        }
    }

    @Test func `the database of users has its design document, whose function nothing runs here`()
        throws
    {
        let design = site.send("GET", "/_users/_design/_auth", "", ann)
        #expect(design.status == 200 && design.json["language"] == "javascript")
        #expect(design.json["validate_doc_update"]?.string?.hasPrefix("function") == true)
        #expect(
            try site.manager.existingDatabase(named: "_users")?.unrunValidations().isEmpty == true)
        #expect(
            site.send("GET", "/_users/_design/_auth", "", Self.basic("ann:wrong")).status == 401)
    }

    @Test(.enabled(if: ScriptEngine.isHere, ScriptEngine.need))
    func `the function of the design document has the rules of accounts`() throws {
        let function =
            site.send("GET", "/_users/_design/_auth", "", ann)
            .json["validate_doc_update"] ?? .null
        let scripts = try ScriptSite(["validate_doc_update": function]) {
            $0.access = .users(["ann": "secret"])
        }
        try scripts.addAnn()
        func put(_ id: String, _ body: String) -> Int {
            scripts.site.send("PUT", "/db/" + id, body, Self.basic("ann:secret")).status
        }
        #expect(put("a", #"{"type":"user","name":"a","roles":[]}"#) == 403)
        let id = "org.couchdb.user:a"
        #expect(put(id, #"{"type":"user","name":"a","roles":["_admin"]}"#) == 403)
        #expect(put(id, #"{"type":"user","name":"a","roles":[1]}"#) == 403)
        #expect(put(id, #"{"type":"user","name":"a"}"#) == 403)
        #expect(put(id, #"{"type":"user","name":"a","roles":["staff"]}"#) == 201)
    }

    @Test func `the name and password that stand for none sign no user in`() throws {
        let session = site.send("GET", "/_session", "", ["Authorization": "Basic Xzpf"])
        #expect(session.status == 200 && session.json["userCtx"]?["name"] == .some(.null))
        // A page may ask for the dialog of the browser.
        #expect(site.send("GET", "/_session?basic=true").status == 401)
        #expect(site.send("GET", "/_session?basic=true", "", ann).status == 200)
        let broken = site.send("GET", "/_session", "", ["Authorization": "Basic x"])
        #expect(broken.status == 400)
        #expect(broken.json["reason"] == "Authorization header has invalid base64 value")
    }

    @Test func `a right that a user lacks is asked for by 401, and without a dialog`() throws {
        open()
        #expect(signUp("joe").status == 201)
        site.send("PUT", "/db", "", ann)
        let joe = Self.basic("joe:pw")
        for (method, path) in [
            ("GET", "/_all_dbs"), ("PUT", "/other"), ("DELETE", "/db"), ("POST", "/db/_compact"),
            ("PUT", "/db/_security"), ("GET", "/_node/_local/_stats"),
        ] {
            let answer = site.send(method, path, "{}", joe)
            #expect(answer.status == 401, "\(method) \(path)")
            #expect(answer.headers["WWW-Authenticate"] == nil)
        }
        // Of a document it is told as of one that may not be changed.
        #expect(site.send("PUT", "/db/_design/x", "{}", joe).status == 403)
        site.send("PUT", "/db/_security", #"{"members":{"names":["max"]}}"#, ann)
        #expect(site.send("GET", "/db", "", joe).status == 403)
    }
}
