// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// A node of a cluster tells of a change before each node has the document, so an answer may not have it yet.
@Suite(.timeLimit(.minutes(10))) struct LaggingServerTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn
    /// How often the server still says that it has no such document.
    let lag = Counter()

    final class Counter: Sendable {
        private let left = Mutex(0)
        func set(_ count: Int) { left.withLock { $0 = count } }
        func count() -> Bool {
            left.withLock { left in
                left -= 1
                return left >= 0
            }
        }
    }

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    /// A server whose feed tells of "late" while its documents do not have it; `knows` is its answer to `_revs_diff`.
    private func serve(knows: Bool = false) throws -> LoopbackServer {
        try stand.serve { [lag] request, connection in
            func answer(_ text: String, _ status: Int = 200) -> Bool {
                connection.respond(
                    status: status, headers: [("Content-Type", "application/json")],
                    body: Array(text.utf8))
                return true
            }
            let body = text(request.body)
            if request.target.contains("_revs_diff") {
                return answer(knows ? "{}" : #"{"late":{"missing":["1-a"]}}"#)
            }
            if request.target.contains("_bulk_get"), body.contains("late") {
                guard lag.count() else { return false }
                return answer(
                    #"{"results":[{"id":"late","docs":[{"error":{"id":"late","rev":"1-a","error":"not_found","reason":"missing"}}]}]}"#
                )
            }
            if request.target.contains("/late") {
                guard lag.count() else { return false }
                return answer(#"{"error":"not_found","reason":"missing"}"#, 404)
            }
            return false
        }
    }

    private func putLate() throws {
        try there.write { transaction in
            _ = try transaction.insert(
                ExistingRevision(
                    id: "late", history: try RevisionHistory([RevisionID("1-a")]),
                    isDeleted: false, body: PackedValue(.object([:])), attachments: [:]))
        }
    }

    private func pull(_ server: LoopbackServer) -> Replication {
        here.makePullReplication(from: server.databaseURL) {
            $0.retry.firstDelay = .milliseconds(1)
            $0.retry.longestDelay = .milliseconds(1)
        }
    }

    @Test(arguments: [false, true])
    func `a document that the server does not have yet is asked for again`(lacksBulkGet: Bool)
        async throws
    {
        stand.manner.withLock { $0.lacksBulkGet = lacksBulkGet }
        let server = try serve()
        defer { server.stop() }
        try putLate()
        lag.set(1)
        #expect(try await pull(server).run().transferred == 1)
        #expect(try here.contains("late"))
    }

    @Test func `a revision that the server has known and let go of is gone at once`() async throws {
        let server = try serve(knows: true)
        defer { server.stop() }
        try putLate()
        lag.set(.max)
        let replication = pull(server)
        #expect(try await replication.run().refused == 0)
        #expect(replication.runCount == 1)
    }

    @Test func `what never comes is gone after some tries, and holds nothing`() async throws {
        let server = try serve()
        defer { server.stop() }
        try putLate()
        lag.set(.max)
        let summary = try await pull(server).run()
        #expect(summary.refused == 0 && summary.transferred == 0)
        // The checkpoint is past it.
        #expect(try await pull(server).run().examined == 0)
    }
}
