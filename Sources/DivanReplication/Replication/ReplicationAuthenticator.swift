// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// How a replication tells a server who it is.
///
/// ```swift
/// pull.authenticator = .session(name: "ann", password: password)
/// ```
///
/// A name and password in the URL mean `.basic`. Credentials go to the URL's server only, never to where it sends
/// a request on.
public struct ReplicationAuthenticator: Sendable {
    let authenticator: any HTTPAuthenticator

    /// Sends a name and password with each request.
    ///
    /// CouchDB takes long to check a password, so `.session` is faster there.
    public static func basic(name: String, password: String) -> ReplicationAuthenticator {
        ReplicationAuthenticator(
            authenticator: BasicAuthenticator(HTTPURL.User(name: name, password: password)))
    }

    /// Logs in at `_session`, keeps the cookie, and logs in again when it has expired.
    public static func session(name: String, password: String) -> ReplicationAuthenticator {
        ReplicationAuthenticator(
            authenticator: SessionAuthenticator(HTTPURL.User(name: name, password: password)))
    }

    /// Sends a token with each request.
    public static func bearer(token: String) -> ReplicationAuthenticator {
        ReplicationAuthenticator(authenticator: BearerAuthenticator(token: token))
    }

    /// Sends a token that a closure gives, and asks it for another one when the server refuses that.
    ///
    /// The closure gets the token that was refused, nil at first, and returns nil when there is none.
    public static func bearer(
        _ provider: @escaping @Sendable (_ expired: String?) async throws -> String?
    ) -> ReplicationAuthenticator {
        ReplicationAuthenticator(authenticator: BearerAuthenticator(provider))
    }

    /// Sends what CouchDB's proxy authentication reads: a name, roles, and a token made of a shared secret.
    public static func proxy(
        userName: String, roles: [String] = [], token: String? = nil
    ) -> ReplicationAuthenticator {
        ReplicationAuthenticator(
            authenticator: ProxyAuthenticator(userName: userName, roles: roles, token: token))
    }
}
