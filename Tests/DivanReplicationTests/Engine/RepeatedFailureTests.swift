// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// A document over which the server fails each time: tried again, then passed by the checkpoint, and offered by each run.
@Suite(.timeLimit(.minutes(10))) struct RepeatedFailureTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    /// A server that fails over whatever has "poison" in it; `mostly` decides otherwise.
    private func serve(_ failing: @escaping @Sendable (LoopbackRequest) -> Bool) throws
        -> LoopbackServer
    {
        try stand.serve { request, connection in
            guard failing(request) else { return false }
            connection.respond(
                status: 500, headers: [("Content-Type", "application/json")],
                body: Array(#"{"error":"unknown_error","reason":"odd"}"#.utf8))
            return true
        }
    }

    private static func isPoisoned(_ request: LoopbackRequest) -> Bool {
        text(request.body).contains("poison")
    }

    private static func isQuick(_ settings: inout ReplicationConfiguration) {
        settings.retry.firstDelay = .milliseconds(1)
        settings.retry.longestDelay = .milliseconds(1)
    }

    @Test func `it ends no one-shot push, is counted and told, and goes once it has changed`()
        async throws
    {
        for n in 0..<5 { try here.put("d\(n)", ["n": 1], parent: nil) }
        try here.put("bad", ["v": "poison"], parent: nil)
        let server = try serve(Self.isPoisoned)
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL, configure: Self.isQuick)
        let told = Mutex<[ReplicatedDocument]>([])
        let token = push.addDocumentListener { event in told.withLock { $0.append(event) } }
        let summary = try await push.run()
        #expect(summary.transferred == 5)
        #expect(summary.refused == 1)
        #expect(summary.documentErrors.map(\.documentID) == ["bad"])
        #expect(told.withLock { $0.last { $0.error != nil } }?.id == "bad")
        // As often as the policy allows, each time by itself.
        #expect(told.withLock { $0.filter { $0.error != nil } }.count == 5)
        #expect(there.documentCountOrZero == 5)
        // The checkpoint has passed it, and it alone is offered again.
        let asked = stand.count("POST _revs_diff")
        #expect(try await push.run().examined == 1)
        #expect(stand.count("POST _revs_diff") == asked + 1)
        try here.update("bad") { $0["v"] = "cured" }
        let second = try await push.run()
        #expect(second.transferred == 1 && second.refused == 0)
        #expect(try there.document(withID: "bad")?["v"].string == "cured")
        withExtendedLifetime(token) {}
    }

    @Test func `it is taken when the failure was only for now`() async throws {
        try here.put("bad", ["v": "poison"], parent: nil)
        let failures = Mutex(0)
        let server = try serve { request in
            Self.isPoisoned(request)
                && failures.withLock { count in
                    count += 1
                    return count < 4
                }
        }
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL, configure: Self.isQuick)
        let summary = try await push.run()
        #expect(summary.transferred == 1 && summary.refused == 0)
        #expect(try there.contains("bad"))
    }

    @Test func `it holds up no continuous push, whose checkpoint passes it`() async throws {
        try here.put("bad", ["v": "poison"], parent: nil)
        let server = try serve(Self.isPoisoned)
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL) {
            Self.isQuick(&$0)
            $0.isContinuous = true
        }
        push.start()
        await eventually { push.status.refused == 1 && push.activity == .idle }
        try here.put("good", [:], parent: nil)
        try await eventually { try there.contains("good") }
        await push.stopAndWait()
        let next = here.makePushReplication(to: server.databaseURL, configure: Self.isQuick)
        #expect(try await next.run().examined == 1)
    }

    @Test func `a server that can write nothing, not even a checkpoint, gets everything later`()
        async throws
    {
        try here.put("a", ["n": 1], parent: nil)
        let isFull = Mutex(true)
        let server = try serve { request in request.method == "PUT" && isFull.withLock { $0 } }
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL) {
            Self.isQuick(&$0)
            $0.isContinuous = true
        }
        push.start()
        // Long after it would count as refused for good, and at any moment between two tries.
        await eventually { stand.count("POST _bulk_docs") > 20 }
        #expect(push.status.refused == 0)
        isFull.withLock { $0 = false }
        push.retryNow()
        try await eventually { try there.contains("a") }
        await push.stopAndWait()
    }
}

extension Database {
    fileprivate var documentCountOrZero: Int { (try? documentCount) ?? 0 }
}
