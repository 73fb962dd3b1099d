// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDiscovery
import DivanListener
import DivanTestSupport
import Foundation
import Testing

@testable import DivanPeers

/// What it costs to keep devices the same, as multiples of a plain pull of the same documents in the same run. It prints what it
/// measures; `DIVAN_SOAK=1` runs it with the full count.
@Suite(.timeLimit(.minutes(30)), .serialized) struct PeerFiguresTests {
    private static let documents = Soak.count(test: 200, soak: 10_000)

    private func filled(_ name: String) throws -> TestPeer {
        let peer = try TestPeer(name)
        for start in stride(from: 0, to: Self.documents, by: 500) {
            try peer.notes.inBatch {
                for number in start..<min(start + 500, Self.documents) {
                    try peer.notes.put(
                        DocumentID("d\(number)"),
                        [
                            "title": "Document \(number)", "n": .integer(Int64(number)),
                            "done": false,
                        ],
                        parent: nil)
                }
            }
        }
        return peer
    }

    private struct Cost {
        var wall: Duration
        var processor: Double
    }

    private func cost(_ body: () async throws -> Void) async rethrows -> Cost {
        let (began, processor) = (ContinuousClock.now, clock())
        try await body()
        return Cost(
            wall: .now - began, processor: Double(clock() - processor) / Double(CLOCKS_PER_SEC))
    }

    @Test func `eight devices get what one has for a bounded multiple of one pull`() async throws {
        let plain = try filled("Ann")
        let reader = try TestPeer("Reader")
        let pairing = try await cost { try await plain.pair(with: reader) }
        let pull = try await cost {
            let pull = try reader.notes.makePullReplication(
                from: "https://127.0.0.1:\(plain.listener.port ?? 0)/notes"
            ) {
                $0.trust = .peer(plain.device.identity.keyDigest)
                $0.clientCertificate = reader.device.clientCertificate
                $0.proxy = .none
            }
            try await pull.run()
        }
        #expect(try reader.notes.documentCount == Self.documents)

        let network = TestNetwork()
        let peers = try [filled("origin")] + (1..<8).map { try TestPeer("device \($0)") }
        for (place, host) in peers.enumerated() {
            for guest in peers.dropFirst(place + 1) { try await host.pair(with: guest) }
        }
        var syncs: [PeerSync] = []
        let mesh = try await cost {
            for peer in peers {
                var options = PeerSync.Options()
                options.network = { () throws(PeerError) in network.join() }
                let sync = PeerSync(peer.listener, options)
                try sync.start()
                syncs.append(sync)
            }
            try await eventually {
                try peers.allSatisfy { try $0.notes.documentCount == Self.documents }
            }
            await eventually { syncs.allSatisfy { $0.currentStatuses.allSatisfy(\.isUpToDate) } }
        }
        var (examined, transferred) = (0, 0)
        for status in syncs.flatMap(\.currentStatuses) {
            for (_, pull) in status.pulls {
                examined += pull.examined
                transferred += pull.transferred
            }
        }
        let end = ContinuousClock.now + .seconds(5)
        let idle = await cost { await eventually { ContinuousClock.now >= end } }
        for sync in syncs { await sync.stop() }
        let walls = mesh.wall / pull.wall
        print(
            """
            PeerFigures, \(Self.documents) documents: a plain pull takes \(pull.wall), \(pull.processor) s of CPU. \
            Pairing \(pairing.wall / pull.wall) of its time. Eight devices, each with each: \(walls) times its time, \
            \(mesh.processor / pull.processor) times its CPU (seven copies), \(examined) changes compared and \
            \(transferred) documents transferred for \(7 * Self.documents) needed. \
            Idle: \(idle.processor / 5) s of CPU a second for eight devices.
            """)
        // Each of seven devices needs a copy; what several peers offer at once may come more than once.
        #expect(transferred < 2 * 7 * Self.documents)
    }
}
