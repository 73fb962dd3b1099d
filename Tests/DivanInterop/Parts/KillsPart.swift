// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanTestSupport
import Foundation

/// Processes are killed at random moments while they replicate, and started again. What was acknowledged is there
/// afterwards, and both ends are equal.
struct KillsPart {
    private let harness: Harness
    private let rounds: Int

    init(_ harness: Harness) {
        self.harness = harness
        rounds = harness.options.count(2, 8, 100)
    }

    func run() async throws {
        try await killClients()
        try await killListeners()
        if let kill = harness.options.killCommand, let start = harness.options.startCommand {
            try await killServers(kill, start)
        }
    }

    // MARK: - Clients

    private func killClients() async throws {
        let center = try await harness.there.makeDatabase(harness.name("killed", "client"))
        let folder = harness.folder + "/killed-client"
        var random = harness.random(20)
        var written: [Writer.Written] = []
        for _ in 0..<rounds {
            let child = try ChildRun(
                .client, [folder, center.address, "\(random.next())"], folder: harness.folder)
            harness.atEnd { child.kill() }
            let writing = write(center, prefix: "k", random.next())
            // One in six may die before it has opened its database.
            if !random.oneIn(6) { _ = try await harness.wait { child.lines.contains("ready") } }
            try await Task.sleep(for: .milliseconds(random.below(1_000)))
            try end(child)
            written += await stop(writing)
            written += child.lines.compactMap(Self.written)
        }
        let site = try Site(name: "Divan", folder: folder, transport: harness.transport)
        defer { site.stop() }
        let database = try site.manager.database(named: Child.database)
        let pair = Pair(
            here: RemoteDatabase(server: site.server, name: Child.database), local: database,
            there: center)
        try await harness.replicate(pair, .divanPushes, part: "kills")
        try await harness.replicate(pair, .divanPulls, part: "kills")
        for problem in try database.verify() {
            harness.report.fail("kills", "clients", Child.database, "\(problem)")
        }
        try await compare(pair, written, "clients")
    }

    private static func written(_ line: String) -> Writer.Written? {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 3, words[0] == "saved" else { return nil }
        return Writer.Written(id: words[1], revision: words[2])
    }

    // MARK: - Listeners

    private func killListeners() async throws {
        let center = try await harness.there.makeDatabase(harness.name("killed", "listener"))
        let folder = harness.folder + "/killed-listener"
        var random = harness.random(21)
        var written: [Writer.Written] = []
        var port: UInt16 = 0
        for _ in 0..<rounds {
            let child = try await listener(folder, &port)
            let database = try await served(port)
            let directions = [Direction.serverPushes, .serverPulls]
            for direction in directions {
                Task { _ = try? await request(direction, database, center) }
            }
            let writing = [
                write(database, prefix: "k", random.next()),
                write(center, prefix: "k", random.next()),
            ]
            try await Task.sleep(for: .milliseconds(100 + random.below(1_000)))
            try end(child)
            for task in writing { written += await stop(task) }
        }
        _ = try await listener(folder, &port)
        let database = try await served(port)
        try await settle(database, center)
        let local = try Database.inMemory()
        try await compare(Pair(here: database, local: local, there: center), written, "listeners")
    }

    private func listener(_ folder: String, _ port: inout UInt16) async throws -> ChildRun {
        let child = try ChildRun(.listener, [folder, "\(port)"], folder: harness.folder)
        harness.atEnd { child.kill() }
        guard try await harness.wait(upTo: 30, until: { child.lines.first != nil }),
            let told = child.lines.first?.split(separator: " ").last.flatMap({ UInt16($0) })
        else { throw Trouble("A listener does not start on port \(port).") }
        port = told
        return child
    }

    private func served(_ port: UInt16) async throws -> RemoteDatabase {
        let url = try HTTPURL("http://127.0.0.1:\(port)/")
        let server = Server(name: "Divan", url: url, transport: harness.transport)
        _ = try await server.send(.put, "/\(Child.database)")
        return RemoteDatabase(server: server, name: Child.database)
    }

    @discardableResult
    private func request(
        _ direction: Direction, _ database: RemoteDatabase, _ center: RemoteDatabase,
        isCancelling: Bool = false
    ) async throws -> Answer {
        let pair = Pair(here: database, local: try Database.inMemory(), there: center)
        return try await pair.request(direction, Terms(), isCancelling: isCancelling)
    }

    /// Replicates until both are equal; a replication that still waits for a dead listener is cancelled first.
    private func settle(_ database: RemoteDatabase, _ center: RemoteDatabase) async throws {
        for _ in 0..<10 {
            for direction in [Direction.serverPushes, .serverPulls] {
                _ = try? await request(direction, database, center, isCancelling: true)
                _ = try await request(direction, database, center)
            }
            if try await database.leaves() == center.leaves() { return }
        }
    }

    // MARK: - The server

    /// The server itself is killed, by the commands that were given.
    private func killServers(_ kill: String, _ start: String) async throws {
        let pair = try await harness.makePair("killed", "server")
        var terms = Terms()
        terms.isContinuous = true
        let replications = [
            pair.local.push(to: pair.there.address) { terms.apply(to: &$0) },
            pair.local.pull(from: pair.there.address) { terms.apply(to: &$0) },
        ]
        var random = harness.random(22)
        var written: [Writer.Written] = []
        for _ in 0..<rounds {
            let writing = [
                write(pair.here, prefix: "k", random.next()),
                write(pair.there, prefix: "k", random.next()),
            ]
            try await Task.sleep(for: .milliseconds(200 + random.below(2_000)))
            try ChildProcess("/bin/sh", ["-c", kill]).wait()
            for task in writing { written += await stop(task) }
            try ChildProcess("/bin/sh", ["-c", start]).wait()
            let isBack = try await harness.wait(upTo: 60) {
                (try? await pair.there.send(.get, ""))?.status == 200
            }
            guard isBack else {
                throw Trouble("The server did not come back after the start command.")
            }
        }
        if try await !harness.waitUntilEqual(pair.here, pair.there) {
            harness.report.fail(
                "kills", "servers", "all", "the ends did not become equal in two minutes")
        }
        for replication in replications { await replication.stopAndWait() }
        try await compare(pair, written, "servers")
    }
}

extension KillsPart {
    /// Writes until the database's server is gone, or the task is cancelled.
    private func write(_ database: RemoteDatabase, prefix: String, _ seed: UInt64) -> Task<
        Writer, Never
    > {
        Task {
            var writer = Writer(database, prefix: prefix, documents: 40, SeededRandom(seed: seed))
            while !Task.isCancelled, await writer.write() {}
            return writer
        }
    }

    private func stop(_ writing: Task<Writer, Never>) async -> [Writer.Written] {
        writing.cancel()
        return await writing.value.acknowledged
    }

    private func end(_ child: ChildRun) throws {
        guard child.isRunning else { throw Trouble("A child ended before it was killed.") }
        child.kill()
    }

    private func compare(_ pair: Pair, _ written: [Writer.Written], _ whose: String) async throws {
        let here = try await Snapshot.take(pair.here)
        let there = try await Snapshot.take(pair.there)
        harness.comparison("kills", whose).compare(here, there)
        harness.check(written, here, "kills", "\(whose), in Divan")
        harness.check(written, there, "kills", "\(whose), at \(harness.there.name)")
        harness.report.say("  \(whose): \(rounds) kills, \(written.count) acknowledged writes")
    }
}
