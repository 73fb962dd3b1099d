// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// Attachments that a push sends: short ones inside of `_bulk_docs`, long ones a few documents at a time, and none that
/// is damaged.
@Suite(.timeLimit(.minutes(10))) struct AttachmentPushTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    /// 5 kB of text, another one for each number.
    private static func note(_ number: Int) -> [UInt8] {
        Array("\(number) \(String(repeating: "some words ", count: 454))".utf8)
    }

    private func push() async throws -> ReplicationSummary {
        let server = try stand.serve()
        defer { server.stop() }
        return try await here.makePushReplication(to: server.databaseURL).run()
    }

    private func content(_ id: DocumentID, _ name: String) throws -> [UInt8]? {
        try there.document(withID: id)?.attachment(named: name)?.content()
    }

    @Test(arguments: [false, true])
    func `many documents with short attachments go in few requests`(isCoded: Bool) async throws {
        try here.inBatch {
            for n in 0..<200 {
                let attachments = try NameMap(
                    (0..<2).map { place in
                        let plain = Self.note(2 * n + place)
                        guard isCoded else { return ("t\(place)", AttachmentContent.bytes(plain)) }
                        let coded = try #require(GzipCoding.encode(plain))
                        return ("t\(place)", .bytes(coded).gzipped(decodedLength: plain.count))
                    })
                try here.put("d\(n)", ["n": 1], parent: nil, attachments: attachments)
            }
        }
        let summary = try await push()
        #expect(summary.transferred == 200 && summary.refused == 0)
        // Four megabytes of base64 at two for each request, and no document on its own.
        #expect(stand.count("PUT d") == 0)
        #expect(stand.count("POST _bulk_docs") <= 3)
        #expect(stand.count("") <= 10)
        for n in [0, 77, 199] {
            #expect(try content("d\(n)", "t0") == Self.note(2 * n))
            #expect(try content("d\(n)", "t1") == Self.note(2 * n + 1))
        }
    }

    @Test(arguments: [false, true])
    func `an edit of a document whose coded content went along arrives with it`(isDivan: Bool)
        async throws
    {
        let plain = Self.note(1)
        let coded = try #require(GzipCoding.encode(plain))
        for n in 0..<3 {
            try here.put(
                "d\(n)", [:], parent: nil,
                attachments: ["t": .bytes(coded).gzipped(decodedLength: plain.count)])
        }
        let server = try stand.serve { request, connection in
            guard isDivan, request.method == "GET", request.target == "/db" else { return false }
            connection.respond(
                status: 200,
                headers: [("Server", "Divan/1"), ("Content-Type", "application/json")],
                body: Array(#"{"db_name":"db"}"#.utf8))
            return true
        }
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL)
        try await push.run()
        let first = try #require(try there.document(withID: "d1")?.attachment(named: "t"))
        // CouchDB would keep coded bytes as if they were the content; a Divan keeps them as what they are.
        #expect(first.encoding == (isDivan ? "gzip" : nil))
        #expect(try first.content() == plain)
        for n in 0..<3 { try here.update("d\(n)") { $0["edited"] = true } }
        #expect(try await push.run().transferred == 3)
        let document = try #require(try there.document(withID: "d1"))
        #expect(document["edited"].bool == true)
        #expect(try document.attachment(named: "t")?.content() == plain)
        // A server that keeps it in another form asks for it again.
        if isDivan { #expect(stand.count("POST _bulk_docs") == 2 && stand.count("PUT d") == 0) }
    }

    @Test func `long attachments go in parts, four documents at a time`() async throws {
        for n in 0..<12 {
            let content = [UInt8](repeating: UInt8(n), count: 100_000)
            try here.put("d\(n)", [:], parent: nil, attachments: ["big": .bytes(content)])
        }
        let barrier = Barrier(4)
        let server = BarrierServer(stand, barrier)
        let documents = try await LocalPeer(here).revisions(
            (0..<12).map { n in
                let revision = try #require(try here.document(withID: "d\(n)")).revisionID
                return MissingRevisions(
                    id: "d\(n)", revisions: [revision])
            }
        ).compactMap { fetched in
            if case .document(let document) = fetched.outcome { document } else { nil }
        }
        // Each waits at the server until three others are there.
        _ = try await HTTPPeer(server, for: here).put(documents)
        #expect(await barrier.most == 4)
        #expect(try there.documentCount == 12)
        #expect(try content("d7", "big") == [UInt8](repeating: 7, count: 100_000))
    }

    @Test func `a document with very many short attachments goes in parts`() async throws {
        let attachments = NameMap(
            (0..<200).map { ("a\($0)", AttachmentContent.bytes(Self.note($0))) })
        try here.put("many", [:], parent: nil, attachments: attachments)
        #expect(try await push().transferred == 1)
        #expect(stand.count("PUT many") == 1)
        #expect(try content("many", "a150") == Self.note(150))
    }

    // MARK: - Damage

    @Test(arguments: [5_000, 200_000], ["gone", "cut", "flipped"])
    func `a document whose attachment is gone or damaged here stays back, and no other`(
        length: Int, damage: String
    ) async throws {
        for n in 0..<5 {
            let content = [UInt8](repeating: UInt8(n), count: length)
            try here.put("d\(n)", [:], parent: nil, attachments: ["a": .bytes(content)])
        }
        let attachment = try #require(try here.document(withID: "d2")?.attachment(named: "a"))
        let file = try #require(attachment.fileURL)
        var bytes = try Data(contentsOf: file)
        try FileManager.default.removeItem(at: file)
        if damage != "gone" {
            if damage == "cut" { bytes.removeLast() } else { bytes[length / 2] ^= 1 }
            try bytes.write(to: file)
        }
        let server = try stand.serve()
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL)
        let summary = try await push.run()
        #expect(summary.transferred == 4 && summary.refused == 1)
        let error = try #require(summary.documentErrors.first)
        #expect(error.documentID == "d2")
        #expect(error.code == (damage == "flipped" ? .database : .contentMissing))
        #expect(try !there.contains("d2"))
        // The checkpoint has passed it, and it goes once it is whole.
        try here.update("d2") { document in
            document.setAttachment(named: "a", contentType: nil, .bytes([1, 2, 3]))
        }
        let second = try await push.run()
        #expect(second.examined == 1 && second.transferred == 1)
        #expect(try content("d2", "a") == [1, 2, 3])
    }
}

/// Lets no task pass before a number of tasks wait.
private actor Barrier {
    private let count: Int
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var inside = 0
    /// How many were under way at the same time at most.
    private(set) var most = 0

    init(_ count: Int) { self.count = count }

    func enter() async {
        inside += 1
        most = max(most, inside)
        await withCheckedContinuation { waiter in
            waiters.append(waiter)
            guard waiters.count >= count else { return }
            for waiter in waiters { waiter.resume() }
            waiters = []
        }
    }

    func leave() { inside -= 1 }
}

/// A server whose answers to PUT wait for each other.
private struct BarrierServer: WireConnection {
    let inner: CouchStandIn
    let barrier: Barrier
    var name: String { inner.name }

    init(_ inner: CouchStandIn, _ barrier: Barrier) {
        self.inner = inner
        self.barrier = barrier
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        guard request.method == .put else { return try await inner.respond(to: request) }
        await barrier.enter()
        let response = try await inner.respond(to: request)
        await barrier.leave()
        return response
    }
}
