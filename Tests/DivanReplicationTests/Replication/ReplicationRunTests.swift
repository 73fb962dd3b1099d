// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

/// Which calls start a replication, which wait for its end, and which end it.
@Suite(.timeLimit(.minutes(10))) struct ReplicationRunTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        for n in 0..<3 { try there.put("d\(n)", ["n": .integer(Int64(n))], parent: nil) }
    }

    /// A server that takes requests and answers none.
    private func silentServer() throws -> LoopbackServer {
        try LoopbackServer { _, connection in connection.waitForClose() }
    }

    private func code(_ run: () async throws -> Void) async -> ReplicationError.Code? {
        do { try await run() } catch { return (error as? ReplicationError)?.code }
        return nil
    }

    @Test func `run starts a replication, waits for its end and says what it has done`()
        async throws
    {
        let pull = here.makePullReplication(from: there)
        let summary = try await pull.run()
        #expect(try here.documentCount == 3)
        #expect(summary.examined == 3 && summary.transferred == 3 && summary.refused == 0)
        #expect(summary.documentErrors.isEmpty)
        #expect(!pull.isRunning)
        // Once more, there is nothing to do.
        #expect(try await pull.run().examined == 0)
    }

    @Test func `an ID that no document can have is refused among those that take part`()
        async throws
    {
        for ids: [DocumentID] in [[""], ["a", "_odd"]] {
            let push = here.makePushReplication(to: there) { $0.documentIDs = ids }
            #expect(await code { try await push.run() } == .invalidSetting)
            #expect(push.failure?.message.contains("documentIDs") == true)
        }
    }

    @Test func `documents are chosen in one way`() async throws {
        let ways: [(inout ReplicationConfiguration) -> Void] = [
            { $0.documentIDs = ["a"] }, { $0.selector = ["a": 1] }, { $0.filter = "f" },
            { $0.channels = ["c"] },
        ]
        for first in ways.indices {
            for second in ways.indices where second > first {
                let pull = here.makePullReplication(from: there) {
                    ways[first](&$0)
                    ways[second](&$0)
                }
                #expect(await code { try await pull.run() } == .invalidSetting)
                #expect(pull.failure?.message.contains("in one way") == true)
            }
        }
    }

    @Test func `run throws the error that ended the replication`() async throws {
        let push = here.makePushReplication(to: there) { $0.filter = "none" }
        #expect(await code { try await push.run() } == .invalidSetting)
        #expect(push.failure?.code == .invalidSetting)
        let lost = here.makePullReplication(from: "http://127.0.0.1:1/db") {
            $0.retry.maximumAttempts = 1
            $0.proxy = .none
        }
        #expect(await code { try await lost.run() } == .unreachable)
    }

    @Test func `run waits for what runs already`() async throws {
        let pull = here.makePullReplication(from: there)
        async let first = pull.run()
        async let second = pull.run()
        _ = try await (first, second)
        #expect(try here.documentCount == 3)
        #expect(!pull.isRunning)
    }

    @Test func `run after pull tells of both, also when the pull had ended before`() async throws {
        let pull = here.pull(from: there)
        await pull.waitUntilEnded()
        #expect(try await pull.run().transferred == 3)
        #expect(try await pull.run().transferred == 0)
    }

    @Test func `a document that is refused is no error of run, and the summary names it`()
        async throws
    {
        here.setValidation(named: "odd") { revision, context in
            if revision["n"].int == 1 { throw context.rejection("unlucky") }
        }
        let summary = try await here.makePullReplication(from: there).run()
        #expect(summary.transferred == 2 && summary.refused == 1 && summary.examined == 3)
        #expect(summary.documentErrors.map(\.documentID) == ["d1"])
    }

    @Test func `finished neither starts nor stops a replication`() async throws {
        let pull = here.makePullReplication(from: there)
        await pull.waitUntilEnded()
        #expect(try here.documentCount == 0)
        pull.start()
        await pull.waitUntilEnded()
        #expect(try here.documentCount == 3)
        #expect(pull.failure == nil)
    }

    @Test func `stopping a one-shot replication is an error of the run that waits for it`()
        async throws
    {
        let server = try silentServer()
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL)
        async let outcome = code { try await pull.run() }
        await eventually { server.acceptedConnections > 0 }
        await pull.stopAndWait()
        #expect(await outcome == .cancelled)
        #expect(pull.failure == nil)
    }

    @Test func `stopping a continuous replication is the good end of the run that waits for it`()
        async throws
    {
        let pull = here.makePullReplication(from: there) { $0.isContinuous = true }
        async let summary = pull.run()
        await eventually { pull.activity == .idle }
        pull.stop()
        #expect(try await summary.transferred == 3)
    }

    @Test func `cancelling the task that runs a replication stops it`() async throws {
        let server = try silentServer()
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL)
        let task = Task { try await pull.run() }
        await eventually { server.acceptedConnections > 0 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!pull.isRunning)
    }
}
