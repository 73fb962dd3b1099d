// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanPeers

/// Devices that are revoked while they are being paired anew.
@Suite(.timeLimit(.minutes(10))) struct RevocationTests {
    private let ann: TestPeer
    private let bob: TestPeer

    /// Two devices that are paired.
    init() async throws {
        ann = try TestPeer("Ann")
        bob = try TestPeer("Bob")
        try await ann.pair(with: bob)
    }

    /// Another program with the directory of a device.
    private func other(of peer: TestPeer) throws -> PeerDevice {
        try PeerDevice(keptIn: peer.folder.url)
    }

    @Test(arguments: [false, true])
    func `one that is revoked after it has used a link is not paired`(byOther: Bool) async throws {
        let device = byOther ? try other(of: ann) : ann.device
        let link = try ann.listener.link(for: ann.notes) { candidate in
            do { try device.revoke(candidate.id) } catch {
                Issue.record(error)
            }
            return true
        }
        let error = await #expect(throws: PeerError.self) {
            _ = try await bob.device.pair(with: link)
        }
        #expect(error?.code == .refused)
        #expect(ann.device.peers.isEmpty)
        #expect(try await ann.answer(to: bob, "notes")?.code == .unauthorized)
    }

    @Test(arguments: [false, true])
    func `the device that made the link is not paired when it is revoked meanwhile`(byOther: Bool)
        async throws
    {
        let (device, id) = (byOther ? try other(of: bob) : bob.device, ann.device.id)
        let link = try ann.link()
        let error = await #expect(throws: PeerError.self) {
            _ = try await bob.device.pair(with: link) { _ in
                do { try device.revoke(id) } catch { Issue.record(error) }
            }
        }
        #expect(error?.code == .refused)
        #expect(bob.device.peers.isEmpty)
    }

    @Test func `links count no longer when another program has revoked a device`() async throws {
        let link = try ann.link()
        try other(of: ann).revoke(bob.device.id)
        await #expect(throws: PeerError.self) { _ = try await bob.device.pair(with: link) }
        #expect(ann.device.peers.isEmpty)
        try await ann.pair(with: bob)
        #expect(ann.device.peers.count == 1)
    }
}
