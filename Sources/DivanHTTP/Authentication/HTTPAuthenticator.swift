// SPDX-License-Identifier: Apache-2.0

/// How requests say who sends them.
///
/// An authenticator gives each request what it needs, and is asked when a server answers 401 whether it can do
/// better. It may talk to the server itself, through the transport it is given.
///
/// ```
///   prepare(request) ──► send ──► 401? ──► recover ──► true: prepare, send once more
///                          │                  └──────► false: the 401 is the answer
///                          └──► accept(answer)             e.g. a renewed cookie
/// ```
///
/// What another server answers, which a request was sent on to, is no concern of it.
///
/// One authenticator may serve many requests at once: it keeps its state behind a lock, and logs in once for all that
/// wait. A wait ends when its task is cancelled.
package protocol HTTPAuthenticator: Sendable {
    /// Adds to a request what says who sends it.
    func prepare(_ request: inout HTTPRequest, using transport: any HTTPTransport) async throws

    /// Looks at an answer that is no 401.
    func accept(_ head: HTTPResponseHead, to request: HTTPRequest)

    /// Tries to get better credentials after a 401.
    ///
    /// - Parameters:
    ///   - head: The answer.
    ///   - request: The request, as it was prepared.
    ///   - transport: Where to send requests of its own.
    /// - Returns: Whether the request should be prepared and sent once more.
    /// - Throws: `HTTPError` when the credentials are refused or cannot be had, and what the app's functions throw.
    func recover(
        from head: HTTPResponseHead, to request: HTTPRequest, using transport: any HTTPTransport
    ) async throws -> Bool
}

extension HTTPAuthenticator {
    /// Does nothing.
    package func accept(_ head: HTTPResponseHead, to request: HTTPRequest) {}

    /// Answers `false`: there are no better credentials.
    package func recover(
        from head: HTTPResponseHead, to request: HTTPRequest, using transport: any HTTPTransport
    ) async throws -> Bool { false }
}

/// A transport whose requests an authenticator prepares.
///
/// ```swift
/// let transport = AuthenticatedTransport(try CurlTransport(), SessionAuthenticator(user))
/// ```
///
/// A request is sent at most twice. Credentials go only to `origin`: a request for another server is sent as it is.
package struct AuthenticatedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let authenticator: any HTTPAuthenticator
    private let origin: HTTPURL

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - transport: What sends.
    ///   - authenticator: What prepares.
    ///   - origin: A URL on the server that the credentials are for.
    package init(
        _ transport: any HTTPTransport, _ authenticator: any HTTPAuthenticator, origin: HTTPURL
    ) {
        self.transport = transport
        self.authenticator = authenticator
        self.origin = origin
    }

    /// Sends a request with credentials, and once more with better ones where there are any.
    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.url.hasSameOrigin(as: origin) else {
            return try await transport.send(request)
        }
        var prepared = request
        try await authenticator.prepare(&prepared, using: transport)
        let response = try await transport.send(prepared)
        guard response.url.hasSameOrigin(as: origin) else { return response }
        guard response.status == 401 else {
            authenticator.accept(response.head, to: prepared)
            return response
        }
        guard
            try await authenticator.recover(from: response.head, to: prepared, using: transport)
        else { return response }
        await response.body.drain()
        var again = request
        try await authenticator.prepare(&again, using: transport)
        let second = try await transport.send(again)
        if second.status != 401, second.url.hasSameOrigin(as: origin) {
            authenticator.accept(second.head, to: again)
        }
        return second
    }

    /// Opens a WebSocket with credentials, and tries once more with better ones where there are any.
    package func openWebSocket(_ request: HTTPRequest, sending first: [UInt8]) async throws
        -> WebSocketAnswer
    {
        guard request.url.hasSameOrigin(as: origin) else {
            return try await transport.openWebSocket(request, sending: first)
        }
        var prepared = request
        try await authenticator.prepare(&prepared, using: transport)
        let answer = try await transport.openWebSocket(prepared, sending: first)
        guard case .refused(let head) = answer, head.status == 401,
            try await authenticator.recover(from: head, to: prepared, using: transport)
        else { return answer }
        var again = request
        try await authenticator.prepare(&again, using: transport)
        return try await transport.openWebSocket(again, sending: first)
    }
}
