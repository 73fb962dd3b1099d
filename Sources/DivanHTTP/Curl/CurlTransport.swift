// SPDX-License-Identifier: Apache-2.0

/// The transport of Divan: libcurl, one thread, connections that are kept.
///
/// ```swift
/// let transport = try CurlTransport()
/// let response = try await transport.send(HTTPRequest(.get, url))
/// for try await bytes in response.body { … }
/// transport.close()
/// ```
///
/// ```
///   send ─► redirects, cookies, credentials of the URL        any task
///            └► CurlTransfer ◄── pieces, pauses ──► CurlLoop   one thread: libcurl's multi handle
///   response.body ◄── gunzip, only as asked for
/// ```
///
/// - Connections are kept alive and used again, HTTP/1.1 unless ``Options/allowsHTTP2``. A paused HTTP/2 stream
///   pauses its neighbours on the same connection, so it is not for attachments.
/// - Both bodies stream with backpressure: a reader that stops holds at most a quarter of a megabyte, and the server is
///   made to wait.
/// - gzip is asked for and decoded here, piece by piece and within limits. Other codings are not asked for.
/// - Redirects are followed up to ten times. To another origin only harmless header fields go along, no credentials
///   and no cookies of this one; from `https` to `http` nothing goes at all. 303 becomes a `GET`, the others keep their
///   method and send the body again.
/// - Every transport has one trust policy and its own connections, since a connection opened under one policy must
///   not serve another.
/// - Timeouts run on a clock that goes on while the system sleeps and that no change of date moves.
///
/// Nothing of what is sent or received is logged.
package final class CurlTransport: HTTPTransport {
    /// How a transport behaves.
    package struct Options: Sendable {
        /// Which servers are trusted.
        package var trust = TrustPolicy.system
        /// The certificate that is shown to servers that ask.
        package var clientCertificate: ClientCertificate?
        /// Through which proxy to go.
        package var proxy = HTTPProxy.environment
        /// The network interface that requests leave by; nil for whichever leads there.
        package var interface: String?
        /// Whether HTTP/2 may be used over TLS.
        package var allowsHTTP2 = false
        /// How long to wait.
        package var timeouts = HTTPTimeouts()
        /// Fields for every request that does not set them itself.
        package var headers: HTTPHeaders = ["User-Agent": "Divan"]
        /// Where cookies are kept; `nil` for none.
        package var cookies: HTTPCookieJar?
        /// Whether redirects are followed.
        package var followsRedirects = true
        /// How much a gzip-coded answer may decode to.
        package var gzipLimits = GzipInflater.Limits()

        /// Makes the usual options.
        package init() {}
    }

    private static let redirectLimit = 10

    /// How this transport behaves.
    package let options: Options
    private let loop: CurlLoop

    /// Makes a transport and starts its thread.
    ///
    /// - Throws: `HTTPError` when there is no memory or no thread.
    package init(_ options: Options = Options()) throws {
        self.options = options
        loop = try CurlLoop()
    }

    deinit { loop.stop() }

    /// Ends everything under way with `HTTPError` `.closed`, and closes all connections. Does not wait.
    package func close() { loop.stop() }

    /// Whether everything is closed after ``close()``.
    package var isClosed: Bool { loop.hasEnded }

    /// Sends a request. See `HTTPTransport`.
    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = prepared(request)
        for _ in 0...Self.redirectLimit {
            let response = try await exchange(request)
            options.cookies?.take(from: response.headers, of: request.url)
            guard options.followsRedirects, let next = try Redirect.next(request, response.head)
            else { return response }
            await response.body.drain()
            request = next
        }
        throw HTTPError.tooManyRedirects(request.url)
    }

    /// A request with what goes along with each.
    func prepared(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        for field in options.headers where request.headers[field.name] == nil {
            request.headers[field.name] = field.value
        }
        if let user = request.url.user {
            request.url.user = nil
            if request.headers["Authorization"] == nil {
                request.headers["Authorization"] = BasicCredentials.header(user)
            }
        }
        if request.decodesGzip, request.headers["Accept-Encoding"] == nil {
            request.headers["Accept-Encoding"] = "gzip"
        }
        return request
    }

    /// One request and its answer, whatever it is.
    private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let request = withCookies(request)
        let timeouts = request.timeouts ?? options.timeouts
        let transfer = CurlTransfer(request, timeouts: timeouts)
        let settings = CurlSettings(request, options, timeouts: timeouts)
        let source = CurlBody(
            transfer, loop, of: self, upload: upload(of: request, to: transfer))
        let head = try await withTaskCancellationHandler {
            try await transfer.head { loop.post(.start(transfer, settings)) }
        } onCancel: {
            source.cancel()
        }
        return HTTPResponse(head: head, body: body(source, request, head), url: request.url)
    }

    /// A request with the cookies that are meant for its server.
    func withCookies(_ request: HTTPRequest) -> HTTPRequest {
        guard let jar = options.cookies, let cookies = jar.header(for: request.url) else {
            return request
        }
        var request = request
        let own = request.headers["Cookie"]
        request.headers["Cookie"] = own.map { "\($0); \(cookies)" } ?? cookies
        return request
    }

    /// The task that makes the request's body, where it is made as it is sent.
    private func upload(of request: HTTPRequest, to transfer: CurlTransfer) -> Task<Void, Never>? {
        guard case .stream(_, let open) = request.body else { return nil }
        return Task { [loop] in
            do {
                let source = try await open()
                while let piece = try await source.next() {
                    try await transfer.offer(piece) { loop.post(.resume(transfer)) }
                }
                transfer.endUpload { loop.post(.resume(transfer)) }
            } catch {
                // An answer that came before the body was whole is an answer all the same; see `offer`.
                if transfer.finish(.failure(error)) { loop.post(.remove(transfer)) }
            }
        }
    }

    private func body(_ source: CurlBody, _ request: HTTPRequest, _ head: HTTPResponseHead)
        -> HTTPBodyStream
    {
        let isGzip = ["gzip", "x-gzip"].contains(head.headers["Content-Encoding"]?.lowercased())
        guard request.decodesGzip, isGzip, request.method != .head else {
            return HTTPBodyStream(source)
        }
        return HTTPBodyStream(InflatedSource(source, limits: options.gzipLimits))
    }
}
