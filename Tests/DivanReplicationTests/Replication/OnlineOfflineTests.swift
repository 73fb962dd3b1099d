// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// Servers that come and go, and what is left when a replication has stopped.
@Suite(.timeLimit(.minutes(10))) struct OnlineOfflineTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    private func quick(_ settings: inout ReplicationConfiguration) {
        settings.isContinuous = true
        settings.retry.firstDelay = .milliseconds(10)
        settings.retry.longestDelay = .milliseconds(50)
    }

    @Test func `a pull goes on each time its server comes back, and stops when it is told to`()
        async throws
    {
        var server = try stand.serve()
        let port = server.port
        let pull = here.pull(from: server.databaseURL, configure: quick)
        for round in 1...4 {
            try there.put("d\(round)", [:], parent: nil)
            try await eventually { try here.documentCount == round }
            server.stop()
            await eventually { pull.activity == .offline || pull.activity == .connecting }
            #expect(pull.isRunning)
            server = try stand.serve(port: port)
            await eventually { pull.activity == .active || pull.activity == .idle }
        }
        await pull.stopAndWait()
        #expect(!pull.isRunning)
        #expect(pull.activity == .stopped)
        // And while its server is gone, too.
        pull.start()
        server.stop()
        await eventually { pull.lastError != nil }
        await pull.stopAndWait()
        #expect(pull.activity == .stopped)
        #expect(here.replications.isEmpty)
    }

    @Test func `what is pending is told as it is, also while the server is gone`() async throws {
        var server = try stand.serve()
        let port = server.port
        try put("sent", in: here)
        let push = here.push(to: server.databaseURL, configure: quick)
        await eventually { push.activity == .idle }
        #expect(try await push.pendingDocumentIDs().isEmpty)
        server.stop()
        await eventually { push.activity == .offline }
        try put("a", in: here)
        #expect(try await push.pendingDocumentIDs() == ["a"])
        try put("b", in: here)
        #expect(try await push.pendingDocumentIDs() == ["a", "b"])
        #expect(try await push.isDocumentPending("b"))
        server = try stand.serve(port: port)
        defer { server.stop() }
        try await eventually { try there.documentCount == 3 && push.activity == .idle }
        #expect(try await push.pendingDocumentIDs().isEmpty)
        await push.stopAndWait()
    }

    private func put(_ id: DocumentID, in database: Database) throws {
        try database.put(id, [:], parent: nil)
    }

    @Test func `a continuous replication that is refused for good goes on asking`() async throws {
        let isRefusing = Mutex(true)
        let asked = Mutex(0)
        let server = try stand.serve { _, connection in
            guard isRefusing.withLock({ $0 }) else { return false }
            asked.withLock { $0 += 1 }
            connection.respond(
                status: 401, headers: [("Content-Type", "application/json")],
                body: Array(#"{"error":"unauthorized","reason":"Who are you?"}"#.utf8))
            return true
        }
        defer { server.stop() }
        try there.put("a", [:], parent: nil)
        let pull = here.pull(from: server.databaseURL, configure: quick)
        await eventually { asked.withLock { $0 } >= 3 }
        #expect(pull.isRunning)
        #expect(pull.lastError?.code == .unauthorized)
        isRefusing.withLock { $0 = false }
        try await eventually { try here.documentCount == 1 }
        await pull.stopAndWait()
    }

    @Test
    func `credentials that stop being good in the middle delay a replication until they are again`()
        async throws
    {
        let isRefusing = Mutex(false)
        let refused = Mutex(0)
        let server = try stand.serve { _, connection in
            guard isRefusing.withLock({ $0 }) else { return false }
            refused.withLock { $0 += 1 }
            connection.respond(
                status: 401, headers: [("Content-Type", "application/json")],
                body: Array(#"{"error":"unauthorized","reason":"Your session has ended."}"#.utf8))
            return true
        }
        defer { server.stop() }
        let (push, pull) = here.sync(with: server.databaseURL, configure: quick)
        try there.put("before", [:], parent: nil)
        try await eventually { try here.document(withID: "before") != nil }
        for round in 0..<3 {
            let seen = refused.withLock { $0 }
            isRefusing.withLock { $0 = true }
            try there.put("there\(round)", [:], parent: nil)
            try here.put("here\(round)", [:], parent: nil)
            await eventually { refused.withLock { $0 } >= seen + 4 }
            await eventually {
                pull.lastError?.code == .unauthorized && push.lastError?.code == .unauthorized
            }
            isRefusing.withLock { $0 = false }
            try await eventually {
                try here.document(withID: "there\(round)") != nil
                    && there.document(withID: "here\(round)") != nil
            }
        }
        await eventually { pull.activity == .idle && push.activity == .idle }
        await pull.stopAndWait()
        await push.stopAndWait()
    }

    @Test func `a poll interval takes the place of waiting requests`() async throws {
        let server = try stand.serve()
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL) {
            $0.isContinuous = true
            $0.customProperties["poll"] = 50
        }
        pull.start()
        await eventually { pull.activity == .idle }
        try there.put("a", [:], parent: nil)
        try await eventually { try here.documentCount == 1 }
        await eventually { stand.count("GET _changes") >= 5 }
        await pull.stopAndWait()
        let feeds = stand.requests.withLock { $0.filter { $0.contains("_changes") } }
        #expect(feeds.allSatisfy { $0.contains("feed=normal") })
        // Once an hour is not again within this test.
        let hourly = here.pull(from: server.databaseURL) {
            $0.isContinuous = true
            $0.customProperties["poll"] = 3_600_000
        }
        await eventually { hourly.activity == .idle }
        let before = stand.count("GET _changes")
        try there.put("b", [:], parent: nil)
        let push = here.makePushReplication(to: server.databaseURL)
        for _ in 0..<10 { try await push.run() }
        #expect(stand.count("GET _changes") == before)
        #expect(try here.documentCount == 1)
        await hourly.stopAndWait()
    }

    @Test func `replications that have stopped keep no connection open`() async throws {
        let server = try stand.serve()
        defer { server.stop() }
        try here.put("a", [:], parent: nil)
        try there.put("b", [:], parent: nil)
        for _ in 0..<10 {
            let (push, pull) = here.sync(with: server.databaseURL) {
                // What no other test has, so that no other holds these connections.
                $0.clientCertificate = ClientCertificate(certificate: "x", key: "x")
            }
            for replication in [push, pull] {
                await eventually { replication.activity == .idle }
                await replication.stopAndWait()
            }
        }
        await eventually { server.openConnections == 0 }
        #expect(server.acceptedConnections > 0)
    }

    /// Answers requests for one document as if the server failed.
    private func failing(_ isFailing: @escaping @Sendable () -> Bool) throws -> LoopbackServer {
        stand.manner.withLock { $0.lacksBulkGet = true }
        return try stand.serve { request, connection in
            guard request.target.hasPrefix("/db/bad"), isFailing() else { return false }
            connection.respond(status: 500, body: Array(#"{"error":"unknown_error"}"#.utf8))
            return true
        }
    }

    @Test(arguments: [true, false])
    func `a one-shot pull gives up on a document that fails each time, and brings the others`(
        keepsCheckpoints: Bool
    ) async throws {
        let asked = Mutex(0)
        let server = try failing {
            asked.withLock { $0 += 1 }
            return true
        }
        defer { server.stop() }
        for id: DocumentID in ["a", "bad", "c"] { try there.put(id, [:], parent: nil) }
        let pull = here.makePullReplication(from: server.databaseURL) {
            quick(&$0)
            $0.isContinuous = false
            $0.usesCheckpoints = keepsCheckpoints
            $0.changesPerPage = 1
        }
        pull.start()
        await pull.waitUntilEnded()
        #expect(try here.documentCount == 2)
        #expect(pull.lastError?.documentID == "bad")
        // The first run brings the others, which is progress.
        #expect(asked.withLock { $0 } == RetryPolicy().maximumAttempts)
    }

    @Test(arguments: [false, true])
    func `a document that comes in the end leaves no error behind`(isContinuous: Bool) async throws
    {
        let isFailing = Mutex(true)
        let server = try failing { isFailing.withLock { $0 } }
        defer { server.stop() }
        for id: DocumentID in ["a", "bad"] { try there.put(id, [:], parent: nil) }
        let pull = here.makePullReplication(from: server.databaseURL) {
            quick(&$0)
            $0.isContinuous = isContinuous
            $0.retry.maximumAttempts = 1_000_000
        }
        pull.start()
        await eventually { pull.lastError?.documentID == "bad" }
        isFailing.withLock { $0 = false }
        try await eventually { try here.documentCount == 2 && pull.lastError == nil }
        await pull.stopAndWait()
        #expect(pull.lastError == nil)
    }

    @Test func `a server that is back leaves no error behind`() async throws {
        var server = try stand.serve()
        let port = server.port
        let pull = here.pull(from: server.databaseURL, configure: quick)
        await eventually { pull.activity == .idle }
        server.stop()
        await eventually { pull.activity == .offline && pull.lastError != nil }
        server = try stand.serve(port: port)
        await eventually { pull.activity == .idle && pull.lastError == nil }
        await pull.stopAndWait()
        server.stop()
    }
}
