// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

/// Logins that take long, that are given up, and that another server answers.
@Suite(.timeLimit(.minutes(5))) struct LoginTests {
    private let user = HTTPURL.User(name: "ann", password: "secret")

    private func transport(_ authenticator: any HTTPAuthenticator, to server: LoopbackServer) throws
        -> AuthenticatedTransport
    {
        AuthenticatedTransport(try CurlTransport.direct(), authenticator, origin: try server.url())
    }

    /// A server that sets a session's cookie of its own in every answer.
    private func stranger() throws -> LoopbackServer {
        try LoopbackServer { _, connection in
            connection.respond(
                status: 200, headers: [("Set-Cookie", "AuthSession=theirs; Path=/")])
        }
    }

    @Test
    func `a wait for a login ends with its task, and the login with the last task that waits`()
        async throws
    {
        let server = try LoopbackServer { $1.respond(status: 200) }
        defer { server.stop() }
        let (asked, cancelled, page) = (Counter(), Flag(), Gate())
        defer { page.open() }
        // Waits for a user, whatever becomes of its task.
        let authenticator = BearerAuthenticator { _ in
            asked.add()
            await withTaskCancellationHandler {
                await page.passed()
            } onCancel: {
                cancelled.set()
            }
            return "late"
        }
        let transport = try transport(authenticator, to: server)
        let request = HTTPRequest(.get, try server.url("/x"))
        let (ended, first) = (Flag(), Flag())
        let tasks = [first, ended].map { flag in
            Task {
                defer { flag.set() }
                return try await transport.send(request).status
            }
        }
        await eventually { asked.value == 1 }
        tasks[0].cancel()
        await eventually { first.isSet }
        #expect(!cancelled.isSet && !ended.isSet)
        tasks[1].cancel()
        await eventually { ended.isSet && cancelled.isSet }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        // The next request does not get what the cancelled login brings.
        let next = Task { try await transport.send(request).status }
        await eventually { asked.value == 2 }
        page.open()
        #expect(try await next.value == 200)
    }

    @Test func `a session's cookie is taken from its own server alone`() async throws {
        let other = try stranger()
        defer { other.stop() }
        let (cookies, wasRefused) = (Record<String>(), Flag())
        let server = try LoopbackServer { request, connection in
            let place = [("Location", "http://localhost:\(other.port)/")]
            switch request.target {
            case "/_session":
                connection.respond(
                    status: 200, headers: [("Set-Cookie", "AuthSession=own; Path=/")])
            case "/away": connection.respond(status: 302, headers: place)
            case "/again":
                let isSecond = wasRefused.set()
                connection.respond(
                    status: isSecond ? 302 : 401, headers: isSecond ? place : [])
            default:
                cookies.append(request.headers["cookie"] ?? "none")
                connection.respond(status: 200)
            }
        }
        defer { server.stop() }
        let transport = try transport(SessionAuthenticator(user), to: server)
        for target in ["/away", "/x", "/again", "/x"] {
            _ = try await transport.send(HTTPRequest(.get, try server.url(target)))
        }
        #expect(cookies.all == ["AuthSession=own", "AuthSession=own"])
    }

    @Test func `a login that another server answers brings no session`() async throws {
        let other = try stranger()
        defer { other.stop() }
        let server = try LoopbackServer { request, connection in
            let isLogin = request.target == "/_session"
            connection.respond(
                status: isLogin ? 303 : 200,
                headers: isLogin ? [("Location", "http://localhost:\(other.port)/")] : [],
                body: Array((request.headers["cookie"] ?? "none").utf8))
        }
        defer { server.stop() }
        let transport = try transport(SessionAuthenticator(user), to: server)
        let response = try await transport.send(HTTPRequest(.get, try server.url("/x")))
        #expect(try await response.body.collect() == Array("none".utf8))
    }

    /// A server with a login page, whose tokens come from `callback`.
    private func openIDServer(
        _ callback: @escaping @Sendable (LoopbackConnection) -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer { request, connection in
            switch request.target.split(separator: "?").first {
            case "/db/_oidc_challenge":
                connection.respond(
                    status: 401,
                    headers: [("WWW-Authenticate", #"OIDC login="https://login.example.com/""#)])
            case "/db/_oidc_callback": callback(connection)
            default:
                connection.respond(
                    status: request.headers["authorization"] == "Bearer id1" ? 200 : 401)
            }
        }
    }

    private static func giveTokens(_ connection: LoopbackConnection) {
        connection.respond(status: 200, body: Array(#"{"id_token":"id1"}"#.utf8))
    }

    @Test func `a user who gives up at the login page is not shown it again`() async throws {
        let server = try openIDServer(Self.giveTokens)
        defer { server.stop() }
        let pages = Record<String>()
        let authenticator = OpenIDConnectAuthenticator(database: try server.url("/db")) { page in
            pages.append(page)
            return pages.all.count == 1 ? nil : "https://app.example.com/?code=c"
        }
        let transport = try transport(authenticator, to: server)
        let request = HTTPRequest(.get, try server.url("/db/"))
        #expect(try await transport.send(request).status == 401)
        #expect(pages.all.count == 1)
        // The next request asks anew.
        #expect(try await transport.send(request).status == 200)
        #expect(pages.all.count == 2)
    }

    @Test func `a token is taken from the database's own server alone`() async throws {
        let other = try LoopbackServer { Self.giveTokens($1) }
        defer { other.stop() }
        let place = "http://localhost:\(other.port)/"
        let server = try openIDServer {
            $0.respond(status: 302, headers: [("Location", place)])
        }
        defer { server.stop() }
        let authenticator = OpenIDConnectAuthenticator(database: try server.url("/db")) { _ in
            "https://app.example.com/?code=c"
        }
        let transport = try transport(authenticator, to: server)
        let request = HTTPRequest(.get, try server.url("/db/"))
        let error = await failure { _ = try await transport.send(request) }
        #expect(error?.code == .badRedirect)
        #expect(authenticator.refreshToken == nil)
    }

    @Test func `a login goes the way of the request that needs it`() async throws {
        struct Refusing: HTTPTransport {
            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                throw HTTPError(.untrusted, "This one trusts no server.")
            }
        }
        let server = try openIDServer(Self.giveTokens)
        defer { server.stop() }
        let authenticator = OpenIDConnectAuthenticator(database: try server.url("/db")) { _ in
            "https://app.example.com/?code=c"
        }
        var request = HTTPRequest(.get, try server.url("/db/"))
        let direct = try CurlTransport.direct()
        await #expect(throws: HTTPError.self) {
            try await authenticator.prepare(&request, using: Refusing())
        }
        try await authenticator.prepare(&request, using: direct)
        #expect(request.headers["Authorization"] == "Bearer id1")
    }
}
