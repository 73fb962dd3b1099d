// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

@Suite struct AccessTests {
    private static let users: NameMap<String> = ["ann": "secret", "bob:b": "pass:word"]

    private func basic(_ name: String, _ password: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array("\(name):\(password)".utf8))]
    }

    @Test func `a listener for everybody serves only its own machine's names`() throws {
        let site = try TestSite()
        for host in [
            "localhost", "localhost:5984", "127.0.0.1:1", "127.1.2.3", "[::1]:80", "LOCALHOST",
        ] {
            #expect(site.send("GET", "/", "", ["Host": host]).status == 200, "\(host)")
        }
        for host in [
            "evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example", "",
        ] {
            #expect(site.send("GET", "/", "", ["Host": host]).status == 403, "\(host)")
        }
    }

    @Test func `a listener for everybody refuses pages of other origins`() throws {
        let site = try TestSite { $0.cors = ListenerCORS(origins: ["https://app.example"]) }
        let own = site.send("GET", "/", "", ["Origin": "http://localhost:8080"])
        #expect(own.status == 200)
        #expect(site.send("GET", "/", "", ["Origin": "https://evil.example"]).status == 403)
        #expect(site.send("GET", "/", "", ["Origin": "null"]).status == 403)
        let allowed = site.send("GET", "/", "", ["Origin": "https://app.example"])
        #expect(allowed.status == 200)
        #expect(allowed.headers["Access-Control-Allow-Origin"] == "https://app.example")
    }

    @Test func `a browser is told what a page may do`() throws {
        let site = try TestSite { options in
            options.cors = ListenerCORS(origins: ["https://app.example"])
            options.cors?.credentials = true
        }
        let preflight: HTTPHeaders = [
            "Origin": "https://app.example", "Access-Control-Request-Method": "PUT",
        ]
        let answer = site.send("OPTIONS", "/db/d", "", preflight)
        #expect(answer.status == 204)
        #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app.example")
        #expect(answer.headers["Access-Control-Allow-Credentials"] == "true")
        #expect(answer.headers["Access-Control-Allow-Methods"]?.contains("PUT") == true)
        #expect(answer.headers["Access-Control-Allow-Headers"]?.contains("authorization") == true)
    }

    @Test(arguments: [
        ("https://app.example", "PUT", 204), ("https://other.example", "PUT", 403),
        ("https://app.example", "TRACE", 405), ("https://app.example", nil, 405), (nil, nil, 405),
    ])
    func `options are told to pages that may use it, and to nothing else`(
        origin: String?, method: String?, status: Int
    ) throws {
        let site = try TestSite { $0.cors = ListenerCORS(origins: ["https://app.example"]) }
        site.send("PUT", "/db")
        var headers: HTTPHeaders = [:]
        headers["Origin"] = origin
        headers["Access-Control-Request-Method"] = method
        #expect(site.send("OPTIONS", "/db/d", "", headers).status == status)
        #expect(try TestSite().send("OPTIONS", "/db/d").status == 405)
        #expect(site.send("OPTIONS", "/db/_index").headers["Allow"] == "GET, HEAD, POST")
        #expect(site.send("OPTIONS", "/db/_index/a").status == 404)
    }

    /// What a page of another origin is told, and whether the user's cookie counts for it.
    private func page(
        _ cors: ListenerCORS, _ origin: String = "https://app.example", secure: Bool = false
    )
        throws -> (allowed: String?, credentials: String?, asUser: Bool, cookie: String)
    {
        let site = try TestSite { options in
            options.access = .users(["ann": "secret"])
            options.cors = cors
        }
        let form: HTTPHeaders = [
            "Content-Type": "application/x-www-form-urlencoded", "Origin": origin,
        ]
        var head = RequestHead(method: "POST", target: "/_session", headers: form)
        head.headers["Host"] = "localhost"
        head.isSecure = secure
        let body = RequestBody.bytes(Array("name=ann&password=secret".utf8))
        let login = site.router.respond(ListenerRequest(head, body: body))
        let cookie = login.headers["Set-Cookie"] ?? ""
        let answer = site.send(
            "GET", "/_session", "",
            ["Cookie": String(cookie.prefix { $0 != ";" }), "Origin": origin])
        return (
            answer.headers["Access-Control-Allow-Origin"],
            answer.headers["Access-Control-Allow-Credentials"],
            answer.json["userCtx"]?["name"] == "ann", cookie
        )
    }

    @Test func `all origins are told by a star without cookies, and by name with them`() throws {
        var cors = ListenerCORS(origins: ["*"])
        let open = try page(cors)
        #expect(open.allowed == "*" && open.credentials == nil && !open.asUser)
        cors.credentials = true
        // What a browser asks for that sends credentials, as PouchDB has it do.
        let echoed = try page(cors)
        #expect(echoed.allowed == "https://app.example" && echoed.credentials == "true")
        #expect(echoed.asUser)
    }

    @Test func `a cookie counts for an allowed origin only with credentials`() throws {
        var cors = ListenerCORS(origins: ["https://app.example"])
        let without = try page(cors)
        #expect(without.allowed == "https://app.example" && without.credentials == nil)
        #expect(!without.asUser)
        cors.credentials = true
        #expect(try page(cors).asUser)
        let other = try page(cors, "https://other.example")
        #expect(other.allowed == nil && !other.asUser)
    }

    @Test func `a browser may send a cookie from other sites only where that is allowed`() throws {
        var cors = ListenerCORS(origins: ["*"])
        #expect(try page(cors, secure: true).cookie.contains("SameSite=Lax"))
        cors.credentials = true
        #expect(try page(cors, secure: true).cookie.contains("SameSite=None"))
        // Browsers take such a cookie over TLS only.
        #expect(try page(cors).cookie.contains("SameSite=Lax"))
        #expect(try page(cors, "https://localhost", secure: true).cookie.contains("SameSite=Lax"))
    }

    @Test func `nobody gets in without a name and the right password`() throws {
        let site = try TestSite { $0.access = .users(Self.users) }
        _ = try site.manager.database(named: "db")
        let anonymous = site.send("GET", "/db")
        #expect(anonymous.status == 401)
        #expect(anonymous.headers["WWW-Authenticate"] == "Basic realm=\"Divan\"")
        // A browser would show a dialog over the page that asks.
        let page = site.send("GET", "/db", "", ["Origin": "https://app.example"])
        #expect(page.status == 401 && page.headers["WWW-Authenticate"] == nil)
        #expect(site.send("GET", "/db", "", basic("ann", "wrong")).status == 401)
        #expect(site.send("GET", "/db", "", basic("nobody", "secret")).status == 401)
        #expect(site.send("GET", "/db", "", ["Authorization": "Basic ???"]).status == 400)
        #expect(site.send("GET", "/db", "", basic("ann", "secret")).status == 200)
        // Once more, from memory.
        #expect(site.send("GET", "/db", "", basic("ann", "secret")).status == 200)
        #expect(site.send("GET", "/db", "", basic("ann", "wrong")).status == 401)
        // The greeting tells nothing about data, so it needs no user.
        #expect(site.send("GET", "/").status == 200)
    }

    @Test func `a session is begun, used and ended by a cookie`() throws {
        let site = try TestSite { $0.access = .users(Self.users) }
        let form: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
        #expect(site.send("POST", "/_session", "name=ann&password=no", form).status == 401)
        let login = site.send("POST", "/_session", "name=ann&password=secret", form)
        #expect(login.status == 200)
        #expect(login.json["name"]?.string == "ann")
        let cookie = try #require(login.headers["Set-Cookie"])
        #expect(cookie.contains("HttpOnly"))
        let token = String(cookie.prefix { $0 != ";" })
        let session = site.send("GET", "/_session", "", ["Cookie": "other=1; " + token])
        #expect(session.json["userCtx"]?["name"]?.string == "ann")
        #expect(session.json["info"]?["authenticated"]?.string == "cookie")
        let forged = token.dropLast(4) + "AAAA"
        let stranger = site.send("GET", "/_session", "", ["Cookie": String(forged)])
        #expect(stranger.json["userCtx"]?["name"]?.isNull == true)
        let foreign: HTTPHeaders = ["Cookie": token, "Origin": "https://evil.example"]
        #expect(site.send("GET", "/_all_dbs", "", foreign).status == 401)
        #expect(site.send("GET", "/_all_dbs", "", ["Cookie": token]).status == 200)
        #expect(
            site.send("DELETE", "/_session").headers["Set-Cookie"]?.contains("Max-Age=0") == true)
    }

    @Test func `a session that holds counts before a name and password beside it`() throws {
        let site = try TestSite { $0.access = .users(["ann": "secret", "eve": "right"]) }
        let form: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
        let login = site.send("POST", "/_session", "name=ann&password=secret", form)
        let token = String(try #require(login.headers["Set-Cookie"]).prefix { $0 != ";" })
        func session(_ cookie: String, _ password: String, _ origin: String? = nil) -> TestAnswer {
            var headers = basic("eve", password)
            headers["Cookie"] = cookie
            headers["Origin"] = origin
            return site.send("GET", "/_session", "", headers)
        }
        for password in ["right", "wrong"] {
            let answer = session(token, password)
            #expect(answer.json["userCtx"]?["name"]?.string == "ann")
            #expect(answer.json["info"]?["authenticated"] == "cookie")
        }
        // One that has ended, is forged or comes from a foreign page leaves it to the password.
        let forged = String(token.dropLast(4) + "AAAA")
        for (cookie, origin) in [
            (forged, nil), ("AuthSession=", nil), ("AuthSession=garbage", nil),
            (token, "https://evil.example"),
        ] {
            #expect(session(cookie, "right", origin).json["userCtx"]?["name"] == "eve", "\(cookie)")
            #expect(session(cookie, "wrong", origin).status == 401, "\(cookie)")
        }
    }

    @Test func `a cookie ends, and is renewed while it is used`() throws {
        let accounts = try Accounts(directory: nil, passwords: Self.users)
        let bob = try #require(accounts.user("bob:b", password: "pass:word"))
        let header = try #require(accounts.cookie(for: bob, secure: true, now: 1_000))
        #expect(header.contains("; Secure"))
        let token = String(header.dropFirst("AuthSession=".count).prefix { $0 != ";" })
        #expect(accounts.user(cookie: token, now: 1_599)?.0.name == "bob:b")
        #expect(accounts.user(cookie: token, now: 1_601) == nil)
        let other = try Accounts(directory: nil, passwords: Self.users)
        #expect(other.user(cookie: token, now: 1_001) == nil)
    }

    @Test func `a name with colons anywhere keeps its cookie, and gets no other one's`() throws {
        let names = ["a", ":a", "a:", "a::b", "a:b", "::", "a:1", "1000:"]
        let accounts = try Accounts(
            directory: nil, passwords: NameMap(names.map { ($0, "p") }))
        for name in names {
            let user = try #require(accounts.user(name, password: "p"))
            let header = try #require(accounts.cookie(for: user, secure: true, now: 1_000))
            let token = String(header.dropFirst("AuthSession=".count).prefix { $0 != ";" })
            #expect(accounts.user(cookie: token, now: 1_001)?.0.name == name)
        }
    }

    @Test func `members read and write, admins also change the design`() throws {
        let site = try TestSite { $0.access = .users(["root": "r"]) }
        let path = site.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        for (name, roles) in ["ann": [], "eve": [], "dan": ["design"]] as [String: NameSet] {
            file.users[name] = AccountsFile.User(password: "p", roles: roles, iterations: 10)
        }
        #expect(file.write(to: path))
        let root = basic("root", "r")
        #expect(site.send("PUT", "/db", "", root).status == 201)
        #expect(site.send("PUT", "/x", "", basic("ann", "p")).status == 401)
        // Without members every user is one.
        #expect(site.send("PUT", "/db/d", "{}", basic("eve", "p")).status == 201)
        let security = #"{"members":{"names":["ann"]},"admins":{"roles":["design"]}}"#
        #expect(site.send("PUT", "/db/_security", security, basic("eve", "p")).status == 401)
        #expect(site.send("PUT", "/db/_security", security, root).status == 200)
        #expect(site.send("GET", "/db/d", "", basic("ann", "p")).status == 200)
        #expect(site.send("GET", "/db/d", "", basic("eve", "p")).status == 403)
        #expect(site.send("GET", "/db/d").status == 401)
        #expect(site.send("PUT", "/db/_design/x", "{}", basic("ann", "p")).status == 403)
        #expect(site.send("PUT", "/db/_design/x", "{}", basic("dan", "p")).status == 201)
        #expect(site.send("GET", "/_all_dbs", "", basic("dan", "p")).status == 401)
    }

    @Test func `a read-only listener changes nothing`() throws {
        let site = try TestSite { $0.readOnly = true }
        let database = try site.manager.database(named: "db")
        try database.save(MutableDocument(["n": 1], id: "d"))
        #expect(site.send("GET", "/db/d").status == 200)
        #expect(site.send("POST", "/db/_all_docs", #"{"keys":["d"]}"#).status == 200)
        for (method, path) in [
            ("PUT", "/new"), ("DELETE", "/db"), ("PUT", "/db/e"), ("DELETE", "/db/d"),
            ("POST", "/db/_bulk_docs"), ("PUT", "/db/d/a"), ("PUT", "/db/_local/c"),
            ("POST", "/db/_purge"), ("POST", "/db/_compact"), ("PUT", "/db/_security"),
            ("COPY", "/db/d"),
        ] {
            #expect(site.send(method, path, "{}").status == 403, "\(method) \(path)")
        }
        #expect(try database.documentCount == 1)
    }

    @Test func `the app decides which documents a user sees and changes`() throws {
        let site = try TestSite { options in
            options.access = .users(["ann": "a", "bob": "b"])
            options.authorization.reading = { user, _, document in
                user.isNamed(document["owner"].string)
            }
            options.authorization.writing = { user, _, change in
                change.isDeletion || user.isNamed(change.body["owner"]?.string)
            }
        }
        let (ann, bob) = (basic("ann", "a"), basic("bob", "b"))
        #expect(site.send("PUT", "/db", "", ann).status == 201)
        #expect(site.send("PUT", "/db/hers", #"{"owner":"ann"}"#, ann).status == 201)
        #expect(site.send("PUT", "/db/his", #"{"owner":"bob"}"#, bob).status == 201)
        #expect(site.send("PUT", "/db/x", #"{"owner":"bob"}"#, ann).status == 403)
        #expect(site.send("GET", "/db/his", "", ann).status == 404)
        #expect(site.send("GET", "/db/his", "", bob).status == 200)
        for path in ["/db/_all_docs", "/db/_all_docs?include_docs=true", "/db/_changes"] {
            let answer = site.send("GET", path, "", ann)
            #expect(answer.text.contains("hers"), "\(path)")
            #expect(!answer.text.contains("his\""), "\(path)")
        }
        let some = site.send(
            "POST", "/db/_bulk_get", #"{"docs":[{"id":"his"},{"id":"hers"}]}"#, ann)
        #expect(some.json["results"]?[0]?["docs"]?[0]?["error"]?["error"]?.string == "not_found")
        #expect(some.json["results"]?[1]?["docs"]?[0]?["ok"] != nil)
        let bulk = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"n1","owner":"bob"},{"_id":"n2","owner":"ann"}]}"#, ann)
        #expect(bulk.json[0]?["error"]?.string == "forbidden")
        #expect(bulk.json[1]?["ok"]?.bool == true)
    }

    @Test func `a client without credentials does not learn which databases exist, and opens none`()
        throws
    {
        let site = try TestSite { $0.access = .users(["ann": "a"]) }
        try site.manager.database(named: "db").close()
        for route in Router.table where route.pattern.hasPrefix("/{db}") {
            let answers = ["db", "none", "_users", "Not-A-Name"].map { name in
                let target = route.pattern.replacing("{db}", with: name)
                    .replacing("{doc}", with: "d").replacing("{attachment}", with: "a")
                    .replacing("{ddoc}", with: "d").replacing("{name}", with: "v")
                    .replacing("{id}", with: "i")
                return site.send(route.method, target, "{}")
            }
            #expect(answers.map(\.status) == [401, 401, 401, 401], "\(route.pattern)")
            #expect(answers.allSatisfy { $0.isSame(as: answers[0]) }, "\(route.pattern)")
        }
        #expect(site.manager.openedDatabase(named: "db") == nil)
        #expect(try site.manager.allDatabaseNames() == ["db"])
    }

    @Test func `nothing on the disk is reached by tricks with names`() throws {
        let site = try TestSite()
        for path in [
            "/..%2F..%2Fetc", "/%2e%2e/passwd", "/listener.json", "/db%00", "/.divan",
            "/a%2F..%2Fb",
            "/db/../..", "//etc/passwd",
        ] {
            let status = site.send("GET", path).status
            #expect([400, 404].contains(status), "\(path)")
            #expect([400, 404, 405].contains(site.send("PUT", path, "{}").status), "\(path)")
        }
        #expect(try site.manager.allDatabaseNames() == [])
    }
}
