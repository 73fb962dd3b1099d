// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// What clients set by `_node/…/_config`, and what it changes.
@Suite struct ConfigurationTests {
    private static let ann: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
    ]

    /// A site for users, of which `ann` is an administrator.
    private func site(
        folder: URL = TestSite.newFolder(), _ edit: (inout ListenerOptions) -> Void = { _ in }
    ) throws -> TestSite {
        try TestSite(
            { options in
                options.access = .users(["ann": "secret"])
                edit(&options)
            }, folder: folder)
    }

    @discardableResult
    private func set(_ site: TestSite, _ path: String, _ text: String) -> TestAnswer {
        site.send(
            "PUT", "/_node/_local/_config/" + path, JSONValue.string(text).description, Self.ann)
    }

    @Test func `only administrators see and change it`() throws {
        let site = try site()
        #expect(site.send("GET", "/_node/_local/_config").status == 401)
        #expect(site.send("PUT", "/_node/_local/_config/a/b", "\"c\"").status == 401)
        #expect(site.send("GET", "/_node/_local/_config", "", Self.ann).status == 200)
        #expect(set(site, "a/b", "c").status == 200)
    }

    @Test func `what was set is there after the next start, readable by the owner only`() throws {
        let folder = TestSite.newFolder()
        let first = try site(folder: folder)
        set(first, "chttpd/require_valid_user", "true")
        let file = folder.appending(path: "listener-config.json")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let second = try Site(first.manager, first.router.site.options)
        #expect(second.configuration.settings.requiresUser)
    }

    @Test func `a malformed file is told of at the start`() throws {
        let site = try site()
        let file = site.folder.appending(path: "listener-config.json")
        try Data("[".utf8).write(to: file)
        #expect(throws: HTTPFailure.self) {
            try Site(site.manager, site.router.site.options)
        }
    }

    @Test func `an app can keep clients from it, and from what they had set`() throws {
        let site = try site()
        set(site, "cors/origins", "*")
        set(site, "chttpd/enable_cors", "true")
        var options = site.router.site.options
        options.fixesConfiguration = true
        let fixed = Router(site: try Site(site.manager, options))
        #expect(fixed.site.configuration.settings.cors == nil)
        for (method, path) in [
            ("PUT", "/_node/_local/_config/a/b"), ("PUT", "/_node/_local/_config/admins/eve"),
        ] {
            var head = RequestHead(method: method, target: path, headers: Self.ann)
            head.headers["Host"] = "localhost"
            let answer = fixed.respond(ListenerRequest(head, body: .bytes(Array("\"c\"".utf8))))
            #expect(answer.status == 403)
        }
    }

    @Test func `a read-only listener changes nothing`() throws {
        let site = try site { $0.readOnly = true }
        #expect(set(site, "a/b", "c").status == 403)
    }

    @Test func `it is bounded in keys and in bytes`() throws {
        let configuration = try Configuration(directory: nil, options: ListenerOptions())
        for number in 0..<Configuration.mostKeys {
            try configuration.set("many", "k\(number)", to: "v", isKept: true)
        }
        #expect(throws: HTTPFailure.self) {
            try configuration.set("many", "one more", to: "v", isKept: true)
        }
        try configuration.set("many", "k0", to: "w", isKept: true)
        try configuration.set("many", "k1", to: nil, isKept: true)
        try configuration.set("many", "one more", to: "v", isKept: true)
        let long = String(repeating: "x", count: Configuration.longestText)
        #expect(throws: HTTPFailure.self) {
            for number in 0..<Configuration.mostKeys {
                try configuration.set("many", "k\(number)", to: long, isKept: true)
            }
        }
        #expect(configuration.table.byteCount <= Configuration.mostBytes)
        let name = String(repeating: "x", count: Configuration.longestName + 1)
        for (section, key, text) in [
            (name, "k", "v"), ("s", name, "v"), ("", "k", "v"), ("s", "", "v"),
            ("s", "k", long + "x"),
        ] {
            #expect(throws: HTTPFailure.self) { try Configuration.check(section, key, text) }
        }
    }

    // MARK: - Keys that mean something

    @Test func `pages of other origins are let in and out at once`() throws {
        let site = try site()
        let page: HTTPHeaders = ["Origin": "https://app.example"]
        func allowed() -> String? {
            site.send("GET", "/", "", page).headers["Access-Control-Allow-Origin"]
        }
        #expect(allowed() == nil)
        set(site, "cors/origins", "https://one.example, https://app.example")
        #expect(allowed() == nil)
        set(site, "chttpd/enable_cors", "true")
        #expect(allowed() == "https://app.example")
        set(site, "cors/origins", "https://one.example")
        #expect(allowed() == nil)
        set(site, "cors/origins", "*")
        #expect(allowed() == "*")
        set(site, "cors/credentials", "true")
        #expect(allowed() == "https://app.example")
        set(site, "chttpd/enable_cors", "false")
        #expect(allowed() == nil)
    }

    @Test func `what is configured goes before the options of CORS`() throws {
        let site = try site { $0.cors = ListenerCORS(origins: ["https://app.example"]) }
        let table = site.send("GET", "/_node/_local/_config/cors", "", Self.ann).json
        #expect(table["origins"] == "https://app.example")
        let page: HTTPHeaders = ["Origin": "https://app.example"]
        func allowed() -> String? {
            site.send("GET", "/", "", page).headers["Access-Control-Allow-Origin"]
        }
        #expect(allowed() == "https://app.example")
        set(site, "cors/origins", "https://one.example")
        #expect(allowed() == nil)
        site.send("DELETE", "/_node/_local/_config/cors/origins", "", Self.ann)
        #expect(allowed() == "https://app.example")
        set(site, "httpd/enable_cors", "false")
        #expect(allowed() == nil)
    }

    @Test func `a client must show who it is where that is required`() throws {
        let site = try site()
        set(site, "httpd/WWW-Authenticate", #"Basic realm="mine""#)
        set(site, "chttpd/require_valid_user", "true")
        let answer = site.send("GET", "/")
        #expect(answer.status == 401 && answer.json["reason"] == "Authentication required.")
        #expect(answer.headers["WWW-Authenticate"] == #"Basic realm="mine""#)
        #expect(site.send("GET", "/_up").status == 401)
        #expect(site.send("GET", "/_session").status == 401)
        #expect(site.send("GET", "/", "", Self.ann).status == 200)
        let login = site.send(
            "POST", "/_session", #"{"name":"ann","password":"secret"}"#,
            ["Content-Type": "application/json"])
        #expect(login.status == 200)
        set(site, "chttpd/require_valid_user_except_for_up", "true")
        #expect(site.send("GET", "/_up").status == 200)
        #expect(site.send("GET", "/").status == 401)
    }

    @Test func `sessions hold as long as is configured, under the secret that is`() throws {
        let site = try site()
        func login() -> String {
            site.send(
                "POST", "/_session", #"{"name":"ann","password":"secret"}"#,
                ["Content-Type": "application/json"]
            ).headers["Set-Cookie"] ?? ""
        }
        func name(_ cookie: String) -> String? {
            let headers: HTTPHeaders = ["Cookie": String(cookie.prefix { $0 != ";" })]
            return site.send("GET", "/_session", "", headers).json["userCtx"]?["name"]?.string
        }
        #expect(login().contains("Max-Age=600;"))
        set(site, "couch_httpd_auth/timeout", "100")
        #expect(login().contains("Max-Age=100;"))
        // CouchDB 3 moved the section; the new one goes before the old.
        set(site, "chttpd_auth/timeout", "200")
        let cookie = login()
        #expect(cookie.contains("Max-Age=200;") && name(cookie) == "ann")
        set(site, "chttpd_auth/allow_persistent_cookies", "false")
        #expect(!login().contains("Max-Age"))
        set(site, "chttpd_auth/same_site", "strict")
        set(site, "chttpd_auth/cookie_domain", "example.org")
        #expect(login().contains("SameSite=Strict; Domain=example.org"))
        #expect(set(site, "chttpd_auth/cookie_domain", "example.org; Path=/x").status == 400)
        #expect(login().contains("Domain=example.org"))
        set(site, "chttpd_auth/secret", "another")
        #expect(name(cookie) == nil)
        #expect(name(login()) == "ann")
    }

    @Test(arguments: [
        ("chttpd/enable_cors", "yes", "`true` or `false`"),
        ("httpd/require_valid_user", "1", "`true` or `false`"),
        ("couch_httpd_auth/require_valid_user", "", "`true` or `false`"),
        ("couchdb/max_document_size", "rubbish", "a whole number from 1 to 9007199254740992"),
        ("couchdb/max_document_size", "0", "a whole number from 1 to 9007199254740992"),
        ("couchdb/max_document_size", "infinity", "a whole number from 1 to 9007199254740992"),
        (
            "couchdb/max_attachment_size", "-1",
            "a whole number from 1 to 9007199254740992, or `infinity`"
        ),
        ("chttpd_auth/timeout", "soon", "a whole number from 1 to 9007199254740992"),
        ("chttpd_auth/same_site", "loose", "one of nothing, `none`, `lax`, `strict`"),
        (
            "chttpd_auth/authentication_db", "_dbs",
            "the name of a database, and none that the listener has for other things"
        ),
        ("couchdb/default_security", "nobody", "one of `admin_only`, `admin_local`, `everyone`"),
        ("couchdb/maintenance_mode", "maybe", "one of `true`, `false`, `nolb`"),
        ("uuids/algorithm", "dice", "one of `random`, `sequential`, `utc_random`, `utc_id`"),
        (
            "chttpd_auth/hash_algorithms", "sha256, md5",
            "a list, with commas, of `sha`, `sha256`, `sha384`, `sha512`"
        ),
        ("chttpd_auth/secret", "", "a text that is not empty"),
        ("cors/max_age", "1 day", "a whole number from 1 to 9007199254740992"),
        (
            "cors/origins", "https://\u{FC}ber.example",
            "a text of visible ASCII characters and spaces"
        ),
        (
            "jwt_keys/hmac:k", "%",
            "the base64 of a key under `hmac:`, and a public key as PEM under `rsa:` or `ec:`"
        ),
        (
            "jwt_keys/rsa:k", PublicKeys.ec,
            "the base64 of a key under `hmac:`, and a public key as PEM under `rsa:` or `ec:`"
        ),
        (
            "jwt_auth/required_claims", "{iss",
            "a list of claims, as `exp, {iss, \"https://issuer.example\"}`"
        ),
    ])
    func `a text that a key cannot have is refused, with what it accepts`(
        key: String, text: String, accepted: String
    ) throws {
        let site = try site()
        let answer = set(site, key, text)
        #expect(answer.status == 400)
        #expect(answer.json["error"] == "bad_request")
        #expect(answer.json["reason"]?.string == "The key `\(key)` must be \(accepted).")
        let name = String(key.drop { $0 != "/" }.dropFirst())
        let section = String(key.prefix { $0 != "/" })
        #expect(site.router.site.configuration.table[section, name] == nil)
    }

    @Test(arguments: [
        ("couchdb/max_attachment_size", "infinity"),
        ("query_server_config/query_limit", "infinity"),
        ("couchdb/max_document_size", " 8000000 "), ("chttpd_auth/same_site", ""),
        ("uuids/max_count", "rubbish"), ("log/level", "loud"), ("mine/enable_cors", "perhaps"),
        ("jwt_keys/ec:k", PublicKeys.ec), ("jwt_keys/other:k", "%"),
    ])
    func `what a key of CouchDB can be, and any text of a key that means nothing here, is taken`(
        key: String, text: String
    ) throws {
        let site = try site()
        #expect(set(site, key, text).status == 200)
    }

    @Test func `documents, attachments and requests are as long as is configured, at most`() throws
    {
        let site = try site()
        site.send("PUT", "/db", "", Self.ann)
        set(site, "couchdb/max_document_size", "100")
        let long = #"{"a":"\#(String(repeating: "x", count: 100))"}"#
        #expect(site.send("PUT", "/db/a", "{}", Self.ann).status == 201)
        let refused = site.send("PUT", "/db/b", long, Self.ann)
        #expect(refused.status == 413 && refused.json["error"] == "document_too_large")
        let bulk = site.send("POST", "/db/_bulk_docs", #"{"docs":[\#(long)]}"#, Self.ann)
        #expect(bulk.text.contains("document_too_large"))
        // The content of attachments is not the document's.
        let data = Base64.encode([UInt8](repeating: 1, count: 300))
        let attached = #"{"_attachments":{"x":{"content_type":"a/b","data":"\#(data)"}}}"#
        #expect(site.send("PUT", "/db/c", attached, Self.ann).status == 201)
        set(site, "couchdb/max_attachment_size", "200")
        #expect(site.send("PUT", "/db/d", attached, Self.ann).status == 413)
        set(site, "chttpd/max_http_request_size", "1000")
        let head = RequestHead(method: "PUT", target: "/db/d", headers: Self.ann)
        let identity = try #require(site.router.identity(of: head, mayTakeLong: true))
        #expect(site.router.largestBody(of: identity) == 1_000)
        // What the app can bear is not raised by it.
        set(site, "chttpd/max_http_request_size", "99999999999999")
        let most = site.router.site.options.limits.requestBody
        #expect(site.router.largestBody(of: identity) == most)
    }

    @Test func `databases without a security object are for those that are configured`() throws {
        let site = try site()
        site.send("PUT", "/db", "", Self.ann)
        site.send("PUT", "/_node/_local/_config/admins/eve", "\"e\"", Self.ann)
        #expect(site.send("GET", "/db").status == 401)
        set(site, "couchdb/default_security", "everyone")
        #expect(site.send("GET", "/db").status == 200)
        #expect(site.send("PUT", "/db/d", "{}").status == 201)
        #expect(site.send("PUT", "/db/_design/d", "{}").status == 401)
        #expect(site.send("GET", "/none").status == 404)
        set(site, "couchdb/default_security", "admin_only")
        #expect(site.send("GET", "/db").status == 401)
        let shown = site.send("GET", "/db/_security", "", Self.ann).json
        #expect(shown["members"]?["roles"] == ["_admin"])
    }

    @Test func `the list of databases is for all where that is configured`() throws {
        let site = try site()
        #expect(site.send("GET", "/_all_dbs").status == 401)
        set(site, "chttpd/admin_only_all_dbs", "false")
        #expect(site.send("GET", "/_all_dbs").status == 200)
        #expect(site.send("GET", "/_active_tasks").status == 401)
    }

    @Test func `the security of the users is kept as it is where that is configured`() throws {
        let site = try site()
        site.send("PUT", "/_users", "", Self.ann)
        #expect(site.send("PUT", "/_users/_security", "{}", Self.ann).status == 200)
        set(site, "couchdb/users_db_security_editable", "false")
        #expect(site.send("PUT", "/_users/_security", "{}", Self.ann).status == 403)
    }

    @Test func `a listener for all programs of the machine takes no key that decides who gets in`()
        throws
    {
        let site = try TestSite()
        for key in [
            "jwt_keys/hmac:_default", "chttpd_auth/secret", "chttpd_auth/proxy_use_secret",
            "chttpd/authentication_handlers", "couchdb/users_db_security_editable",
            "chttpd_auth_lockout/mode",
        ] {
            let answer = site.send("PUT", "/_node/_local/_config/" + key, "\"a\"")
            #expect(answer.status == 403, "\(key)")
        }
        #expect(site.send("PUT", "/_node/_local/_config/log/level", "\"info\"").status == 200)
        // Nor does a page of another origin get in by what was set.
        for (key, text) in [("httpd/enable_cors", "true"), ("cors/origins", "*")] {
            site.send("PUT", "/_node/_local/_config/" + key, "\"\(text)\"")
        }
        let foreign = site.send("GET", "/_all_dbs", "", ["Origin": "https://any.example"])
        #expect(foreign.status == 403)
    }

    @Test func `a file that is no configuration keeps a listener from starting`() throws {
        for text in [
            "[]", #"{"chttpd":1}"#, #"{"chttpd":{"require_valid_user":true}}"#, "{",
        ] {
            let folder = TestSite.newFolder()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try Data(text.utf8).write(to: folder.appending(path: "listener-config.json"))
            #expect(throws: HTTPFailure.self, "\(text)") { _ = try TestSite(folder: folder) }
        }
    }
}
