// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanModel
import Synchronization
import Testing

@testable import DivanReplication

/// A server whose answers never end.
private final class EndlessServer: WireConnection {
    let name = "http://endless/db"
    let status: Int
    let headers: HTTPHeaders
    let start: String
    let more: @Sendable (Int) -> String
    /// The pieces that were taken.
    let taken = Mutex(0)

    init(
        _ status: Int, type: String = "application/json", start: String = "",
        more: @escaping @Sendable (Int) -> String
    ) {
        self.status = status
        self.start = start
        self.more = more
        headers = ["Content-Type": type]
    }

    private struct Pieces: WirePieces {
        let server: EndlessServer

        func next() async throws -> [UInt8]? {
            let number = server.taken.withLock { taken in
                taken += 1
                return taken
            }
            try #require(number < 1_000_000, "Nobody stops reading.")
            return Array((number == 1 ? server.start : server.more(number - 1)).utf8)
        }
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        WireResponse(status: status, headers: headers, body: Pieces(server: self))
    }
}

@Suite(.timeLimit(.minutes(10))) struct EndlessAnswerTests {
    private let here: Database

    init() throws { here = try Database.inMemory(named: "here") }

    private static let kilobyte = String(repeating: "x", count: 1_024)

    @Test func `what nobody needs is not read to an end that may never come`() async throws {
        let server = EndlessServer(404) { _ in Self.kilobyte }
        #expect(try await !HTTPPeer(server, for: here).information().exists)
        #expect(server.taken.withLock { $0 } <= 70)
    }

    @Test(arguments: [401, 403, 500, 503])
    func `an error is read as far as it explains anything`(status: Int) async throws {
        let server = EndlessServer(status) { _ in Self.kilobyte }
        let peer = HTTPPeer(server, for: here)
        let offer = PeerChange(id: "a", revisions: [RevisionID("1-a")])
        await #expect(throws: ReplicationError.self) { try await peer.information() }
        await #expect(throws: ReplicationError.self) {
            try await peer.missingRevisions(of: [offer])
        }
        await #expect(throws: ReplicationError.self) {
            try await peer.changes(ChangesRequest(since: nil))
        }
        // 64 of each answer; after a 500 a comparison asks once more, to see whether the server is in order.
        #expect(server.taken.withLock { $0 } <= (status == 500 ? 275 : 210))
    }

    @Test func `a page of changes has its limit, whatever the server sends`() async throws {
        let server = EndlessServer(200, start: #"{"results":["#) { number in
            #"{"seq":"\#(number)-x","id":"d\#(number)","changes":[{"rev":"1-a"}]},"#
        }
        var request = ChangesRequest(since: nil)
        request.limit = 10
        let page = try await HTTPPeer(server, for: here).changes(request)
        #expect(page.changes.map(\.id.text) == (1...10).map { "d\($0)" })
        #expect(page.lastSequence.text == "10-x")
        #expect(!page.isAtEnd)
        #expect(server.taken.withLock { $0 } <= 13)
    }

    /// What a fetch of one document comes to, which the server answers in parts; nil where it brings something.
    private func failure(of server: EndlessServer) async throws -> ReplicationError? {
        let peer = HTTPPeer(server, for: here)
        peer.lacks.withLock { $0.bulkGet = true }
        let wanted = MissingRevisions(id: "a", revisions: [RevisionID("1-a")])
        // It is about that document; what else was asked for still comes.
        let fetched = try await peer.revisions([wanted])
        #expect(server.taken.withLock { $0 } <= 10)
        guard case .failed(let error)? = fetched.first?.outcome else { return nil }
        return error
    }

    @Test(arguments: [
        #""x":{"follows":true,"length":5000}"#, #""x":{"follows":true}"#,
        #""x":{"follows":true,"length":-1}"#, "1",
    ])
    func `an attachment that goes on beyond its length, or tells none, is broken off`(
        entries: String
    ) async throws {
        let document = #"{"_id":"a","_rev":"1-a","_attachments":{\#(entries)}}"#
        let server = EndlessServer(
            200, type: "multipart/related; boundary=b",
            start: "--b\r\n\r\n\(document)\r\n--b\r\n\r\n"
        ) { _ in Self.kilobyte }
        let error = try #require(try await failure(of: server))
        #expect(error.code == .invalidAnswer && error.documentID == "a" && !error.isTransient)
    }

    @Test func `errors in place of one document are broken off`() async throws {
        let server = EndlessServer(200, type: "multipart/related; boundary=b", start: "--b\r\n") {
            _ in
            "Content-Type: application/json; error=true\r\n\r\n"
                + #"{"id":"a","rev":"1-a","error":"missing"}"# + "\r\n--b\r\n"
        }
        let error = try #require(try await failure(of: server))
        #expect(error.code == .invalidAnswer && error.isTransient)
    }

    @Test func `an answer that only trickles is given up, and a long one is not`() {
        #expect(PacedBody.allows(0, in: .zero))
        #expect(PacedBody.allows(1, in: .seconds(120)))
        #expect(!PacedBody.allows(1, in: .seconds(121)))
        #expect(PacedBody.allows(64 * 121, in: .seconds(121)))
        #expect(!PacedBody.allows(64 * 90_000, in: .seconds(100_000)))
        #expect(PacedBody.allows(64 * 100_000, in: .seconds(100_000)))
    }

    /// Pieces of one byte, for each of which a clock moves on.
    private actor Trickle: WirePieces {
        private let server: TricklingServer
        private var bytes: ArraySlice<UInt8>

        init(_ text: String, _ server: TricklingServer) {
            bytes = Array(text.utf8)[...]
            self.server = server
        }

        func next() -> [UInt8]? {
            server.now.withLock { $0 += .seconds(50) }
            return bytes.popFirst().map { [$0] }
        }
    }

    /// A server that sends one byte every 50 seconds.
    private final class TricklingServer: WireConnection {
        let name = "http://trickle/db"
        let type: String
        let text: String
        let now = Mutex(ContinuousClock.now)

        init(_ type: String, _ text: String) { (self.type, self.text) = (type, text) }

        func respond(to request: WireRequest) async throws -> WireResponse {
            WireResponse(
                status: 200, headers: ["Content-Type": type], body: Trickle(text, self))
        }
    }

    @Test(arguments: [
        ("application/json", #"{"_id":"a","_rev":"1-a","results":[]}"#),
        ("multipart/related; boundary=b", "--b\r\n\r\n{\"_id\":\"a\",\"_rev\":\"1-a\"}\r\n--b--"),
    ])
    func `documents that trickle are given up, together and alone`(type: String, text: String)
        async throws
    {
        let server = TricklingServer(type, text)
        let began = server.now.withLock { $0 }
        let peer = HTTPPeer(server, for: here) { server.now.withLock { $0 } }
        let wanted = MissingRevisions(id: "a", revisions: [RevisionID("1-a")])
        let fetched = try await peer.revisions([wanted])
        guard case .failed(let error)? = fetched.first?.outcome else {
            Issue.record("It was not given up.")
            return
        }
        #expect(error.code == .timeout && error.documentID == "a" && error.isTransient)
        // Three minutes for the answer with all documents, and as many for the one alone.
        #expect(server.now.withLock { began.duration(to: $0) } <= .seconds(500))
    }
}
