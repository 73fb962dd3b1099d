// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanReplication

/// What large documents cost the server: each is asked for a few times at most.
@Suite(.timeLimit(.minutes(10))) struct FetchCostTests {
    /// A hundredth of the usual sizes; the soak takes the usual ones.
    private static let scale = Soak.isOn ? 1 : 100
    private static let fetchBytes = (4 << 20) / scale
    private static let large = (5 << 20) / scale

    let here: Database
    let server = RawStandIn()

    init() throws { here = try Database.inMemory(named: "here") }

    private func add(_ id: String, bytes: Int) {
        let filler = String(repeating: "x", count: bytes)
        server.add(RawStandIn.Item(id, "1-a", #"{"_id":"\#(id)","_rev":"1-a","x":"\#(filler)"}"#))
    }

    @Test func `fifty documents, each too large for one answer, are asked for about twice each`()
        async throws
    {
        for n in 0..<50 { add("d\(n)", bytes: Self.large) }
        try await server.pull(into: here, fetchBytes: Self.fetchBytes)
        #expect(try here.documentCount == 50)
        #expect(server.asked.withLock { $0.count } <= 2 * 50)
        #expect(server.count("") <= 50 + 10)
        #expect(server.brokenOff.withLock { $0 } <= 4)
    }

    @Test func `where _bulk_get fails, each document is asked for a few times at most`()
        async throws
    {
        server.failsAtBulkGet.withLock { $0 = true }
        for n in 0..<50 { add("d\(n)", bytes: n < 25 ? Self.large : 100) }
        try await server.pull(into: here, fetchBytes: Self.fetchBytes)
        #expect(try here.documentCount == 50)
        #expect(server.asked.withLock { $0.count } <= 4 * 50)
    }

    @Test func `small documents among large ones are asked for together again`() async throws {
        for n in 0..<300 { add("d\(n)", bytes: n % 30 == 0 ? Self.large : 100) }
        try await server.pull(into: here, fetchBytes: Self.fetchBytes)
        #expect(try here.documentCount == 300)
        #expect(server.asked.withLock { $0.count } <= 4 * 300)
        #expect(server.count("POST _bulk_get") <= 100)
    }

    @Test(arguments: [false, true]) func `no more documents are held than are meant to be`(
        lacksBulkGet: Bool
    ) async throws {
        for n in 0..<12 { add("d\(n)", bytes: Self.large) }
        let peer = HTTPPeer(server, for: here, fetchBytes: Self.fetchBytes)
        peer.lacks.withLock { $0.bulkGet = lacksBulkGet }
        let wanted = (0..<12).map {
            MissingRevisions(id: "d\($0)", revisions: [RevisionID("1-a")])
        }
        #expect(try await peer.revisions(wanted).count == (lacksBulkGet ? HTTPPeer.singles : 1))
    }

    @Test func `an answer is asked for in pieces that fit`() {
        var size = FetchSize()
        size.note(asked: 100, came: 100, bytes: 1_000, of: 4_000)
        #expect(size.count == .max)
        size.note(asked: 100, came: 3, bytes: 4_100, of: 4_000)
        #expect(size.count == 3)
        size.note(asked: 3, came: 3, bytes: 3_000, of: 4_000)
        #expect(size.count == 3)
        size.note(asked: 3, came: 3, bytes: 1_000, of: 4_000)
        #expect(size.count == 6)
        // One that was asked for before says nothing of what fits now, but that it did not.
        size.note(asked: 100, came: 50, bytes: 4_100, of: 4_000)
        #expect(size.count == 6)
        size.note(asked: 6, came: 0, bytes: 0, of: 4_000)
        #expect(size.count == 1)
    }
}
