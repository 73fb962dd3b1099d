// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Synchronization
import Testing

@Suite struct AuthenticatorTests {
    private let user = HTTPURL.User(name: "ann", password: "s&cret")

    /// A server that wants a session's cookie, and lets sessions end.
    private final class SessionServer: Sendable {
        let logins = Counter()
        let valid = Mutex<Set<String>>([])

        func answer(_ request: LoopbackRequest, _ connection: LoopbackConnection) {
            if request.target == "/_session" {
                logins.add(1)
                guard String(decoding: request.body, as: UTF8.self) == "name=ann&password=s%26cret"
                else {
                    connection.respond(
                        status: 401,
                        body: Array(
                            "{\"error\":\"unauthorized\",\"reason\":\"Name or password.\"}".utf8))
                    return
                }
                let cookie = "AuthSession=number\(logins.value)"
                valid.withLock { _ = $0.insert(cookie) }
                connection.respond(
                    status: 200, headers: [("Set-Cookie", "\(cookie); Path=/; HttpOnly")])
                return
            }
            let cookie = request.headers["cookie"] ?? ""
            guard valid.withLock({ $0.contains(cookie) }) else {
                connection.respond(status: 401)
                return
            }
            if request.target == "/renew" {
                valid.withLock { $0 = ["AuthSession=renewed"] }
                connection.respond(
                    status: 200, headers: [("Set-Cookie", "AuthSession=renewed; Path=/")])
            } else {
                connection.respond(status: 200, body: Array(cookie.utf8))
            }
        }
    }

    private func transport(_ authenticator: any HTTPAuthenticator, to server: LoopbackServer) throws
        -> AuthenticatedTransport
    {
        AuthenticatedTransport(try CurlTransport.direct(), authenticator, origin: try server.url())
    }

    @Test func `many requests share one login, and one more when the session has ended`()
        async throws
    {
        let sessions = SessionServer()
        let server = try LoopbackServer { sessions.answer($0, $1) }
        defer { server.stop() }
        let transport = try transport(SessionAuthenticator(user), to: server)
        for round in 1...3 {
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await transport.send(HTTPRequest(.get, try server.url("/x"))).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == [Int](repeating: 200, count: 8))
            #expect(sessions.logins.value == round)
            sessions.valid.withLock { $0 = [] }
        }
    }

    @Test func `a cookie that the server renews is taken without a login`() async throws {
        let sessions = SessionServer()
        let server = try LoopbackServer { sessions.answer($0, $1) }
        defer { server.stop() }
        let transport = try transport(SessionAuthenticator(user), to: server)
        _ = try await transport.send(HTTPRequest(.get, try server.url("/renew")))
        let response = try await transport.send(HTTPRequest(.get, try server.url("/x")))
        #expect(try await response.body.collect() == Array("AuthSession=renewed".utf8))
        #expect(sessions.logins.value == 1)
    }

    @Test func `a login that is refused is an error of its own and never shows the password`()
        async throws
    {
        let sessions = SessionServer()
        let server = try LoopbackServer { sessions.answer($0, $1) }
        defer { server.stop() }
        let wrong = HTTPURL.User(name: "ann", password: "wrong-word")
        let transport = try transport(SessionAuthenticator(wrong), to: server)
        let url = try server.url("/x")
        let error = await failure { _ = try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.code == .unauthorized && error?.isTransient == false && error?.status == 401)
        #expect(error?.serverError == "unauthorized")
        #expect(!"\(String(describing: error))".contains("wrong-word"))
    }

    @Test func `a server without sessions gets basic authentication`() async throws {
        let server = try LoopbackServer { request, connection in
            _ =
                request.target == "/_session"
                ? connection.respond(status: 404)
                : connection.respond(
                    status: 200, body: Array((request.headers["authorization"] ?? "").utf8))
        }
        defer { server.stop() }
        for authenticator in [SessionAuthenticator(user), BasicAuthenticator(user)]
            as [any HTTPAuthenticator]
        {
            let transport = try transport(authenticator, to: server)
            let response = try await transport.send(HTTPRequest(.get, try server.url("/x")))
            #expect(try await response.body.collect() == Array("Basic YW5uOnMmY3JldA==".utf8))
        }
    }

    @Test func `a bearer token is asked for once and again when it is refused`() async throws {
        let asked = Record<String>()
        let server = try LoopbackServer { request, connection in
            connection.respond(status: request.headers["authorization"] == "Bearer t2" ? 200 : 401)
        }
        defer { server.stop() }
        let authenticator = BearerAuthenticator { refused in
            asked.append(refused ?? "none")
            return refused == "t2" ? nil : "t\(asked.all.count)"
        }
        let transport = try transport(authenticator, to: server)
        for _ in 0..<3 {
            #expect(try await transport.send(HTTPRequest(.get, try server.url())).status == 200)
        }
        #expect(asked.all == ["none", "t1"])
    }

    @Test func `a token that cannot be renewed gives the 401 back after one request`() async throws
    {
        let count = Counter()
        let server = try LoopbackServer { _, connection in
            count.add(1)
            connection.respond(status: 401)
        }
        defer { server.stop() }
        let transport = try transport(BearerAuthenticator(token: "t"), to: server)
        #expect(try await transport.send(HTTPRequest(.get, try server.url())).status == 401)
        #expect(count.value == 1)
    }

    @Test func `proxy authentication names user, roles and token`() async throws {
        let server = try LoopbackServer { request, connection in
            let fields = ["username", "roles", "token"].map {
                request.headers["x-auth-couchdb-\($0)"] ?? "-"
            }
            connection.respond(status: 200, body: Array(fields.joined(separator: " ").utf8))
        }
        defer { server.stop() }
        let transport = try transport(
            ProxyAuthenticator(userName: "ann", roles: ["a", "b"], token: "ff"), to: server)
        let response = try await transport.send(HTTPRequest(.get, try server.url()))
        #expect(try await response.body.collect() == Array("ann a,b ff".utf8))
    }

    @Test func `credentials never go to another server`() async throws {
        let other = try LoopbackServer { request, connection in
            connection.respond(
                status: 200, body: Array((request.headers["authorization"] ?? "none").utf8))
        }
        defer { other.stop() }
        let server = try LoopbackServer { _, connection in
            connection.respond(
                status: 307, headers: [("Location", "http://localhost:\(other.port)/")])
        }
        defer { server.stop() }
        let transport = try transport(BasicAuthenticator(user), to: server)
        for url in [try other.url(), try server.url()] {
            let response = try await transport.send(HTTPRequest(.get, url))
            #expect(try await response.body.collect() == Array("none".utf8))
        }
    }

    @Test func `a login by OpenID Connect shows the page once, then refreshes its token`()
        async throws
    {
        let valid = Mutex("id1")
        let server = try LoopbackServer { request, connection in
            func tokens(_ id: String) {
                valid.withLock { $0 = id }
                let json = "{\"id_token\":\"\(id)\",\"refresh_token\":\"r\",\"session_id\":\"s\"}"
                connection.respond(status: 200, body: Array(json.utf8))
            }
            switch request.target {
            case "/db/_oidc_challenge?offline=true":
                connection.respond(
                    status: 401,
                    headers: [
                        ("WWW-Authenticate", "OIDC login=\"https://login.example.com/?a=1;b\"")
                    ])
            case "/db/_oidc_callback?code=c&state=x": tokens("id1")
            case "/db/_oidc_refresh?refresh_token=r": tokens("id2")
            default:
                let isValid = request.headers["authorization"] == "Bearer " + valid.withLock { $0 }
                connection.respond(status: isValid ? 200 : 401)
            }
        }
        defer { server.stop() }
        let pages = Record<String>()
        let authenticator = OpenIDConnectAuthenticator(database: try server.url("/db")) { page in
            pages.append(page)
            return "https://app.example.com/_oidc_callback?code=c&state=x"
        }
        let transport = try transport(authenticator, to: server)
        #expect(try await transport.send(HTTPRequest(.get, try server.url("/db/"))).status == 200)
        valid.withLock { $0 = "ended" }
        #expect(try await transport.send(HTTPRequest(.get, try server.url("/db/"))).status == 200)
        #expect(pages.all == ["https://login.example.com/?a=1;b"])
        #expect(authenticator.refreshToken == "r")
    }
}

@Suite struct HTTPErrorTests {
    @Test func `an answer's error, reason, status and delay become an error`() throws {
        let url = try HTTPURL("http://ann:secret@a/db/private-id")
        let body = Array("{\"error\":\"too_many\",\"reason\":\"Slow down.\"}".utf8)
        let head = HTTPResponseHead(status: 429, headers: ["Retry-After": "7"])
        let error = HTTPError.status(of: head, body: body, from: url)
        #expect(error.code == .refused && error.isTransient && error.status == 429)
        #expect(error.retryAfter == .seconds(7) && error.serverError == "too_many")
        #expect(error.message == "http://a answered 429: Slow down.")
        for status in [400, 401, 403, 404, 409, 412, 413, 415, 501] {
            #expect(!HTTPError.status(of: HTTPResponseHead(status: status), from: url).isTransient)
        }
        for status in [408, 500, 502, 503, 504] {
            #expect(HTTPError.status(of: HTTPResponseHead(status: status), from: url).isTransient)
        }
        let locked = HTTPResponseHead(status: 403, headers: ["Retry-After": "9"])
        #expect(HTTPError.status(of: locked, from: url).isTransient)
        let date = HTTPResponseHead(
            status: 503, headers: ["Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"])
        #expect(date.headers.retryAfter == nil)
    }

    @Test func `a web page where an answer should be is a captive portal`() throws {
        let url = try HTTPURL("http://a/db")
        for (status, type, isPortal) in [
            (200, "text/html; charset=utf-8", true), (511, "text/html", true),
            (200, "application/json", false), (200, "text/plain", false), (502, "text/html", false),
        ] {
            let head = HTTPResponseHead(status: status, headers: ["Content-Type": type])
            #expect(head.looksLikeCaptivePortal == isPortal)
            let response = HTTPResponse(head: head, body: HTTPBodyStream([]), url: url)
            if isPortal {
                #expect(throws: HTTPError.self) { try response.refuseCaptivePortal() }
            } else {
                try response.refuseCaptivePortal()
            }
        }
    }
}
