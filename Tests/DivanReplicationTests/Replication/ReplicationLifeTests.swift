// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// What is asked of a replication while it is still busy ending counts once it has ended.
@Suite(.timeLimit(.minutes(10))) struct ReplicationLifeTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    /// A server that keeps a replication waiting for the answer to its checkpoint, until it is let go.
    private final class SlowCheckpoint: Sendable {
        private let isHeld = Mutex(true)
        let seen = Mutex(0)

        func release() { isHeld.withLock { $0 = false } }

        func serve(_ stand: CouchStandIn) throws -> LoopbackServer {
            try stand.serve { [self] request, _ in
                guard request.method == "PUT", request.target.contains("/_local/") else {
                    return false
                }
                seen.withLock { $0 += 1 }
                while isHeld.withLock({ $0 }) { usleepABit() }
                return false
            }
        }

        private func usleepABit() {
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5))
        }
    }

    private func patient(_ settings: inout ReplicationConfiguration) {
        settings.isContinuous = true
        settings.timeToStop = .seconds(600)
        settings.checkpointInterval = .seconds(600)
    }

    /// A continuous pull that has caught up, and has a checkpoint to save at its end.
    private func idlePull(_ server: LoopbackServer) async throws -> Replication {
        try there.put("early", [:], parent: nil)
        let pull = here.pull(from: server.databaseURL, configure: patient)
        await eventually { pull.activity == .idle }
        return pull
    }

    /// Lends a pull that was told to stop and is still at work, until the checkpoint is released.
    private func withStoppingPull(
        _ body: (Replication, SlowCheckpoint) async throws -> Void
    ) async throws {
        let slow = SlowCheckpoint()
        let server = try slow.serve(stand)
        defer { server.stop() }
        let pull = try await idlePull(server)
        pull.stop()
        await eventually { slow.seen.withLock { $0 } > 0 }
        try await body(pull, slow)
    }

    @Test func `a resume() while suspend() still waits starts the replication again`()
        async throws
    {
        let slow = SlowCheckpoint()
        let server = try slow.serve(stand)
        defer { server.stop() }
        let pull = try await idlePull(server)
        let suspending = Task { await pull.suspend() }
        await eventually { slow.seen.withLock { $0 } > 0 }
        // The app is in front again before it was quite behind.
        pull.resume()
        slow.release()
        await suspending.value
        #expect(!pull.isSuspended)
        try there.put("late", [:], parent: nil)
        try await eventually { try here.contains("late") }
        await pull.stopAndWait()
    }

    @Test func `a start() while stop() is still at work starts the replication again`()
        async throws
    {
        try await withStoppingPull { pull, slow in
            pull.start()
            slow.release()
            try there.put("late", [:], parent: nil)
            try await eventually { try here.contains("late") }
            await pull.stopAndWait()
            #expect(!pull.isRunning)
        }
    }

    @Test func `a stop() after such a start() has the last word`() async throws {
        try await withStoppingPull { pull, slow in
            pull.start()
            pull.stop()
            slow.release()
            await pull.waitUntilEnded()
            #expect(!pull.isRunning)
            #expect(here.replications.isEmpty)
        }
    }

    @Test func `a run() while stop() is still at work runs to its own end`() async throws {
        let slow = SlowCheckpoint()
        let server = try slow.serve(stand)
        defer { server.stop() }
        try here.put("a", [:], parent: nil)
        let push = here.makePushReplication(to: server.databaseURL) {
            patient(&$0)
            $0.isContinuous = false
        }
        push.start()
        await eventually { slow.seen.withLock { $0 } > 0 }
        push.stop()
        let isCalled = Mutex(false)
        let running = Task {
            isCalled.withLock { $0 = true }
            return try await push.run()
        }
        try here.put("b", [:], parent: nil)
        await eventually { isCalled.withLock { $0 } }
        slow.release()
        _ = try await running.value
        #expect(try there.documentCount == 2)
    }

    @Test
    func `a closure of the app that is cancelled does not end a replication as if it were done`()
        async throws
    {
        let server = try stand.serve()
        defer { server.stop() }
        try there.put("a", [:], parent: nil)
        let isCancelled = Mutex(true)
        let token = ReplicationAuthenticator.bearer { _ in
            if isCancelled.withLock({ $0 }) { throw CancellationError() }
            return "token"
        }
        let once = here.makePullReplication(from: server.databaseURL) {
            $0.authenticator = token
            $0.retry.maximumAttempts = 1
        }
        let error = await #expect(throws: ReplicationError.self) { try await once.run() }
        #expect(error?.isTransient == true && error?.code != .cancelled)
        let pull = here.pull(from: server.databaseURL) {
            $0.isContinuous = true
            $0.authenticator = token
            $0.retry.firstDelay = .milliseconds(1)
            $0.retry.longestDelay = .milliseconds(20)
        }
        await eventually { pull.runCount > 2 || !pull.isRunning }
        isCancelled.withLock { $0 = false }
        try await eventually { try here.contains("a") }
        await pull.stopAndWait()
    }

    enum Ending: CaseIterable { case stopAndWait, suspend, cancelledRun }

    @Test(arguments: Ending.allCases)
    func `a replication ends while a login is still under way`(ending: Ending) async throws {
        let server = try stand.serve { _, connection in
            connection.respond(status: 401)
            return true
        }
        defer { server.stop() }
        let (asked, ended, page) = (Flag(), Flag(), Gate())
        // A login page that stays open.
        let pull = here.makePullReplication(from: server.databaseURL) {
            $0.timeToStop = .milliseconds(10)
            $0.authenticator = .bearer { _ in
                asked.set()
                await page.passed()
                return nil
            }
        }
        let running = Task { try await pull.run() }
        await eventually { asked.isSet }
        let stopping = Task {
            switch ending {
            case .stopAndWait: await pull.stopAndWait()
            case .suspend: await pull.suspend()
            case .cancelledRun:
                running.cancel()
                _ = await running.result
            }
            ended.set()
        }
        await eventually { ended.isSet }
        page.open()
        await stopping.value
        _ = await running.result
        #expect(!pull.isRunning)
    }

    @Test func `a session that is used for two servers is one at each of them`() async throws {
        let cookies = Record<String>()
        let servers = try (0..<2).map { number in
            try stand.serve { request, connection in
                if request.target == "/_session" {
                    connection.respond(
                        status: 200, headers: [("Set-Cookie", "AuthSession=\(number); Path=/")])
                    return true
                }
                cookies.append("\(number) gets \(request.headers["cookie"] ?? "none")")
                return false
            }
        }
        defer { for server in servers { server.stop() } }
        var settings = ReplicationConfiguration()
        settings.authenticator = .session(name: "ann", password: "secret")
        for server in servers + servers {
            try await here.makePullReplication(from: server.databaseURL, settings: settings).run()
        }
        #expect(Set(cookies.all) == ["0 gets AuthSession=0", "1 gets AuthSession=1"])
    }
}
