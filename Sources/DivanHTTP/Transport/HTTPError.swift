// SPDX-License-Identifier: Apache-2.0

/// What went wrong between this and a server.
///
/// ```swift
/// do { try await transport.send(request) } catch let error as HTTPError where error.isTransient {
///     try await Task.sleep(for: error.retryAfter ?? backoff)
/// }
/// ```
///
/// The code says what a caller can *do* about it; the message is one sentence for a human, without credentials and
/// without anything from a body but the server's own `reason`.
package struct HTTPError: Error, Sendable {
    /// The kinds of failure.
    @nonexhaustive
    package enum Code: String, Sendable, CaseIterable {
        /// The request cannot be sent as it is: a header or a URL breaks a rule.
        case invalidRequest
        /// No address is known for the host.
        case cannotResolve
        /// No server listens at the address, or it cannot be reached.
        case cannotConnect
        /// The proxy cannot be reached, or refuses.
        case proxyFailed
        /// The server's certificate is not trusted, or is not the one that was pinned.
        case untrusted
        /// The server's certificate is another one than at the first contact; see ``KnownHosts``.
        case certificateChanged
        /// The server and this could not agree on TLS, or the client certificate is unusable.
        case tlsFailed
        /// The server was silent for longer than allowed.
        case timedOut
        /// The connection ended before the answer was whole.
        case connectionLost
        /// What came is not HTTP.
        case malformedAnswer
        /// The answer is longer than allowed, or decodes to far more than came.
        case tooLarge
        /// The answer's coding is damaged.
        case damagedContent
        /// The server sent on too often, or to where this does not go.
        case badRedirect
        /// The network answered instead of the server: the user must log in with a browser first.
        case captivePortal
        /// The server wants other credentials: status 401.
        case unauthorized
        /// The server refused with another status.
        case refused
        /// The transport was closed.
        case closed
        /// There is no memory, or libcurl fails in a way that has no other name here.
        case other
    }

    /// What the caller can do about it.
    package var code: Code
    /// One sentence.
    package var message: String
    /// The status of the answer, where there was one.
    package var status: Int?
    /// The server's name for the failure, such as `not_found`, where it gave one.
    package var serverError: String?
    /// Whether trying again later may help.
    package var isTransient: Bool
    /// How long the server asked to be left alone.
    package var retryAfter: Duration?

    /// Makes an error.
    package init(
        _ code: Code, _ message: String, status: Int? = nil, isTransient: Bool = false,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.isTransient = isTransient
        self.retryAfter = retryAfter
    }
}

extension HTTPError: CustomStringConvertible {
    /// One line: the sentence, then the code.
    package var description: String {
        "\(message) (\(code.rawValue)\(status.map { ", HTTP \($0)" } ?? ""))"
    }
}
