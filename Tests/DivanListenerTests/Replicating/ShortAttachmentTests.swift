// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener
@testable import DivanReplication

/// Short attachments that a pull gets from a listener inside of `_bulk_get`, many documents at a time.
@Suite(.timeLimit(.minutes(10))) struct ShortAttachmentTests {
    private let site: TestSite
    private let there: Database
    private let here: Database
    private let listener: Listener
    private let connection: CountedConnection

    init() throws {
        site = try TestSite()
        there = try site.manager.database(named: "notes")
        here = try Database.inMemory(named: "here")
        listener = try site.listen()
        let url = try #require(listener.url(of: there)).absoluteString
        connection = CountedConnection(
            TransportConnection(
                try HTTPURL(url), by: try CurlTransport(), headers: HTTPHeaders(),
                authenticator: nil))
    }

    /// Content that is another one for each number.
    private static func content(_ number: Int, _ length: Int = 3_000) -> [UInt8] {
        (0..<length).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ number) ^ ($0 >> 5)) }
    }

    private func wanted(_ id: DocumentID, knowing known: [RevisionID] = []) throws
        -> MissingRevisions
    {
        let revision = try #require(try there.document(withID: id)).revisionID
        return MissingRevisions(id: id, revisions: [revision], possibleAncestors: known)
    }

    /// Fetches documents and stores them here.
    private func bring(_ wanted: [MissingRevisions], by peer: HTTPPeer? = nil) async throws -> Int {
        let peer = peer ?? HTTPPeer(connection, for: here)
        let documents = try await peer.revisions(wanted).map { fetched in
            guard case .document(let document) = fetched.outcome else {
                throw ReplicationError(.invalidAnswer, "\(fetched.id) did not come.")
            }
            return document
        }
        for outcome in try await LocalPeer(here).put(documents) {
            guard case .stored = outcome else {
                throw ReplicationError(.invalidAnswer, "A document was not stored: \(outcome)")
            }
        }
        return documents.count
    }

    @Test func `documents with short attachments come together, as they are kept there`()
        async throws
    {
        defer { listener.stop() }
        let text = Array(String(repeating: "some words ", count: 300).utf8)
        let coded = try #require(GzipCoding.encode(text))
        for n in 0..<60 {
            try there.put(
                "d\(n)", ["n": .integer(Int64(n))], parent: nil,
                attachments: [
                    "a \u{e9}": .bytes(Self.content(n)), "empty": .bytes([]),
                    "coded": .bytes(coded).gzipped(decodedLength: text.count),
                ])
        }
        #expect(try await bring((0..<60).map { try wanted("d\($0)") }) == 60)
        #expect(connection.count("POST _bulk_get") == 2 && connection.count("GET d") == 0)
        for n in [0, 31, 59] {
            let document = try #require(try here.document(withID: "d\(n)"))
            let original = try #require(try there.document(withID: "d\(n)"))
            #expect(document.attachments.map(\.digest) == original.attachments.map(\.digest))
            #expect(try document.attachment(named: "a \u{e9}")?.content() == Self.content(n))
            #expect(document.attachment(named: "coded")?.encoding == "gzip")
            #expect(try document.attachment(named: "coded")?.content() == text)
            #expect(try document.attachment(named: "empty")?.content() == [])
        }
        #expect(try here.verify().isEmpty)
    }

    @Test func `long attachments, and very many short ones, come for each document by itself`()
        async throws
    {
        defer { listener.stop() }
        try there.put("short", [:], parent: nil, attachments: ["a": .bytes(Self.content(1))])
        let long = Self.content(2, HTTPPeer.inlineLimit + 1)
        try there.put("long", [:], parent: nil, attachments: ["a": .bytes(long)])
        let many = NameMap(
            (0..<20).map {
                ("a\($0)", AttachmentContent.bytes(Self.content($0, HTTPPeer.inlineLimit / 2)))
            })
        try there.put("many", [:], parent: nil, attachments: many)
        #expect(try await bring(try ["short", "long", "many"].map { try wanted($0) }) == 3)
        #expect(connection.count("GET long") == 1 && connection.count("GET many") == 1)
        #expect(connection.count("GET short") == 0)
        #expect(try here.document(withID: "long")?.attachment(named: "a")?.content() == long)
        #expect(try here.document(withID: "many")?.attachments.count == 20)
    }

    @Test func `only what the known revision has not comes along`() async throws {
        defer { listener.stop() }
        for n in 0..<5 {
            try there.put(
                "d\(n)", [:], parent: nil, attachments: ["old": .bytes(Self.content(n))])
        }
        #expect(try await bring((0..<5).map { try wanted("d\($0)") }) == 5)
        let known = try (0..<5).map {
            try #require(try here.document(withID: "d\($0)")).revisionID
        }
        for n in 0..<5 {
            let edited = try #require(try there.document(withID: "d\(n)")).toMutable()
            edited.setAttachment(
                named: "new", contentType: "x/y", .bytes(Self.content(n + 100, 700)))
            try there.save(edited)
        }
        let before = connection.received.load(ordering: .relaxed)
        #expect(
            try await bring((0..<5).map { try wanted("d\($0)", knowing: [known[$0]]) }) == 5)
        // The old content alone would be 20,000 bytes of base64.
        #expect(connection.received.load(ordering: .relaxed) - before < 12_000)
        #expect(connection.count("GET d") == 0)
        for n in 0..<5 {
            let document = try #require(try here.document(withID: "d\(n)"))
            #expect(try document.attachment(named: "old")?.content() == Self.content(n))
            #expect(try document.attachment(named: "new")?.content() == Self.content(n + 100, 700))
        }
    }

    @Test func `what there is no room for is asked for another time`() async throws {
        defer { listener.stop() }
        for n in 0..<30 {
            try there.put(
                "d\(n)", [:], parent: nil, attachments: ["a": .bytes(Self.content(n, 60_000))])
        }
        let peer = HTTPPeer(connection, for: here, fetchBytes: 200_000)
        var missing = try (0..<30).map { try wanted("d\($0)") }
        var rounds = 0
        while !missing.isEmpty {
            #expect(try await bring(missing, by: peer) < 30)
            missing = try missing.filter { try !here.contains($0.id) }
            rounds += 1
            try #require(rounds < 30)
        }
        #expect(connection.count("GET d") == 0)
        #expect(try here.document(withID: "d29")?.attachment(named: "a")?.content().count == 60_000)
    }

    @Test(arguments: [1, 12])
    func `documents that alone fill the room come all the same`(count: Int) async throws {
        defer { listener.stop() }
        let text = JSONValue.string(String(repeating: "a long body ", count: 5_000))
        for n in 0..<count {
            try there.put(
                "d\(n)", ["text": text], parent: nil, attachments: ["a": .bytes(Self.content(n))])
        }
        let peer = HTTPPeer(connection, for: here, fetchBytes: 50_000)
        var missing = try (0..<count).map { try wanted("d\($0)") }
        while !missing.isEmpty {
            try #require(try await bring(missing, by: peer) > 0)
            missing = try missing.filter { try !here.contains($0.id) }
        }
        #expect(connection.count("GET d") == 0)
    }

    @Test func `a document whose content is not there is told of, and the others come`()
        async throws
    {
        defer { listener.stop() }
        for n in 0..<4 {
            try there.put("d\(n)", [:], parent: nil, attachments: ["a": .bytes(Self.content(n))])
        }
        let file = try #require(
            try there.document(withID: "d2")?.attachment(named: "a")?.fileURL)
        try FileManager.default.removeItem(at: file)
        let fetched = try await HTTPPeer(connection, for: here)
            .revisions((0..<4).map { try wanted("d\($0)") })
        var failed: [DocumentID] = []
        for one in fetched {
            if case .failed(let error) = one.outcome {
                #expect(error.status == 412)
                failed.append(one.id)
            }
        }
        #expect(failed == ["d2"] && fetched.count == 4)
    }
}

/// Counts requests, and the bytes of their answers.
private final class CountedConnection: WireConnection {
    private let connection: TransportConnection
    private let requests = Mutex<[String]>([])
    let received = Atomic(0)

    init(_ connection: TransportConnection) { self.connection = connection }

    var name: String { connection.name }

    func count(_ prefix: String) -> Int {
        requests.withLock { $0.filter { $0.hasPrefix(prefix) }.count }
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        requests.withLock { $0.append("\(request.method) \(request.path)") }
        let response = try await connection.respond(to: request)
        return WireResponse(
            status: response.status, headers: response.headers,
            body: CountedPieces(response.body, self))
    }
}

private actor CountedPieces: WirePieces {
    private let pieces: any WirePieces
    private let connection: CountedConnection

    init(_ pieces: any WirePieces, _ connection: CountedConnection) {
        self.pieces = pieces
        self.connection = connection
    }

    func next() async throws -> [UInt8]? {
        let piece = try await pieces.next()
        connection.received.add(piece?.count ?? 0, ordering: .relaxed)
        return piece
    }
}
