// SPDX-License-Identifier: Apache-2.0

package import DivanHTTP

/// The head of a request, as it came over the wire: nothing is decoded.
package struct RequestHead: Sendable {
    /// The method, such as `GET` or `COPY`.
    package var method: String
    /// The target as the client wrote it, with its percent escapes and its query.
    package var target: String
    /// The header fields.
    package var headers: HTTPHeaders
    /// Whether it came through TLS.
    package var isSecure = false
    /// The network that the client is in, where it gives a password; it only tells apart those who guess.
    package var network = ""

    /// What the request is called, so that a client can find it in a log; nil where no server has given it a name.
    package var identifier: String?
    /// How long its body took to come, in milliseconds.
    package var bodyTime = 0

    /// What the client has shown of itself over TLS.
    package var certificate = PresentedCertificate()

    /// Makes the head of a request.
    package init(method: String, target: String, headers: HTTPHeaders = HTTPHeaders()) {
        self.method = method
        self.target = target
        self.headers = headers
    }

    /// The length that the client declared of the body; nil when it did not, or wrote no number.
    package var declaredLength: Int? { headers["Content-Length"].flatMap { Int($0, radix: 10) } }

    /// Whether a body follows, even if nothing is in it: until its end has come, any time may pass.
    var announcesBody: Bool {
        headers["Transfer-Encoding"] != nil || headers["Content-Length"] ?? "0" != "0"
    }
}

/// A request that has come whole: its head, and its body in memory or in a file of its own.
package struct ListenerRequest: Sendable {
    /// The head.
    package var head: RequestHead
    /// The body.
    package var body: RequestBody
    /// Who makes it, if that is known already.
    package var identity: Identity?

    /// Makes a request.
    package init(_ head: RequestHead, body: RequestBody = .bytes([])) {
        self.head = head
        self.body = body
    }
}
