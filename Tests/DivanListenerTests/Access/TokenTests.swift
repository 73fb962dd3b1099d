// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// Users that others vouch for: by tokens, and by a proxy in front.
@Suite struct TokenTests {
    private static let key = Array("a key of thirty-two bytes or more".utf8)

    private func site(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> TestSite {
        let tokens = try ListenerTokens(keys: ["_default": Self.key, "two": Self.key.reversed()])
        let site = try TestSite { options in
            options.access = .users(["ann": "secret"])
            options.tokens = tokens
            edit(&options)
        }
        _ = try site.manager.database(named: "db")
        return site
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes).replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    private func token(
        _ claims: JSONObject, header: JSONObject = ["alg": "HS256", "typ": "JWT"],
        key: [UInt8] = key
    ) -> HTTPHeaders {
        let body = [header, claims]
            .map { Self.encoded(Array(JSONWriter.string(.object($0)).utf8)) }
            .joined(separator: ".")
        let signature = Secrets.sign(Array(body.utf8), key: key)
        return ["Authorization": "Bearer \(body).\(Self.encoded(signature))"]
    }

    private var later: JSONValue { .integer(Accounts.now + 600) }

    @Test func `a token tells who it is, and in which roles`() throws {
        let site = try site()
        let headers = token(["sub": "eve", "exp": later, "_couchdb.roles": ["readers", 7]])
        let session = site.send("GET", "/_session", "", headers)
        #expect(session.json["userCtx"]?["name"]?.string == "eve")
        #expect(session.json["userCtx"]?["roles"]?.array?.compactMap(\.string) == ["readers"])
        #expect(session.json["info"]?["authenticated"]?.string == "jwt")
        #expect(
            session.json["info"]?["authentication_handlers"]?.array?.compactMap(\.string)
                == ["cookie", "default", "jwt"])
        #expect(site.send("PUT", "/db/d", "{}", headers).status == 201)
        // A role may be that of those who may do everything.
        let admin = token(["sub": "root", "exp": later, "_couchdb.roles": ["_admin"]])
        #expect(site.send("PUT", "/made", "", admin).status == 201)
        #expect(site.send("PUT", "/not-made", "", headers).status != 201)
        // Passwords go on to count, and a body may be as long as any other.
        let password: HTTPHeaders = [
            "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
        ]
        #expect(site.send("GET", "/db", "", password).status == 200)
        let head = RequestHead(method: "PUT", target: "/db/d", headers: headers)
        let identity = try #require(site.router.identity(of: head, mayTakeLong: false))
        #expect(
            site.router.largestBody(of: identity) == site.router.site.options.limits.requestBody)
    }

    @Test func `a token counts only whole, signed, in its time, and by a known key`() throws {
        let site = try site()
        let now = Accounts.now
        let past = JSONValue.integer(now - 1)
        let good: JSONObject = ["sub": "eve", "exp": later]
        func status(_ headers: HTTPHeaders) -> Int {
            site.send("GET", "/_session", "", headers).status
        }
        #expect(status(token(good)) == 200)
        let others: [(String, HTTPHeaders)] = [
            ("expired", token(["sub": "eve", "exp": past])),
            ("without an end", token(["sub": "eve"])),
            ("an end that is none", token(["sub": "eve", "exp": "tomorrow"])),
            ("not yet", token(["sub": "eve", "exp": later, "nbf": later])),
            ("made later", token(["sub": "eve", "exp": later, "iat": later])),
            ("of nobody", token(["exp": later])),
            ("of an empty name", token(["sub": "", "exp": later])),
            ("of a number", token(["sub": 7, "exp": later])),
            ("with another key", token(good, key: Self.key + [1])),
            ("with an unknown key", token(good, header: ["alg": "HS256", "kid": "three"])),
            ("with a key of no name", token(good, header: ["alg": "HS256", "kid": 3])),
            ("with the other key", token(good, header: ["alg": "HS256", "kid": "two"])),
            ("not signed", token(good, header: ["alg": "none"])),
            ("of another kind", token(good, header: ["alg": "HS512"])),
            ("without a kind", token(good, header: [:])),
            ("critical", token(good, header: ["alg": "HS256", "crit": ["exp"]])),
            ("no web token", token(good, header: ["alg": "HS256", "typ": "JWE"])),
        ]
        for (what, headers) in others { #expect(status(headers) == 401, "\(what)") }
        #expect(
            status(
                token(
                    good, header: ["alg": "HS256", "kid": "two"], key: Self.key.reversed()))
                == 200)
        // Any change of its text.
        let text = Array(try #require(token(good)["Authorization"]).utf8)
        for index in stride(from: 7, to: text.count, by: 5) {
            var changed = text
            changed[index] = changed[index] == 0x41 ? 0x42 : 0x41
            let forged = String(decoding: changed, as: UTF8.self)
            #expect(status(["Authorization": forged]) == 401, "\(index)")
        }
        for malformed in ["Bearer", "Bearer ", "Bearer a.b", "Bearer ..", "Bearer a.b.c.d"] {
            #expect(status(["Authorization": malformed]) == 401, "\(malformed)")
        }
    }

    @Test func `what a token must have is the app's to say`() throws {
        let tokens = try {
            var tokens = try ListenerTokens(key: Self.key)
            tokens.requiredClaims = ["iss"]
            tokens.rolesClaim = "groups"
            return tokens
        }()
        let site = try site { $0.tokens = tokens }
        #expect(site.send("GET", "/_session", "", token(["sub": "eve"])).status == 401)
        let session = site.send(
            "GET", "/_session", "", token(["sub": "eve", "iss": "us", "groups": ["g"]]))
        #expect(session.json["userCtx"]?["roles"]?.array?.compactMap(\.string) == ["g"])
    }

    @Test func `keys and secrets that are short are refused`() throws {
        #expect(throws: DatabaseError.self) {
            try ListenerTokens(key: [UInt8](repeating: 1, count: 31))
        }
        #expect(throws: DatabaseError.self) {
            try ListenerProxyAuthentication(secret: [UInt8](repeating: 1, count: 15))
        }
    }

    @Test func `without keys a token is nobody's`() throws {
        let site = try site { $0.tokens = nil }
        let token = token(["sub": "eve", "exp": later])
        #expect(site.send("GET", "/_session", "", token).json["userCtx"]?["name"] == .null)
        #expect(site.send("GET", "/_all_dbs", "", token).status == 401)
    }

    @Test(arguments: ["Digest username=\"root\"", "Negotiate abc", "x", ""])
    func `a scheme that nothing here reads says as little as none`(authorization: String) throws {
        let site = try site { $0.tokens = nil }
        let headers = ["Authorization": authorization] as HTTPHeaders
        #expect(site.send("GET", "/_session", "", headers).json["userCtx"]?["name"] == .null)
        #expect(site.send("GET", "/_all_dbs", "", headers).status == 401)
    }

    @Test func `a proxy says who its client is, by a secret that both have`() throws {
        let secret = Array("between the two of us".utf8)
        let proxy = try ListenerProxyAuthentication(secret: secret)
        let site = try site { $0.proxy = proxy }
        let token = Hexadecimal.text(Secrets.sign(Array("eve".utf8), key: secret))
        var headers: HTTPHeaders = [
            "X-Auth-CouchDB-UserName": "eve", "X-Auth-CouchDB-Roles": "readers, editors,",
            "X-Auth-CouchDB-Token": token,
        ]
        let session = site.send("GET", "/_session", "", headers)
        #expect(session.json["userCtx"]?["name"]?.string == "eve")
        #expect(
            session.json["userCtx"]?["roles"]?.array?.compactMap(\.string)
                == ["editors", "readers"])
        #expect(session.json["info"]?["authenticated"]?.string == "proxy")
        #expect(site.send("GET", "/db", "", headers).status == 200)
        headers["X-Auth-CouchDB-UserName"] = "ann"
        #expect(site.send("GET", "/db", "", headers).status == 401)
        headers["X-Auth-CouchDB-UserName"] = "eve"
        for wrong in [nil, "", token.uppercased() + "0", String(token.dropLast())] {
            headers["X-Auth-CouchDB-Token"] = wrong
            #expect(site.send("GET", "/db", "", headers).status == 401)
        }
        // In a listener without a proxy secret the fields mean nothing.
        headers["X-Auth-CouchDB-Token"] = token
        let plain = try self.site()
        #expect(
            plain.send("GET", "/_session", "", headers).json["userCtx"]?["name"] == .some(.null))
    }
}
