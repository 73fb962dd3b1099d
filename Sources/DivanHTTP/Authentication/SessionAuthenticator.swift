// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

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
/// refused with 401 throws `HTTPError` `.unauthorized`. It is for one server: another has other sessions.
package final class SessionAuthenticator: HTTPAuthenticator {
    private static let cookieNames = ["AuthSession", "SyncGatewaySession"]

    /// What requests carry.
    private enum Session: Sendable, Equatable {
        case cookie(String)
        case basic
    }

    private let user: HTTPURL.User
    private let sessionPath: String
    private let session = Renewable<Session>()

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
        switch try await session.current(login(at: request.url, using: transport)) {
        case .cookie(let cookie):
            request.headers["Cookie"] =
                request.headers["Cookie"].map { "\($0); \(cookie)" } ?? cookie
        case .basic: request.headers["Authorization"] = BasicCredentials.header(user)
        case nil: break
        }
    }

    /// Takes a cookie that the server renewed.
    package func accept(_ head: HTTPResponseHead, to request: HTTPRequest) {
        guard let cookie = Self.cookie(in: head, from: request.url) else { return }
        session.update { if $0 != .basic { $0 = .cookie(cookie) } }
    }

    /// Logs in again, unless the session in use is newer than the one that was refused.
    package func recover(
        from head: HTTPResponseHead, to request: HTTPRequest, using transport: any HTTPTransport
    ) async throws -> Bool {
        guard session.known != .basic else { return false }
        let renewed = try await session.renewed(
            { session in
                guard case .cookie(let cookie) = session else { return false }
                return request.headers["Cookie"]?.contains(cookie) ?? false
            }, by: login(at: request.url, using: transport))
        return renewed != nil
    }

    private func login(at url: HTTPURL, using transport: any HTTPTransport)
        -> Renewable<Session>
        .Fetch
    {
        { [self] _ in try await open(url, using: transport) }
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
        // A server that takes the login but keeps no session, as one without users does, needs no cookie. One of another
        // server, which the login was sent on to, is not for this one.
        guard response.url.hasSameOrigin(as: url),
            let cookie = Self.cookie(in: response.head, from: url)
        else { return .basic }
        return .cookie(cookie)
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
