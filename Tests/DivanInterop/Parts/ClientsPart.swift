// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanReplication
import DivanTestSupport

/// Many databases of ours, each with a continuous push and pull, around one database of the server.
struct ClientsPart {
    private let harness: Harness

    init(_ harness: Harness) { self.harness = harness }

    func run() async throws {
        let count = harness.options.count(5, 50, 50)
        let edits = harness.options.count(4, 10, 60)
        let center = try await harness.there.makeDatabase(harness.name("clients"))
        var clients: [Database] = []
        var remotes: [RemoteDatabase] = []
        for number in 0..<count {
            let name = harness.name("client", "\(number)")
            remotes.append(try await harness.here.server.makeDatabase(name))
            clients.append(try harness.here.manager.database(named: name))
        }
        let replications = clients.flatMap { client in
            let (push, pull) = client.sync(with: center.address) {
                $0.retry.firstDelay = .milliseconds(100)
            }
            return [push, pull]
        }
        let began = ContinuousClock.now
        try await edit(clients, edits)
        for remote in remotes {
            guard try await !harness.waitUntilEqual(remote, center) else { continue }
            harness.report.fail(
                "clients", "", remote.name, "it did not become equal to the center in two minutes")
        }
        let took = (ContinuousClock.now - began).components.seconds
        for replication in replications { await replication.stopAndWait() }
        let there = try await Snapshot.take(center)
        for remote in [remotes[0], remotes[count - 1]] {
            harness.comparison("clients", remote.name).compare(
                try await Snapshot.take(remote), there)
        }
        let expected = count * edits + 10
        harness.report.checked(expected)
        if there.documents.count != expected {
            harness.report.fail(
                "clients", "", center.name,
                "it has \(there.documents.count) documents, not \(expected)")
        }
        harness.report.say("  \(count) clients, \(expected) documents, equal after \(took) s")
    }

    /// Each client makes documents of its own, and edits ten that all edit.
    private func edit(_ clients: [Database], _ edits: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, client) in clients.enumerated() {
                let random = harness.random(UInt64(1_000 + number))
                group.addTask {
                    var random = random
                    for edit in 0..<edits {
                        try client.save(
                            MutableDocument(
                                ["edit": .integer(Int64(edit))], id: "own \(number) \(edit)"))
                        _ = try client.edit("common \(random.below(10))") {
                            $0.set(number, forKey: "by")
                        }
                        try await Task.sleep(for: .milliseconds(random.below(20)))
                    }
                    for common in 0..<10 where number == 0 {
                        _ = try client.edit("common \(common)") { $0.set(0, forKey: "by") }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
