// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Logs in by OpenID Connect, as Sync Gateway offers it, with the app showing the login page.
///
/// ```
///   GET  db/_oidc_challenge?offline=true   ──►  401, WWW-Authenticate: OIDC login="https://…"
///   the app opens that page, the user logs in, the browser is sent to …/_oidc_callback?code=…
///   GET  db/_oidc_callback?code=…          ──►  id_token, refresh_token, session
///   every request: Authorization: Bearer id_token
///   401: GET db/_oidc_refresh?refresh_token=…   ──►  a new id_token; refused: the page again
/// ```
package final class OpenIDConnectAuthenticator: HTTPAuthenticator {
    /// Shows a login page; answers the URL that the browser was sent to in the end, or `nil` when the user gave up.
    package typealias LoginPage = @Sendable (_ login: String) async throws -> String?

    private struct Tokens: Sendable {
        var id: String
        var refresh: String?
    }

    private let database: HTTPURL
    private let firstRefreshToken: String?
    private let keepRefreshToken: @Sendable (String) -> Void
    private let showLoginPage: LoginPage
    private let tokens = Renewable<Tokens>()

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - database: The database's URL.
    ///   - refreshToken: A refresh token kept from an earlier login.
    ///   - keepRefreshToken: Gets each new refresh token.
    ///   - showLoginPage: Shows the page, and waits for the user.
    package init(
        database: HTTPURL, refreshToken: String? = nil,
        keepRefreshToken: @escaping @Sendable (String) -> Void = { _ in },
        showLoginPage: @escaping LoginPage
    ) {
        self.database = database
        firstRefreshToken = refreshToken
        self.keepRefreshToken = keepRefreshToken
        self.showLoginPage = showLoginPage
    }

    /// The refresh token of the last login, for the app to keep; a secret.
    package var refreshToken: String? { tokens.known?.refresh }

    /// Adds the `Authorization` field.
    package func prepare(_ request: inout HTTPRequest, using transport: any HTTPTransport)
        async throws
    {
        guard let tokens = try await tokens.current(login(by: transport)) else { return }
        request.headers["Authorization"] = "Bearer \(tokens.id)"
    }

    /// Renews the token, or shows the page again, unless the user has given up at that.
    package func recover(
        from head: HTTPResponseHead, to request: HTTPRequest, using transport: any HTTPTransport
    ) async throws -> Bool {
        let used = request.headers["Authorization"]
        let renewed = try await tokens.renewed(
            { "Bearer \($0.id)".hasSameBytes(as: used) }, by: login(by: transport))
        return renewed != nil
    }

    /// Gets tokens through the transport of the request that needs them, and so by what that trusts.
    private func login(by transport: any HTTPTransport) -> Renewable<Tokens>.Fetch {
        let login = Login(database: database, transport: transport, showLoginPage: showLoginPage)
        return { [firstRefreshToken, keepRefreshToken] refused in
            let refresh = refused == nil ? firstRefreshToken : refused?.refresh
            var tokens: Tokens?
            if let refresh { tokens = try await login.refresh(refresh) }
            if tokens == nil { tokens = try await login.begin() }
            if let new = tokens?.refresh, new != refresh { keepRefreshToken(new) }
            return tokens
        }
    }

    /// The conversation with Sync Gateway.
    private struct Login: Sendable {
        let database: HTTPURL
        let transport: any HTTPTransport
        let showLoginPage: LoginPage

        func refresh(_ token: String) async throws -> Tokens? {
            let response = try await ask(
                database.appending("_oidc_refresh", query: [("refresh_token", token)]))
            // A refused refresh token is not the end: the user may log in anew.
            guard response.head.isSuccess else {
                guard (400...499).contains(response.status) else {
                    throw await HTTPError.status(of: response)
                }
                await response.body.drain()
                return nil
            }
            return try await tokens(in: response, refresh: token)
        }

        func begin() async throws -> Tokens? {
            let challenge = try await ask(
                database.appending("_oidc_challenge", query: [("offline", "true")]))
            guard let login = Self.loginURL(in: challenge.head) else {
                throw await HTTPError.status(of: challenge)
            }
            await challenge.body.drain()
            guard let answer = try await showLoginPage(login),
                let question = answer.firstIndex(of: "?")
            else { return nil }
            var url = database.appending("_oidc_callback")
            url = url.replacingTarget(by: url.path + answer[question...])
            let response = try await ask(url)
            guard response.head.isSuccess else { throw await HTTPError.status(of: response) }
            return try await tokens(in: response, refresh: nil)
        }

        /// Asks the database's server, and takes the answer of no other.
        private func ask(_ url: HTTPURL) async throws -> HTTPResponse {
            let response = try await transport.send(HTTPRequest(.get, url))
            guard response.url.hasSameOrigin(as: database) else {
                throw HTTPError.badRedirect(
                    database, "to \(response.url.origin) for a login; name that server.")
            }
            return response
        }

        private func tokens(in response: HTTPResponse, refresh: String?) async throws -> Tokens? {
            try response.refuseCaptivePortal()
            let json = try? JSONParser.parse(try await response.body.collect(limit: 1 << 20))
            guard let id = json?["id_token"]?.string else {
                throw HTTPError(.malformedAnswer, "The login at \(database.origin) gave no token.")
            }
            return Tokens(id: id, refresh: json?["refresh_token"]?.string ?? refresh)
        }

        /// `WWW-Authenticate: OIDC login="https://…"`
        private static func loginURL(in head: HTTPResponseHead) -> String? {
            for value in head.headers.values(of: "WWW-Authenticate") {
                guard value.lowercased().hasBytePrefix("oidc ") else { continue }
                let login = HeaderParameters("oidc; \(value.dropFirst(5))")["login"]
                if let login { return login }
            }
            return nil
        }
    }
}
