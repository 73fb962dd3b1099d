// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanModel
import Testing

@testable import DivanListener

/// Users in a database that the configuration names.
@Suite struct UsersDatabaseTests {
    private static func basic(_ user: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array(user.utf8))]
    }

    private let site: TestSite
    private let root = basic("root:secret")
    private let key = "/_node/_local/_config/chttpd_auth/authentication_db"

    init() throws { site = try TestSite { $0.access = .users(["root": "secret"]) } }

    @discardableResult
    private func name(_ database: String) -> TestAnswer {
        site.send("PUT", key, JSONValue.string(database).description, root)
    }

    @discardableResult
    private func add(_ user: String, to database: String, _ password: String = "pw") -> TestAnswer {
        site.send(
            "PUT", "/\(database)/org.couchdb.user:\(user)",
            #"{"name":"\#(user)","type":"user","roles":["staff"],"password":"\#(password)"}"#, root)
    }

    private func isSignedIn(_ user: String) -> Bool {
        let answer = site.send("GET", "/_session", "", Self.basic(user))
        return answer.json["userCtx"]?["roles"] == ["staff"]
    }

    @Test func `users sign in from the database that is named, until another one is`() {
        site.send("PUT", "/accounts", "", root)
        add("ann", to: "_users")
        #expect(isSignedIn("ann:pw"))
        #expect(name("accounts").status == 200)
        #expect(!isSignedIn("ann:pw"))
        #expect(add("joe", to: "accounts").status == 201)
        #expect(isSignedIn("joe:pw"))
        #expect(
            site.send("GET", "/_session", "", root).json["info"]?["authentication_db"]
                == "accounts")
        #expect(site.send("DELETE", key, "", root).json == "accounts")
        #expect(isSignedIn("ann:pw") && !isSignedIn("joe:pw"))
        #expect(
            site.send("GET", "/_session", "", root).json["info"]?["authentication_db"] == "_users")
    }

    @Test func `the older name of the section counts, and the newer one before it`() {
        let older = "/_node/_local/_config/couch_httpd_auth/authentication_db"
        func database() -> JSONValue? {
            site.send("GET", "/_session", "", root).json["info"]?["authentication_db"]
        }
        site.send("PUT", older, #""old""#, root)
        #expect(database() == "old")
        name("new")
        #expect(database() == "new")
        site.send("DELETE", key, "", root)
        #expect(database() == "old")
    }

    @Test func `passwords are hashed in it, and in _users beside it`() {
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        for database in ["accounts", "_users"] {
            let path = "/\(database)/org.couchdb.user:joe"
            add("joe", to: database)
            let bulk = #"{"_id":"org.couchdb.user:sue","name":"sue","type":"user","roles":[]"#
            let saved = site.send(
                "POST", "/\(database)/_bulk_docs", #"{"docs":[\#(bulk),"password":"pw"}]}"#, root)
            #expect(saved.json[0]?["ok"] == true)
            for path in [path, "/\(database)/org.couchdb.user:sue"] {
                let stored = site.send("GET", path, "", root).json
                #expect(stored["password"] == nil && stored["derived_key"] != nil)
            }
            let grave = site.send(
                "PUT", "/\(database)/org.couchdb.user:max", #"{"_deleted":true,"password":"x"}"#,
                root)
            #expect(grave.status == 403)
        }
        let wrong = #"{"name":"bob","type":"user","roles":["_admin"]}"#
        let refused = site.send("PUT", "/accounts/org.couchdb.user:bob", wrong, root)
        #expect(refused.json["reason"] == "No system roles (starting with underscore) in users db.")
    }

    @Test func `what an app or a replication writes keeps no password either`() throws {
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        site.send("GET", "/_users", "", root)
        for name in ["accounts", "_users"] {
            let database = try #require(site.manager[name])
            var body: JSONObject = ["name": "joe", "roles": [], "type": "user", "password": "pw"]
            #expect(throws: DatabaseError.self) {
                _ = try database.put("org.couchdb.user:joe", body, parent: nil)
            }
            body["password"] = .null
            _ = try database.put("org.couchdb.user:joe", body, parent: nil)
        }
    }

    @Test(arguments: [true, false])
    func `it gets the design document of users, whether it is made before or after it is named`(
        isMadeBefore: Bool
    ) throws {
        if isMadeBefore { site.send("PUT", "/accounts", "", root) }
        name("accounts")
        if !isMadeBefore {
            #expect(site.send("GET", "/accounts", "", root).status == 404)
            site.send("PUT", "/accounts", "", root)
        }
        let design = site.send("GET", "/accounts/_design/_auth", "", root)
        #expect(design.json["validate_doc_update"]?.string == UsersDesign.function)
        let changes = site.send("GET", "/accounts/_changes?filter=_design", "", root)
        #expect(changes.json["results"]?[0]?["id"] == "_design/_auth")
        #expect(try site.manager.existingDatabase(named: "accounts")?.unrunValidations() == [])
        #expect(site.send("PUT", "/accounts/_design/_auth", "{}", root).status == 409)
    }

    @Test func `it is for administrators, also after it is one of users no more`() {
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        add("joe", to: "accounts")
        add("joe", to: "_users")
        let (path, joe) = ("/accounts/org.couchdb.user:joe", Self.basic("joe:pw"))
        #expect(site.send("GET", path, "", joe).status == 403)
        site.send("DELETE", key, "", root)
        #expect(isSignedIn("joe:pw"))
        #expect(site.send("GET", path, "", joe).status == 403)
        #expect(site.send("GET", "/accounts/_all_docs", "", joe).status == 403)
    }

    @Test func `its users see and change their own account where it is open to them`() {
        site.send("PUT", "/_node/_local/_config/couchdb/default_security", #""everyone""#, root)
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        add("joe", to: "accounts")
        add("sue", to: "accounts")
        let joe = Self.basic("joe:pw")
        let own = site.send("GET", "/accounts/org.couchdb.user:joe", "", joe)
        #expect(own.json["name"] == "joe")
        for method in ["GET", "PUT", "DELETE"] {
            let other = site.send(method, "/accounts/org.couchdb.user:sue", "{}", joe)
            #expect(other.status == 404 && other.json["reason"] == "missing", "\(method)")
        }
        #expect(site.send("GET", "/accounts/_all_docs", "", joe).status == 401)
        #expect(site.send("GET", "/accounts/_design/_auth", "", joe).status == 403)
        let rev = own.json["_rev"]?.string ?? ""
        let roles = #"{"name":"joe","type":"user","roles":["boss"],"_rev":"\#(rev)"}"#
        #expect(site.send("PUT", "/accounts/org.couchdb.user:joe", roles, joe).status == 403)
    }

    @Test func `a database with a password that is not hashed is not taken`() {
        site.send("PUT", "/accounts", "", root)
        add("joe", to: "accounts")
        let refused = name("accounts")
        #expect(refused.status == 400)
        #expect(refused.json["reason"]?.string?.contains("org.couchdb.user:joe") == true)
        #expect(site.send("GET", key, "", root).status == 404)
        // Nor where another key gives way to the one that names it.
        name("other")
        site.send(
            "PUT", "/_node/_local/_config/couch_httpd_auth/authentication_db", #""accounts""#, root)
        #expect(site.send("DELETE", key, "", root).status == 400)
        #expect(
            site.send("GET", "/_session", "", root).json["info"]?["authentication_db"] == "other")
        let revision = site.send("GET", "/accounts/org.couchdb.user:joe", "", root).json["_rev"]?
            .string
        site.send("DELETE", "/accounts/org.couchdb.user:joe?rev=\(revision ?? "")", "", root)
        #expect(site.send("DELETE", key, "", root).status == 200)
    }

    @Test func `after another one is named it is a database as others`() {
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        #expect(site.send("PUT", "/accounts/plain", "{}", root).status == 403)
        site.send("DELETE", key, "", root)
        #expect(site.send("PUT", "/accounts/plain", "{}", root).status == 201)
        name("accounts")
        #expect(site.send("PUT", "/accounts/other", "{}", root).status == 403)
        #expect(site.send("GET", "/accounts/plain", "", root).status == 200)
    }

    @Test(arguments: ["_replicator", "_global_changes", "Accounts", "_other", ""])
    func `a database that cannot be one of users is not taken`(text: String) {
        let answer = name(text)
        #expect(answer.status == 400)
        #expect(answer.json["reason"]?.string?.contains("the name of a database") == true)
    }

    @Test func `it is made as any database, and never with partitions`() {
        name("accounts")
        let refused = site.send("PUT", "/accounts?partitioned=true", "", root)
        #expect(refused.json["reason"] == "Cannot partition a system database")
        #expect(site.send("GET", "/accounts/x", "", root).status == 404)
        #expect(site.send("PUT", "/accounts", "", root).status == 201)
        #expect(site.send("DELETE", "/accounts", "", root).status == 200)
        #expect(site.send("GET", "/_session", "", root).status == 200)
    }

    @Test func `a client signs up in it where clients may`() {
        site.send(
            "PUT", "/_node/_local/_config/couchdb/users_db_security_editable", #""true""#, root)
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        let body = #"{"name":"joe","type":"user","roles":[],"password":"pw"}"#
        #expect(site.send("PUT", "/accounts/org.couchdb.user:joe", body).status == 401)
        site.send("PUT", "/accounts/_security", #"{"members":{"names":[],"roles":[]}}"#, root)
        #expect(site.send("PUT", "/accounts/org.couchdb.user:joe", body).status == 201)
        #expect(site.send("GET", "/_session", "", Self.basic("joe:pw")).status == 200)
    }

    @Test func `a listener that lets in all programs takes no other database of users`() throws {
        let open = try TestSite()
        #expect(open.send("PUT", key, #""accounts""#).status == 403)
    }

    @Test func `a listener that starts anew has the database that was named`() throws {
        site.send("PUT", "/accounts", "", root)
        name("accounts")
        add("joe", to: "accounts")
        var options = ListenerOptions()
        options.access = .users(["root": "secret"])
        let next = Router(site: try Site(site.manager, options))
        let head = RequestHead(method: "GET", target: "/_session", headers: Self.basic("joe:pw"))
        let answer = TestAnswer(next.respond(ListenerRequest(head, body: .bytes([]))))
        #expect(answer.json["userCtx"]?["name"] == "joe")
    }
}
