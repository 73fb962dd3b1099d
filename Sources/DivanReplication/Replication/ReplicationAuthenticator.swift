// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import Synchronization

/// How a replication tells a server who it is.
///
/// ```swift
/// let pull = database.pull(from: url) {
///     $0.authenticator = .session(name: "ann", password: password)
/// }
/// ```
///
/// A name and password in the URL mean `.basic`. Credentials go to the URL's server only, never to where it sends
/// a request on.
public struct ReplicationAuthenticator: Sendable {
    /// Makes what speaks to a database's server, or gives what it made before.
    let authenticator: @Sendable (_ database: HTTPURL) -> any HTTPAuthenticator

    /// The name that it signs in with; nil where a token says who it is.
    var userName: String?
    /// The name with the password; nil where there is none.
    var user: HTTPURL.User?

    private init(_ fixed: any HTTPAuthenticator, name: String? = nil) {
        authenticator = { _ in fixed }
        userName = name
    }

    private init(
        user: HTTPURL.User? = nil,
        making: @escaping @Sendable (_ database: HTTPURL) -> any HTTPAuthenticator
    ) {
        authenticator = making
        userName = user?.name
        self.user = user
    }

    /// Sends a name and password with each request.
    ///
    /// CouchDB takes long to check a password, so `.session` is faster there.
    public static func basic(name: String, password: String) -> ReplicationAuthenticator {
        let user = HTTPURL.User(name: name, password: password)
        return ReplicationAuthenticator(user: user) { _ in BasicAuthenticator(user) }
    }

    /// Logs in at `_session`, keeps the cookie, and logs in again when it has expired.
    ///
    /// All replications with one server that have this value share its session; each other server has one of its own.
    public static func session(name: String, password: String) -> ReplicationAuthenticator {
        let (logins, user) = (Logins(), HTTPURL.User(name: name, password: password))
        return ReplicationAuthenticator(user: user) { database in
            logins.login(at: database.replacingTarget(by: "/")) { SessionAuthenticator(user) }
        }
    }

    /// Sends a token with each request.
    public static func bearer(token: String) -> ReplicationAuthenticator {
        ReplicationAuthenticator(BearerAuthenticator(token: token))
    }

    /// Sends a token that a closure gives, and asks it for another one when the server refuses that.
    ///
    /// The closure gets the token that was refused, nil at first, and returns nil when there is none.
    public static func bearer(
        _ provider: @escaping @Sendable (_ expired: String?) async throws -> String?
    ) -> ReplicationAuthenticator {
        ReplicationAuthenticator(BearerAuthenticator(provider))
    }

    /// Sends what CouchDB's proxy authentication reads: a name, roles, and a token made of a shared secret.
    public static func proxy(
        userName: String, roles: [String] = [], token: String? = nil
    ) -> ReplicationAuthenticator {
        ReplicationAuthenticator(
            ProxyAuthenticator(userName: userName, roles: roles, token: token), name: userName)
    }

    /// Logs in by OpenID Connect, as Sync Gateway offers it, with the app showing the login page.
    ///
    /// ```swift
    /// let pull = database.pull(from: url) {
    ///     $0.authenticator = .openIDConnect(refreshToken: keychain.token) { page in
    ///         await browser.show(page)            // the URL to which the browser was sent in the end
    ///     } keepRefreshToken: { keychain.token = $0 }
    /// }
    /// ```
    ///
    /// The token of a login is renewed by its refresh token as long as the server takes that; then the page is
    /// shown again. One login serves all requests, and all replications with one database that have this value.
    ///
    /// A replication that is stopped waits no longer for the page. The closure is cancelled then, as a task is, unless
    /// another replication waits for it.
    ///
    /// - Parameters:
    ///   - refreshToken: A refresh token of an earlier login.
    ///   - showLoginPage: Shows the page at a URL; gives the URL to which the browser was sent in the end, or nil
    ///     when the user gave up, which ends in `.unauthorized`.
    ///   - keepRefreshToken: Gets each new refresh token, which is a secret.
    /// - Returns: The setting.
    public static func openIDConnect(
        refreshToken: String? = nil,
        showLoginPage: @escaping @Sendable (_ page: String) async throws -> String?,
        keepRefreshToken: @escaping @Sendable (String) -> Void = { _ in }
    ) -> ReplicationAuthenticator {
        let logins = Logins()
        return ReplicationAuthenticator { database in
            logins.login(at: database) {
                OpenIDConnectAuthenticator(
                    database: database, refreshToken: refreshToken,
                    keepRefreshToken: keepRefreshToken, showLoginPage: showLoginPage)
            }
        }
    }
}

/// The logins of one setting, one for each place that it is used for, so that what they got outlives a single run and goes
/// nowhere else.
///
/// State: the table, guarded by its mutex.
private final class Logins: Sendable {
    private let logins = Mutex<[HTTPURL: any HTTPAuthenticator]>([:])

    func login(at place: HTTPURL, _ make: () -> any HTTPAuthenticator) -> any HTTPAuthenticator {
        logins.withLock { logins in
            let login = logins[place] ?? make()
            logins[place] = login
            return login
        }
    }
}
