// SPDX-License-Identifier: Apache-2.0

/// What a server says to a request for a WebSocket.
///
/// ```swift
/// switch try await transport.openWebSocket(request, sending: options) {
/// case .open(let messages): for try await message in messages { … }
/// case .refused(let head): poll(after: head.status)
/// }
/// ```
package enum WebSocketAnswer: Sendable {
    /// It is open. Each piece of the stream is a whole message of the server's; empty ones are left out. Dropping
    /// the stream closes it.
    case open(HTTPBodyStream)
    /// The server speaks no WebSocket here, or not to this client.
    case refused(HTTPResponseHead)

    /// The same without the stream.
    enum Kind: Sendable {
        case open
        case refused(HTTPResponseHead)
    }
}

extension HTTPTransport {
    /// Refuses: most transports have none.
    package func openWebSocket(_ request: HTTPRequest, sending first: [UInt8]) async throws
        -> WebSocketAnswer
    {
        .refused(HTTPResponseHead(status: 501))
    }
}

extension CurlTransport {
    /// Opens a WebSocket and sends a first message on it. See `HTTPTransport`.
    ///
    /// It has a connection and a thread of its own. Pings are answered; `HTTPTimeouts.silence` bounds how long the
    /// server may say nothing at all. Redirects are not followed.
    package func openWebSocket(_ request: HTTPRequest, sending first: [UInt8]) async throws
        -> WebSocketAnswer
    {
        try Task.checkCancellation()
        var request = prepared(request)
        request.headers["Accept-Encoding"] = nil
        let thread = try WebSocketThread(withCookies(request), options, first: first)
        try thread.start()
        let messages = WebSocketMessages(thread)
        let kind = try await withTaskCancellationHandler {
            try await thread.state.answer()
        } onCancel: {
            messages.cancel()
        }
        return switch kind {
        case .open: .open(HTTPBodyStream(messages))
        case .refused(let head): .refused(head)
        }
    }
}

/// The messages of a WebSocket; the end of its last reference closes it.
private final class WebSocketMessages: HTTPBodySource {
    private let thread: WebSocketThread

    init(_ thread: WebSocketThread) { self.thread = thread }

    deinit { cancel() }

    func next() async throws -> [UInt8]? {
        try Task.checkCancellation()
        return try await withTaskCancellationHandler {
            try await thread.state.next { thread.wake() }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        thread.state.finish(.failure(CancellationError()))
        thread.wake()
    }
}
