// SPDX-License-Identifier: Apache-2.0

/// A request to a server.
///
/// ```swift
/// var request = HTTPRequest(.post, database.appending("_revs_diff"), json: offers)
/// request.headers["Accept"] = "application/json"
/// let response = try await transport.send(request)
/// ```
package struct HTTPRequest: Sendable {
    /// The body of a request.
    package enum Body: Sendable {
        /// None; `PUT` and `POST` say that its length is 0.
        case none
        /// Bytes in memory.
        case bytes([UInt8])
        /// Bytes that are made as they are sent. `length` is how many, where that is known; otherwise the body is
        /// sent in chunks, which CouchDB takes and some proxies do not. `open` begins the body; it is called once
        /// more each time the body must be sent again, after a redirect or with other credentials.
        case stream(length: Int?, open: @Sendable () async throws -> any HTTPBodySource)
    }

    /// The method.
    package var method: HTTPMethod
    /// Where it goes.
    package var url: HTTPURL
    /// The header fields, without `Host` and `Content-Length`.
    package var headers: HTTPHeaders
    /// The body.
    package var body: Body
    /// Whether the body is for the named server alone, such as a password: no redirect to another one takes it along.
    package var hasSecretBody = false
    /// How long to wait for what, where the transport's own timeouts do not fit.
    package var timeouts: HTTPTimeouts?
    /// Whether a gzip-coded answer is decoded here. Set to `false` for content that is stored as it came.
    package var decodesGzip = true

    /// Makes a request.
    package init(
        _ method: HTTPMethod, _ url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(),
        body: Body = .none
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Makes a request with a body of JSON, written already, that wants JSON back.
    package init(_ method: HTTPMethod, _ url: HTTPURL, json: [UInt8]) {
        self.init(
            method, url,
            headers: ["Accept": "application/json", "Content-Type": "application/json"],
            body: .bytes(json))
    }
}

/// An answer whose head has come.
package struct HTTPResponse: Sendable {
    /// Status and header fields.
    package var head: HTTPResponseHead
    /// The body, still to be read.
    package var body: HTTPBodyStream
    /// Where the answer came from: another place than asked, after a redirect.
    package var url: HTTPURL

    /// Makes an answer.
    package init(head: HTTPResponseHead, body: HTTPBodyStream, url: HTTPURL) {
        self.head = head
        self.body = body
        self.url = url
    }

    /// The status.
    package var status: Int { head.status }
    /// The header fields.
    package var headers: HTTPHeaders { head.headers }
}
