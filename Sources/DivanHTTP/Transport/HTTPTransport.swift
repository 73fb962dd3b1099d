// SPDX-License-Identifier: Apache-2.0

/// Something that sends requests and brings back answers.
///
/// ```swift
/// let transport: any HTTPTransport = CurlTransport()
/// let response = try await transport.send(HTTPRequest(.get, url))
/// let bytes = try await response.body.collect()
/// ```
///
/// An answer of any status is an answer, not an error; `HTTPError.status(of:)` makes an error of one.
package protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the head of the answer.
    ///
    /// The request's body is asked for as the connection takes it, and the answer's body comes as it is asked for.
    /// Cancelling the task ends the exchange at once.
    ///
    /// - Throws: `HTTPError` when there is no answer, `CancellationError` when the task was cancelled, and what the
    ///   request's body throws.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Opens a WebSocket and sends a first message on it.
    ///
    /// - Parameters:
    ///   - request: A `GET`; the fields of the handshake are added.
    ///   - first: The message, as text; empty for none.
    /// - Returns: The messages of the server, or the head of its refusal.
    /// - Throws: As `send(_:)`.
    func openWebSocket(_ request: HTTPRequest, sending first: [UInt8]) async throws
        -> WebSocketAnswer
}
