// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Sends a name and password with every request, without being asked first.
///
/// CouchDB hashes the password slowly each time, so a ``SessionAuthenticator`` is better for long work.
package struct BasicAuthenticator: HTTPAuthenticator {
    private let header: String

    /// Makes an authenticator.
    package init(_ user: HTTPURL.User) { header = BasicCredentials.header(user) }

    /// Adds the `Authorization` field.
    package func prepare(_ request: inout HTTPRequest, using transport: any HTTPTransport) {
        request.headers["Authorization"] = header
        request.url.user = nil
    }
}

/// Sends a bearer token (RFC 6750), which a function of the app's renews.
///
/// The function is called before the first request and after each 401 to the token in use; a JSON web token, an OAuth
/// access token and CouchDB's JWT authentication look alike here.
package final class BearerAuthenticator: HTTPAuthenticator {
    /// Gives a token; `expired` is the one that the server refused, `nil` the first time.
    package typealias TokenProvider = @Sendable (_ expired: String?) async throws -> String?

    private let provider: TokenProvider
    private let token = Renewable<String>()

    /// Makes an authenticator with a token that cannot be renewed.
    package init(token: String) { provider = { expired in expired == nil ? token : nil } }

    /// Makes an authenticator whose tokens the app gives.
    package init(_ provider: @escaping TokenProvider) { self.provider = provider }

    /// Adds the `Authorization` field.
    package func prepare(_ request: inout HTTPRequest, using transport: any HTTPTransport)
        async throws
    {
        guard let token = try await token.current(provider) else { return }
        request.headers["Authorization"] = "Bearer \(token)"
    }

    /// Asks for another token.
    package func recover(
        from head: HTTPResponseHead, to request: HTTPRequest, using transport: any HTTPTransport
    ) async throws -> Bool {
        let used = request.headers["Authorization"]
        return try await token.renewed({ "Bearer \($0)".hasSameBytes(as: used) }, by: provider)
            != nil
    }
}

/// Says who sends by the fields that CouchDB's proxy authentication trusts.
///
/// CouchDB must have the same secret; the token is then the HMAC of the user's name, which the app or its proxy
/// makes: without it, CouchDB trusts the name alone.
package struct ProxyAuthenticator: HTTPAuthenticator {
    private let headers: HTTPHeaders

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - userName: The user.
    ///   - roles: The user's roles.
    ///   - token: The token, in lower-case hex, where the server wants one.
    package init(userName: String, roles: [String] = [], token: String? = nil) {
        var headers: HTTPHeaders = [
            "X-Auth-CouchDB-UserName": userName,
            "X-Auth-CouchDB-Roles": roles.joined(separator: ","),
        ]
        headers["X-Auth-CouchDB-Token"] = token
        self.headers = headers
    }

    /// Adds the three fields.
    package func prepare(_ request: inout HTTPRequest, using transport: any HTTPTransport) {
        request.headers.merge(headers)
    }
}
