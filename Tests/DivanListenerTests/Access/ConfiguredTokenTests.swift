// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// Tokens and proxies that the configuration names.
@Suite struct ConfiguredTokenTests {
    private static let ann: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
    ]
    private static let key = Array("hello".utf8)
    private static let later = JSONValue.integer(4_102_444_800)

    /// A site that takes tokens by the configuration.
    private func site(_ texts: [(path: String, text: String)] = []) throws -> TestSite {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let handlers =
            "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}"
        set(site, "chttpd/authentication_handlers", handlers)
        set(site, "jwt_keys/hmac:_default", Base64.encode(Self.key))
        for (path, text) in texts { set(site, path, text) }
        return site
    }

    private func set(_ site: TestSite, _ path: String, _ text: String) {
        let answer = site.send(
            "PUT", "/_node/_local/_config/" + path, JSONValue.string(text).description, Self.ann)
        #expect(answer.status == 200)
    }

    /// Sets a text that no client could set, as a file may have it.
    private func force(_ site: TestSite, _ section: String, _ key: String, _ text: String) throws {
        try site.router.site.configuration.set(section, key, to: text, isKept: true)
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        String(
            Base64.encode(bytes).compactMap {
                $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0
            })
    }

    private func token(
        _ claims: JSONObject, _ header: JSONObject = ["alg": "HS256"], key: [UInt8] = key,
        bits: Int = 256
    ) throws -> String {
        let body = [header, claims]
            .map { Self.encoded(Array(JSONWriter.string(.object($0)).utf8)) }
            .joined(separator: ".")
        let signature = try #require(Secrets.sign(Array(body.utf8), key: key, bits: bits))
        return "\(body).\(Self.encoded(signature))"
    }

    /// What a token is answered with: the user and the roles, or the refusal.
    private func answer(_ site: TestSite, _ token: String) -> String {
        let answer = site.send("GET", "/_session", "", ["Authorization": "Bearer " + token])
        guard answer.status == 200 else {
            return "\(answer.status) \(answer.json["reason"]?.string ?? "")"
        }
        let user = answer.json["userCtx"]
        let roles = user?["roles"]?.array?.compactMap(\.string) ?? []
        return ([user?["name"]?.string ?? "-"] + roles).joined(separator: " ")
    }

    @Test func `tokens count by the keys that are configured, of each digest`() throws {
        let site = try site()
        for (name, bits) in [("HS256", 256), ("HS384", 384), ("HS512", 512)] {
            let token = try token(
                ["sub": "eve", "exp": Self.later, "_couchdb.roles": ["a", "b"]],
                ["alg": .string(name)], bits: bits)
            #expect(answer(site, token) == "eve a b")
        }
        let handlers = site.send("GET", "/_session", "", Self.ann).json["info"]
        #expect(handlers?["authentication_handlers"] == ["cookie", "default", "jwt"])
        // Once another key is configured, the former one counts no more.
        set(site, "jwt_keys/hmac:_default", Base64.encode(Array("other".utf8)))
        let former = try token(["sub": "eve", "exp": Self.later])
        #expect(answer(site, former) == "400 Bad HMAC in authentication token")
    }

    @Test func `tokens by public keys count`() throws {
        let site = try site([
            ("jwt_keys/rsa:k", PublicKeys.rsa), ("jwt_keys/ec:k", PublicKeys.ec),
            ("jwt_auth/roles_claim_path", "my.groups"),
        ])
        for token in [PublicKeys.rsaToken, PublicKeys.ecToken] {
            #expect(answer(site, token) == "eve readers")
            // Another signature, and one that is cut off.
            let first = token.prefix { $0 != "." }.count
            let other = token.replacing("eyJzdWIi", with: "eyJzdWIj")
            #expect(other != token && first > 0)
            #expect(!answer(site, other).hasPrefix("eve"))
            #expect(answer(site, String(token.dropLast(6))).hasPrefix("400 "))
        }
        // The line feeds of a key may be written out, as in a file of CouchDB's.
        set(site, "jwt_keys/rsa:k", PublicKeys.rsa.replacing("\n", with: "\\n"))
        #expect(answer(site, PublicKeys.rsaToken) == "eve readers")
        try force(site, "jwt_keys", "rsa:k", PublicKeys.ec)
        #expect(answer(site, PublicKeys.rsaToken) == "400 not an RSA public key")
        try force(site, "jwt_keys", "ec:k", "no key")
        #expect(answer(site, PublicKeys.ecToken) == "400 not an EC public key")
    }

    @Test func `a token by a public key is not checked on the thread of all connections`() throws {
        let site = try site()
        try force(site, "jwt_keys", "rsa:_default", "none")
        for (algorithm, isQuick) in [("RS256", false), ("ES384", false), ("HS256", true)] {
            let token = try token(["exp": Self.later], ["alg": .string(algorithm)])
            let head = RequestHead(
                method: "GET", target: "/_all_dbs", headers: ["Authorization": "Bearer " + token])
            #expect((site.router.identity(of: head, mayTakeLong: false) != nil) == isQuick)
            #expect(site.router.identity(of: head, mayTakeLong: true) != nil)
        }
    }

    @Test func `a public key is no key of an HMAC`() throws {
        let site = try site([("jwt_keys/rsa:k", PublicKeys.rsa)])
        let forged = try token(
            ["sub": "eve", "exp": Self.later], ["alg": "HS256", "kid": "k"],
            key: Array(PublicKeys.rsa.utf8))
        #expect(answer(site, forged) == "400 Unknown kid")
    }

    @Test func `what is wrong with a token is told in CouchDB's words`() throws {
        let site = try site()
        let good: JSONObject = ["sub": "eve", "exp": Self.later]
        let cases: [(String, String)] = [
            ("a.b", "400 Malformed authentication token"),
            ("a.b.c", "400 Malformed authentication token"),
            (try token(["sub": "eve"]), "400 Missing exp claim"),
            (try token(["sub": "eve", "exp": 1]), "401 exp not in future"),
            (try token(["sub": "eve", "exp": "late"]), "400 Invalid exp claim"),
            (
                try token(["sub": "eve", "exp": Self.later, "nbf": Self.later]),
                "401 nbf not in past"
            ),
            (try token(["exp": Self.later]), "401 Token missing sub claim."),
            (try token(["sub": 7, "exp": Self.later]), "401 Token missing sub claim."),
            (try token(good, [:]), "400 Missing alg header parameter"),
            (try token(good, ["alg": "none"]), "400 Invalid alg header parameter"),
            (try token(good, ["alg": "HS256", "kid": "x"]), "400 Unknown kid"),
            (try token(good, ["alg": "HS256", "kid": 7]), "400 Unknown kid"),
            (try token(good, key: [1]), "400 Bad HMAC in authentication token"),
            (
                try token(["sub": "eve", "exp": Self.later, "_couchdb.roles": [1]]),
                "400 Malformed token"
            ),
        ]
        for (token, expected) in cases { #expect(answer(site, token) == expected) }
        try force(site, "jwt_keys", "hmac:x", "%")
        let broken = try token(good, ["alg": "HS256", "kid": "x"])
        #expect(answer(site, broken) == "400 Not a valid key")
    }

    @Test func `the claims that a token must have are configured`() throws {
        let site = try site([
            ("jwt_auth/required_claims", #"nbf, iat, {iss, "https://issuer.example"}"#)
        ])
        let issuer = JSONValue.string("https://issuer.example")
        func answered(_ claims: JSONObject) throws -> String {
            answer(site, try token(claims))
        }
        #expect(try answered(["sub": "eve", "nbf": 1, "iat": 1, "iss": issuer]) == "eve")
        #expect(try answered(["sub": "eve", "nbf": 1, "iat": 1]) == "400 Missing iss claim")
        #expect(
            try answered(["sub": "eve", "nbf": 1, "iat": 1, "iss": "x"])
                == "400 Invalid iss claim")
        #expect(
            try answered(["sub": "eve", "nbf": 1, "iat": 1.5, "iss": issuer])
                == "400 Invalid iat claim")
        // An end that is told counts, also where none is asked for.
        #expect(
            try answered(["sub": "eve", "nbf": 1, "iat": 1, "iss": issuer, "exp": 1])
                == "401 exp not in future")
        try force(site, "jwt_auth", "required_claims", "7")
        #expect(try answered(["sub": "eve"]) == "500 JWT is not configured correctly")
        set(site, "jwt_auth/required_claims", "kid, typ")
        #expect(try answered(["sub": "eve"]) == "400 Missing kid claim")
        set(site, "jwt_auth/required_claims", "")
        #expect(try answered(["sub": "eve"]) == "eve")
        #expect(ConfiguredTokens.claims("{iss") == nil)
        #expect(ConfiguredTokens.claims(#"{iss "x"}"#) == [.init(name: "iss", value: "x")])
    }

    @Test func `the roles stand where it is configured`() throws {
        let site = try site([("jwt_auth/roles_claim_name", "groups")])
        func answered(_ roles: JSONObject) throws -> String {
            var claims: JSONObject = ["sub": "eve", "exp": Self.later]
            for (name, value) in roles { claims[name] = value }
            return answer(site, try token(claims))
        }
        #expect(try answered(["groups": ["a"]]) == "eve a")
        #expect(try answered(["groups": "b, c"]) == "eve b c")
        #expect(try answered(["groups": 7]) == "400 Malformed token")
        set(site, "jwt_auth/roles_claim_path", #"my.nested._couchdb\.roles"#)
        #expect(try answered(["my": ["nested": ["_couchdb.roles": ["d"]]]]) == "eve d")
        // A path must lead to roles, a name need not.
        #expect(try answered(["my": 7]) == "404 json_mismatch")
        #expect(try answered(["my": ["nested": [:]]]) == "404 missing json key: _couchdb.roles")
        #expect(try answered(["groups": ["a"]]) == "404 missing json key: my")
        #expect(try answered(["my": ["nested": ["_couchdb.roles": []]]]) == "eve")
    }

    @Test func `without the handler that takes them tokens name no user`() throws {
        let site = try site([
            ("chttpd/authentication_handlers", "{chttpd_auth, cookie_authentication_handler}")
        ])
        #expect(answer(site, try token(["sub": "eve", "exp": Self.later])) == "-")
    }

    // MARK: - Proxies

    private func proxied(_ site: TestSite, _ token: String?) -> String? {
        var headers: HTTPHeaders = [
            "X-Auth-CouchDB-UserName": "eve", "X-Auth-CouchDB-Roles": "a, b",
        ]
        headers["X-Auth-CouchDB-Token"] = token
        return site.send("GET", "/_session", "", headers).json["userCtx"]?["name"]?.string
    }

    private func hmac(_ bits: Int, _ secret: String) -> String {
        Hexadecimal.text(
            Secrets.sign(Array("eve".utf8), key: Array(secret.utf8), bits: bits) ?? [])
    }

    @Test func `a proxy shows a token by the secret that is configured`() throws {
        let site = try site([
            ("chttpd/authentication_handlers", "{chttpd_auth, proxy_authentication_handler}"),
            ("chttpd_auth/secret", "shared"),
        ])
        #expect(proxied(site, nil) == nil)
        for bits in [160, 256] { #expect(proxied(site, hmac(bits, "shared")) == "eve") }
        #expect(proxied(site, hmac(256, "shared").uppercased()) == "eve")
        #expect(proxied(site, hmac(512, "shared")) == nil)
        #expect(proxied(site, hmac(256, "other")) == nil)
        set(site, "chttpd_auth/hash_algorithms", "sha512")
        #expect(proxied(site, hmac(512, "shared")) == "eve")
        #expect(proxied(site, hmac(256, "shared")) == nil)
        // As CouchDB does unless it is told otherwise, which here must be said.
        set(site, "chttpd_auth/proxy_use_secret", "false")
        #expect(proxied(site, nil) == "eve")
        set(site, "chttpd_auth/proxy_use_secret", "true")
        #expect(proxied(site, nil) == nil)
        site.send("DELETE", "/_node/_local/_config/chttpd_auth/secret", "", Self.ann)
        #expect(proxied(site, hmac(512, "")) == nil)
    }
}

/// Public keys, and tokens by their private keys, which nothing else is signed with.
enum PublicKeys {
    static let rsa = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAufBWikasFxAhysz2ZOv9
        rJj2lKjys3QXbNKRi4hitloQ0uXjQ+///E5khbCQrJjwYwgWSMYt53pF6Egihwb1
        +q4LEntsdmOGDWj4JyGP+SPNBjHkn0MCx2XC7ZMHNKV7YGyNORxf6hrfD/9Ub26E
        FQWR9/fP1C9mp6wKo9HJOjoLck4c42vIOYodFVmJ5skDst4jzO0GFVpv+kuTkX3k
        nsuQcDbYUyDZOc8gCv/jo94cWKa1KMEL11iTdff++owl2tea0/kaynzbHUy0ci7Y
        VPAUIO3I+/RjnNweKXnXFI0tOhT1zyx/UP8bJcDmmUCpdFO8JRqXiyZyC043oTs+
        xwIDAQAB
        -----END PUBLIC KEY-----
        """
    static let rsaToken =
        "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsifQ."
        + "eyJzdWIiOiJldmUiLCJleHAiOjQxMDI0NDQ4MDAsIm15Ijp7Imdyb3VwcyI6WyJyZWFkZXJzIl19fQ."
        + "VQLsSWf9NuP1pnbBFFCJsJC_cbvJU05l1tcnD_2vF-sceqY53riFGGGTEZEPSKQggUL5MFsNyfb1BS5_"
        + "AdRoSepXBy8ra_yR7GaNa_8vHiqbNdYnH9Q8BkjtVbNd2zwcXtrb-OYR1oSU2QmvQkr_wL_kWr1ZxVPD"
        + "E52VmJA1b0wRVlLMnJQUO8i4TJ0RZ8IkngPUNFmr6NZgiMvlEwcHSsi8YaVJ-QVMjkBSiezfSzIrMJC5"
        + "Fw17ICE3BdlYonolOogkt6uH-RvAjnkC5IExp3nyQs5Ru-7-tZarTJGJCti2Ajn0gsB6mdg52-7JQqR9"
        + "W1gYk4-WWpeTMxUOAfGscg"
    static let ec = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOc9oC8HXZH5QGAVf+AKK94tHZLiu
        7dJS+xBXHjgUpcoPXeGD9mWuaHojKkvGTcvUE47lIGWDoo7lWpiVPlbJZQ==
        -----END PUBLIC KEY-----
        """
    static let ecToken =
        "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsifQ."
        + "eyJzdWIiOiJldmUiLCJleHAiOjQxMDI0NDQ4MDAsIm15Ijp7Imdyb3VwcyI6WyJyZWFkZXJzIl19fQ."
        + "sYIZ17hkQpj6UsdwqeqoR-wNKATLCizlQoOLOWEm7aCeufcF3IDx9GgsEQnvIPyGxcD-hUni-g2vy8aaveB5VA"
}
