// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

// All sentences of the transport's errors, together.
extension HTTPError {
    static func bodyTooLarge(_ limit: Int) -> HTTPError {
        HTTPError(.tooLarge, "The answer is longer than \(limit) bytes.")
    }

    static func invalidHeader(_ name: String) -> HTTPError {
        HTTPError(.invalidRequest, "The header '\(name)' has a name that HTTP does not allow.")
    }

    static func gzip(_ failure: GzipInflater.Failure) -> HTTPError {
        switch failure {
        case .damaged:
            HTTPError(.damagedContent, "The answer's gzip is damaged.", isTransient: true)
        case .truncated:
            HTTPError(.damagedContent, "The answer's gzip ends too early.", isTransient: true)
        case .tooLarge: HTTPError(.tooLarge, "The answer's gzip decodes to far more than it is.")
        }
    }

    /// A server that shows a certificate that none of the policy's fingerprints is of.
    static func otherFingerprint(_ server: ServerTrust) -> HTTPError {
        HTTPError(
            .untrusted,
            "The certificate of \(server.host), port \(server.port), has the fingerprint "
                + "\(server.fingerprint), which is none of those that are trusted; nothing was sent, ask "
                + "who runs the server for its fingerprint.")
    }

    /// A server that the app's closure does not trust.
    static func distrusted(_ server: ServerTrust) -> HTTPError {
        let why = server.problem.map { " (the system says: \($0))" } ?? ""
        return HTTPError(
            .untrusted,
            "The app does not trust the certificate of \(server.host), port \(server.port)\(why).")
    }

    /// What ssh says when the key of a host has changed, for TLS.
    static func certificateChanged(
        _ host: String, known: KnownHosts.Entry, shown: String, file: String
    ) -> HTTPError {
        HTTPError(
            .certificateChanged,
            "The certificate of \(host) is another one than at the first contact, so another server may "
                + "be answering in its place, and nothing was sent: known is \(known.fingerprint) (line "
                + "\(known.line) of '\(file)'), shown is \(shown); ask who runs the server whether its "
                + "certificate was renewed, and only then remove that line.")
    }

    static func knownHosts(_ file: String, _ problem: String) -> HTTPError {
        HTTPError(
            .untrusted,
            "The file of known hosts '\(file)' \(problem), so no server is trusted and nothing was sent."
        )
    }

    static func silent(_ url: HTTPURL, _ time: Duration, awaiting: String) -> HTTPError {
        HTTPError(
            .timedOut,
            "\(url.origin) was silent for \(time.words) while its \(awaiting) was awaited.",
            isTransient: true)
    }

    static let noMemory = HTTPError(.other, "There is no memory for a connection.")

    static func noThread(_ code: Int32) -> HTTPError {
        HTTPError(.other, "The system gives no thread for connections (error \(code)).")
    }

    static func endedInSocket(_ url: HTTPURL) -> HTTPError {
        HTTPError(
            .connectionLost, "The WebSocket with \(url.origin) ended without a word.",
            isTransient: true)
    }

    static func badFrames(_ url: HTTPURL, _ failure: WebSocketFrames.Failure) -> HTTPError {
        switch failure {
        case .malformed:
            HTTPError(
                .malformedAnswer, "\(url.origin) sent frames that are no WebSocket's.",
                isTransient: true)
        case .tooLong: HTTPError(.tooLarge, "A message of \(url.origin) is too long.")
        }
    }

    static let closed = HTTPError(.closed, "The transport was closed.")

    static func wrongLength(declared: Int) -> HTTPError {
        HTTPError(
            .invalidRequest, "The request's body is not the \(declared) bytes that were announced.")
    }

    static func headTooLong(_ url: HTTPURL) -> HTTPError {
        HTTPError(.malformedAnswer, "The head of the answer from \(url.origin) is too long.")
    }

    static func endedInHead(_ url: HTTPURL) -> HTTPError {
        HTTPError(
            .connectionLost, "The connection to \(url.origin) ended in the head of the answer.",
            isTransient: true)
    }

    static func tooManyRedirects(_ url: HTTPURL) -> HTTPError {
        HTTPError(.badRedirect, "\(url.origin) sends on in a circle, or too often.")
    }

    static func badRedirect(_ url: HTTPURL, _ reason: String) -> HTTPError {
        HTTPError(.badRedirect, "\(url.origin) sends on to where this does not go: \(reason)")
    }

    /// The error that says that the network wants the user to log in.
    static func captivePortal(_ url: HTTPURL) -> HTTPError {
        HTTPError(
            .captivePortal,
            "A web page came instead of an answer from \(url.origin); the network may want a login.",
            isTransient: true)
    }
}

extension HTTPError {
    /// Statuses that may be others after a while.
    private static let transientStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504, 511]

    /// Makes an error of an answer that is none of success.
    ///
    /// - Parameters:
    ///   - head: The answer's head.
    ///   - body: The answer's body, as far as it was read; CouchDB's `error` and `reason` are taken from it.
    ///   - url: Where the answer came from.
    /// - Returns: The error, with `Retry-After` where the server gave it.
    package static func status(of head: HTTPResponseHead, body: [UInt8] = [], from url: HTTPURL)
        -> HTTPError
    {
        let json = try? JSONParser.parse(body)
        let name = json?["error"]?.string
        // Old servers put the sentence in `error` and have no `reason`.
        let reason = json?["reason"]?.string ?? name ?? "no reason given"
        let after = head.headers.retryAfter
        // A 403 that says when it ends is one of a name that is locked for a while.
        let isTransient =
            transientStatuses.contains(head.status) || head.status == 403 && after != nil
        var error = HTTPError(
            head.status == 401 ? .unauthorized : .refused,
            "\(url.origin) answered \(head.status): \(reason.prefix(300))",
            status: head.status, isTransient: isTransient, retryAfter: after.map { .seconds($0) })
        error.serverError = name
        return error
    }

    /// Reads what explains a failure from an answer's body, and makes an error of it.
    ///
    /// - Parameter response: An answer whose status is none of success.
    /// - Returns: The error.
    package static func status(of response: HTTPResponse) async -> HTTPError {
        let body = (try? await response.body.collect(limit: 64 * 1_024)) ?? []
        return status(of: response.head, body: body, from: response.url)
    }
}

extension HTTPResponseHead {
    /// Whether this looks like the page of a network that wants a login: a successful answer in HTML. No database
    /// server answers a replication so.
    package var looksLikeCaptivePortal: Bool {
        guard isSuccess || status == 511, let type = headers["Content-Type"] else { return false }
        return ["text/html", "application/xhtml+xml"].contains(HeaderParameters(type).value)
    }
}

extension HTTPResponse {
    /// Throws when the network answered instead of the server.
    ///
    /// - Throws: `HTTPError` with code `.captivePortal`, which is transient.
    package func refuseCaptivePortal() throws {
        if head.looksLikeCaptivePortal { throw HTTPError.captivePortal(url) }
    }
}
