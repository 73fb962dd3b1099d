// SPDX-License-Identifier: Apache-2.0

package import DivanHTTP

/// A request to a database behind HTTP, as the protocol needs it.
package struct WireRequest: Sendable {
    /// What goes along.
    package enum Body: Sendable {
        /// Nothing.
        case none
        /// Bytes, with their media type.
        case bytes([UInt8], type: String)
        /// Pieces of a known total length, which can be read anew for another try.
        case pieces(length: Int, type: String, open: @Sendable () throws -> any WirePieces)
    }

    /// The method.
    package var method: HTTPMethod
    /// What is asked for, below the database, percent-encoded; empty for the database itself.
    package var path: String
    /// The query, not encoded.
    package var query: [(name: String, value: String)]
    /// What is taken as an answer.
    package var accept: String
    /// What goes along.
    package var body: Body
    /// How long the other end may be silent; nil for the usual.
    package var longestSilence: Duration?
    /// Whether the answer may be as long as attachments are.
    package var wantsContent = false
    /// Fields of its own.
    package var headers: HTTPHeaders = [:]
    /// Whether a coded answer comes as it is.
    package var keepsCoding = false
    /// Whether it may take long, or wait for its reader or writer: it then shares its connection with no other.
    var isLong: Bool {
        if case .pieces = body { return true }
        return wantsContent || longestSilence != nil
    }

    /// Makes a request for JSON.
    package init(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [],
        accept: String = "application/json", body: Body = .none
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.accept = accept
        self.body = body
    }
}

/// Bytes that come in pieces, one after the other, when they are asked for.
package protocol WirePieces: Sendable {
    /// The next piece; nil at the end.
    func next() async throws -> [UInt8]?
}

/// An answer whose body comes as it is read.
package struct WireResponse: Sendable {
    /// The status.
    package var status: Int
    /// The header fields.
    package var headers: HTTPHeaders
    /// The body, as it was before any transfer or content coding.
    package var body: any WirePieces

    /// Makes an answer.
    package init(status: Int, headers: HTTPHeaders, body: any WirePieces) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Carries requests to one database: what `HTTPPeer` speaks through, and tests stand in for.
///
/// It adds credentials and the app's header fields, keeps connections, follows redirects. A failure to
/// reach the server, or of the connection, is a transient `ReplicationError`.
package protocol WireConnection: Sendable {
    /// The database's URL without credentials.
    var name: String { get }
    /// Sends a request and gives the head of its answer.
    func respond(to request: WireRequest) async throws -> WireResponse
    /// Opens a WebSocket and sends a first message; each piece of the answer is a message. `nil` when the server
    /// has no WebSocket there.
    func openSocket(to request: WireRequest, sending first: [UInt8]) async throws
        -> (any WirePieces)?
}

extension WireConnection {
    /// Opens nothing: most connections have no WebSocket.
    package func openSocket(to request: WireRequest, sending first: [UInt8]) async throws
        -> (any WirePieces)?
    {
        nil
    }
}

extension WireResponse {
    /// The whole body, up to a limit.
    ///
    /// - Parameters:
    ///   - limit: The most bytes.
    ///   - now: What time it is.
    ///   - hold: Gets the number of bytes that are held already before each piece.
    /// - Returns: The body.
    /// - Throws: `ReplicationError`, also when it comes so slowly that it may never end.
    func bytes(
        limit: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        hold: (Int) async -> Void = { _ in }
    ) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var body = PacedBody(body, now: now)
        while let piece = try await body.next() {
            await hold(bytes.count)
            bytes += piece
            guard bytes.count <= limit else {
                throw ReplicationError(
                    .invalidAnswer, "An answer is longer than \(limit) bytes.")
            }
        }
        return bytes
    }

    /// Reads the rest of a body that is not used, so that its connection can be used again. Gives up where there is
    /// much, or where it may never end.
    func drain() async throws { _ = try await beginning() }

    /// What a body begins with: enough to explain an error, however long it is.
    func beginning(upTo limit: Int = 64 * 1_024) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        let began = ContinuousClock.now
        while bytes.count < limit, PacedBody.allows(bytes.count, in: began.duration(to: .now)),
            let piece = try await body.next()
        {
            bytes += piece
        }
        return bytes
    }
}

/// A body of bytes in memory.
package actor BytesPieces: WirePieces {
    private var pieces: [[UInt8]]

    /// Makes a body of one piece.
    package init(_ bytes: [UInt8]) { pieces = bytes.isEmpty ? [] : [bytes] }

    /// The piece, then nil.
    package func next() -> [UInt8]? { pieces.isEmpty ? nil : pieces.removeFirst() }
}
