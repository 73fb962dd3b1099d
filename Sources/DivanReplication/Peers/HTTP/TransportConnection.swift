// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import Synchronization

/// Carries a peer's requests by an HTTP transport: the app's header fields, credentials, time limits.
struct TransportConnection: WireConnection {
    private let transport: any HTTPTransport
    /// Sends what may take long.
    private let patient: any HTTPTransport
    private let database: HTTPURL
    private let headers: HTTPHeaders
    /// Where cookies are kept; nil for none.
    var cookies: HTTPCookieJar?
    /// How long to wait for the server.
    var timeouts = HTTPTimeouts()
    /// Whether requests are sent as gzip; nil for not.
    var compression: RequestCompression?

    /// The database's URL without credentials.
    let name: String

    /// - Parameters:
    ///   - database: The database's URL; a user in it signs in by `authenticator` or by name and password.
    ///   - transport: What sends.
    ///   - patient: What sends requests that may take long, where that is another one.
    ///   - headers: The app's fields for each request.
    ///   - authenticator: Says who sends.
    init(
        _ database: HTTPURL, by transport: any HTTPTransport,
        patient: (any HTTPTransport)? = nil, headers: HTTPHeaders,
        authenticator: (any HTTPAuthenticator)?
    ) {
        var database = database
        let user = database.user
        database.user = nil
        self.database = database
        self.headers = headers
        name = HTTPURL.shown(database.description)
        let chosen = authenticator ?? user.map { BasicAuthenticator($0) }
        func signed(_ transport: any HTTPTransport) -> any HTTPTransport {
            chosen.map { AuthenticatedTransport(transport, $0, origin: database) } ?? transport
        }
        self.transport = signed(transport)
        self.patient = signed(patient ?? transport)
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        do {
            let plain = sent(request)
            let coded = compression?.coded(plain)
            let transport = request.isLong ? patient : transport
            var response = try await transport.send(coded ?? plain)
            if coded != nil, response.status == 415 {
                compression?.giveUp()
                await response.body.drain()
                response = try await transport.send(plain)
            }
            cookies?.take(from: response.headers, of: response.url)
            return WireResponse(
                status: response.status, headers: response.headers,
                body: ReceivedPieces(stream: response.body, name: name))
        } catch let error as HTTPError {
            throw ReplicationError(error, at: name)
        }
    }

    func openSocket(to request: WireRequest, sending first: [UInt8]) async throws
        -> (any WirePieces)?
    {
        do {
            switch try await patient.openWebSocket(sent(request), sending: first) {
            case .open(let messages): return ReceivedPieces(stream: messages, name: name)
            case .refused(let head):
                guard [401, 403, 407, 429, 500, 502, 503, 504].contains(head.status) else {
                    return nil
                }
                throw HTTPError.status(of: head, from: database)
            }
        } catch let error as HTTPError {
            throw ReplicationError(error, at: name)
        }
    }

    /// The request as the transport takes it.
    private func sent(_ request: WireRequest) -> HTTPRequest {
        let isDatabase = request.path.isEmpty && request.query.isEmpty
        var sent = HTTPRequest(
            request.method,
            isDatabase ? database : database.appending(request.path, query: request.query))
        sent.headers["Accept"] = request.accept
        sent.headers[StoredDigests.field] = StoredDigests.value
        sent.headers.merge(headers)
        sent.headers.merge(request.headers)
        sent.decodesGzip = !request.keepsCoding
        if let kept = cookies?.header(for: sent.url) {
            sent.headers["Cookie"] = sent.headers["Cookie"].map { "\($0); \(kept)" } ?? kept
        }
        switch request.body {
        case .none: break
        case .bytes(let bytes, let type):
            sent.headers["Content-Type"] = type
            sent.body = .bytes(bytes)
        case .pieces(let length, let type, let open):
            sent.headers["Content-Type"] = type
            sent.body = .stream(length: length) { SentPieces(pieces: try open()) }
        }
        var timeouts = timeouts
        if let silence = request.longestSilence {
            timeouts.silence = silence
            timeouts.head = max(timeouts.head, silence)
        }
        sent.timeouts = timeouts
        return sent
    }
}

/// Codes longer requests of one peer as gzip, until the server does not take that.
///
/// State: whether it was given up.
final class RequestCompression: Sendable {
    /// Shorter bodies are not worth it.
    private static let shortest = 1_024
    private let isOver = Atomic(false)

    func giveUp() { isOver.store(true, ordering: .relaxed) }

    /// The request in gzip; nil where it goes as it is.
    func coded(_ request: HTTPRequest) -> HTTPRequest? {
        guard !isOver.load(ordering: .relaxed), case .bytes(let bytes) = request.body,
            bytes.count >= Self.shortest,
            request.headers["Content-Type"]?.hasBytePrefix("application/json") ?? false,
            let coded = GzipCoding.encode(bytes), coded.count < bytes.count
        else { return nil }
        var request = request
        request.body = .bytes(coded)
        request.headers["Content-Encoding"] = "gzip"
        return request
    }
}

/// A request's body, as the transport asks for it.
private struct SentPieces: HTTPBodySource {
    let pieces: any WirePieces

    func next() async throws -> [UInt8]? { try await pieces.next() }
}

/// An answer's body, as a peer asks for it.
private struct ReceivedPieces: WirePieces {
    let stream: HTTPBodyStream
    let name: String

    func next() async throws -> [UInt8]? {
        // All iterators of a stream take from the same bytes.
        var iterator = stream.makeAsyncIterator()
        do { return try await iterator.next() } catch let error as HTTPError {
            throw ReplicationError(error, at: name)
        }
    }
}

extension ReplicationError {
    /// Takes an error of the transport.
    init(_ error: HTTPError, at name: String) {
        let code: Code =
            switch error.code {
            case .untrusted, .tlsFailed: .untrusted
            case .certificateChanged: .certificateChanged
            case .timedOut: .timeout
            case .unauthorized: .unauthorized
            case .cannotResolve, .cannotConnect, .proxyFailed, .connectionLost, .closed:
                .unreachable
            case .invalidRequest: .invalidSetting
            case .refused, .other: .server
            default: .invalidAnswer
            }
        self.init(
            code, "'\(name)': \(error.message)", status: error.status,
            isTransient: error.isTransient,
            underlying: error)
        retryAfter = error.retryAfter.map { Double($0.components.seconds) }
    }
}
