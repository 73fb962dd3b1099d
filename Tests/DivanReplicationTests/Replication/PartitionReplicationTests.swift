// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

@Suite struct PartitionReplicationTests {
    private func source() throws -> Database {
        let source = try Database.inMemory(named: "source")
        for id: DocumentID in ["a:1", "plain", ":x", "b:", "_design/d", "b:2"] {
            try source.save(MutableDocument(["n": 1], id: id))
        }
        return source
    }

    @Test func `what names no partition is refused by itself, and the rest arrives`() async throws {
        let (source, target) = (try source(), try Database.inMemory(partitioned: true))
        let summary = try await source.makePushReplication(to: target).run()
        #expect(summary.refused == 3 && summary.transferred == 3)
        #expect(Set(summary.documentErrors.map(\.documentID)) == ["plain", ":x", "b:"])
        #expect(try target.allDocuments().map(\.id) == ["_design/d", "a:1", "b:2"])
        // Once more there is nothing to do, and nothing that ends it.
        #expect(try await source.makePushReplication(to: target).run().transferred == 0)
    }

    @Test func `a pull by HTTP leaves out the same documents`() async throws {
        let (source, target) = (try source(), try Database.inMemory(partitioned: true))
        let (local, peer) = (LocalPeer(target), HTTPPeer(CouchStandIn(source), for: target))
        let keeper = CheckpointKeeper(
            ReplicationID(.init(localUUID: target.privateUUID, remoteURL: "x", isPush: false)),
            local: local, remote: peer, isPush: false, incarnation: target.testIncarnation)
        let worker = ReplicationWorker(source: peer, target: local, keeper: keeper)
        let reports = try await worker.run(since: try await keeper.load())
        let refused = reports.filter { $0.error != nil }.map(\.id)
        #expect(Set(refused) == ["plain", ":x", "b:"])
        #expect(try target.allDocuments().map(\.id) == ["_design/d", "a:1", "b:2"])
    }
}
