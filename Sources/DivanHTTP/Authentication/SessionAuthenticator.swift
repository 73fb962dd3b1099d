// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// Logs in with a name and password and goes on with the session's cookie, as CouchDB's `_session` has it.
///
/// ```
///   POST /_session name=…&password=…  ──►  Set-Cookie: AuthSession=…      once, for all requests
///   every request: Cookie: AuthSession=…
///   answers may renew the cookie shortly before it ends                   taken without a new login
///   401: log in again, once, and send the request again
/// ```
///
/// A server without `_session` (404 or 405) gets the name and password by basic authentication instead. A login that is
/// refused with 401 throws `HTTPError` `.unauthorized`.
package final class SessionAuthenticator: HTTPAuthenticator {
    private static let cookieNames = ["AuthSession", "SyncGatewaySession"]

    /// What requests carry.
    private enum Session: Sendable, Equatable {
        case cookie(String)
        case basic
    }

    private struct State {
        var session: Session?
        var login: Task<Session, any Error>?
    }

    private let user: HTTPURL.User
    private let sessionPath: String
    private let state = Mutex(State())

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - user: Who logs in.
    ///   - sessionPath: The path of the session, from the server's root: `/_session` unless given; behind a proxy or
    ///     at Sync Gateway another, such as `/db/_session`.
    package init(_ user: HTTPURL.User, sessionPath: String = "/_session") {
        self.user = user
        self.sessionPath = sessionPath
    }

    /// Adds the cookie, after a login where there is none.
    package func prepare(_ request: inout HTTPRequest, using transport: any HTTPTransport)
        async throws
    {
        request.url.user = nil
        switch try await session(for: request.url, using: transport) {
        case .cookie(let cookie):
            request.headers["Cookie"] =
                request.headers["Cookie"].map { "\($0); \(cookie)" } ?? cookie
        case .basic: request.headers["Authorization"] = BasicCredentials.header(user)
        }
    }

    /// Takes a cookie that the server renewed.
    package func accept(_ head: HTTPResponseHead, to request: HTTPRequest) {
        guard let cookie = Self.cookie(in: head, from: request.url) else { return }
        state.withLock { state in
            if state.session != .basic { state.session = .cookie(cookie) }
        }
    }

    /// Logs in again, unless the session in use is newer than the one that was refused.
    package func recover(
        from head: HTTPResponseHead, to request: HTTPRequest, using transport: any HTTPTransport
    ) async throws -> Bool {
        let mustLogIn = state.withLock { state -> Bool in
            switch state.session {
            case .cookie(let cookie) where request.headers["Cookie"]?.contains(cookie) == true:
                state.session = nil
                return true
            case .basic: return false
            default: return true
            }
        }
        guard mustLogIn else { return false }
        _ = try await session(for: request.url, using: transport)
        return true
    }

    /// The session; one login serves all that ask at the same time.
    private func session(for url: HTTPURL, using transport: any HTTPTransport) async throws
        -> Session
    {
        enum Step {
            case ready(Session)
            case wait(Task<Session, any Error>)
        }
        let step = state.withLock { state -> Step in
            if let session = state.session { return .ready(session) }
            if let login = state.login { return .wait(login) }
            // Not the asking task's child: another task may wait for it too.
            let login = Task { try await self.logIn(url, using: transport) }
            state.login = login
            return .wait(login)
        }
        switch step {
        case .ready(let session): return session
        case .wait(let login): return try await login.value
        }
    }

    private func logIn(_ url: HTTPURL, using transport: any HTTPTransport) async throws -> Session {
        let result: Result<Session, any Error>
        do { result = .success(try await open(url, using: transport)) } catch {
            result = .failure(error)
        }
        state.withLock { state in
            state.login = nil
            state.session = try? result.get()
        }
        return try result.get()
    }

    private func open(_ url: HTTPURL, using transport: any HTTPTransport) async throws -> Session {
        let form = PercentEncoding.query([("name", user.name), ("password", user.password)])
        var request = HTTPRequest(
            .post, url.replacingTarget(by: sessionPath),
            headers: [
                "Accept": "application/json",
                "Content-Type": "application/x-www-form-urlencoded",
            ],
            body: .bytes(Array(form.utf8)))
        request.hasSecretBody = true
        let response = try await transport.send(request)
        if [404, 405].contains(response.status) {
            await response.body.drain()
            return .basic
        }
        guard response.head.isSuccess else { throw await HTTPError.status(of: response) }
        try response.refuseCaptivePortal()
        await response.body.drain()
        // A server that takes the login but keeps no session, as one without users does, needs no cookie.
        return Self.cookie(in: response.head, from: url).map { .cookie($0) } ?? .basic
    }

    private static func cookie(in head: HTTPResponseHead, from url: HTTPURL) -> String? {
        for field in head.headers.values(of: "Set-Cookie") {
            guard let cookie = HTTPCookieJar.Cookie(field, from: url),
                cookieNames.contains(cookie.name), !cookie.value.isEmpty
            else { continue }
            return "\(cookie.name)=\(cookie.value)"
        }
        return nil
    }
}
