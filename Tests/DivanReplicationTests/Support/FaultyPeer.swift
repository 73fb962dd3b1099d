// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization

/// A peer that fails as a network does: before the request arrives, or after it was carried out, so that
/// only the answer is lost.
///
/// Its faults are drawn from a seed, so a driver that makes one call after the other repeats them.
final class FaultyPeer: ReplicationPeer {
    let inner: any ReplicationPeer
    /// One call in so many fails; 0 for none.
    let faults = Mutex(0)
    private let random: Mutex<SeededRandom>
    /// How often each function was called.
    let calls = Mutex<[String: Int]>([:])

    var name: String { inner.name }

    init(_ inner: any ReplicationPeer, random: SeededRandom = SeededRandom(seed: 0)) {
        self.inner = inner
        self.random = Mutex(random)
    }

    static let fault = ReplicationError(
        .unreachable, "The test's network is down.", isTransient: true)

    private enum Fate { case works, isLost, answerIsLost }

    private func draw() -> Fate {
        let rate = faults.withLock { $0 }
        guard rate > 0 else { return .works }
        return random.withLock { random in
            guard random.oneIn(rate) else { return .works }
            return random.oneIn(2) ? .isLost : .answerIsLost
        }
    }

    private func call<T: Sendable>(
        _ name: String, _ body: @Sendable () async throws -> T
    ) async throws -> T {
        calls.withLock { $0[name, default: 0] += 1 }
        let fate = draw()
        if fate == .isLost { throw Self.fault }
        let result = try await body()
        if fate == .answerIsLost { throw Self.fault }
        return result
    }

    func information() async throws -> PeerInformation {
        try await call("information") { try await inner.information() }
    }
    func create(partitioned: Bool) async throws {
        try await call("create") { try await inner.create(partitioned: partitioned) }
    }
    func changes(_ request: ChangesRequest) async throws -> ChangesPage {
        try await call("changes") { try await inner.changes(request) }
    }
    func missingRevisions(of offers: [PeerChange]) async throws -> [MissingRevisions] {
        try await call("missing") { try await inner.missingRevisions(of: offers) }
    }
    func revisions(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        try await call("revisions") { try await inner.revisions(wanted) }
    }
    func put(_ documents: [WireDocument]) async throws -> [PutOutcome] {
        calls.withLock { $0["documents", default: 0] += documents.count }
        return try await call("put") { try await inner.put(documents) }
    }
    func checkpoint(_ id: ReplicationID) async throws -> StoredCheckpoint? {
        try await call("checkpoint") { try await inner.checkpoint(id) }
    }
    func write(_ checkpoint: Checkpoint, _ id: ReplicationID, revision: String?) async throws
        -> String?
    {
        try await call("write") { try await inner.write(checkpoint, id, revision: revision) }
    }
    func ensureDurable() async throws {
        try await call("durable") { try await inner.ensureDurable() }
    }

    func count(_ name: String) -> Int { calls.withLock { $0[name] ?? 0 } }
}
