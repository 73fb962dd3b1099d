// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanListener
import DivanTestSupport
import Foundation
import Testing

@testable import DivanPeers

/// Paired devices that do not see each other, since no multicast goes between them.
@Suite(.timeLimit(.minutes(10))) struct KnownAddressTests {
    /// Starts to synchronise on a network of its own, on which there is no other device.
    private func alone(
        _ peer: TestPeer, _ edit: (inout PeerSync.Options) -> Void = { _ in }
    ) throws -> PeerSync {
        var options = PeerSync.Options()
        let network = TestNetwork()
        options.network = { () throws(PeerError) in network.join() }
        edit(&options)
        let sync = PeerSync(peer.listener, options)
        try sync.start()
        return sync
    }

    private func presence(_ sync: PeerSync) -> PeerStatus.Presence? {
        sync.currentStatuses.first?.presence
    }

    @Test func `devices that were paired find each other at the addresses of the link, both ways`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try ann.notes.put("a", ["by": "Ann"], parent: nil)
        try await ann.pair(with: bob)
        let (one, other) = (try alone(ann), try alone(bob))
        try bob.notes.put("b", ["by": "Bob"], parent: nil)
        try await eventually { try bob.notes.contains("a") && ann.notes.contains("b") }
        await eventually { presence(one) == .connected && presence(other) == .connected }
        // Ann had no address of Bob's: he has told her, and she keeps it.
        #expect(ann.device.peers.first?.place?.port == bob.listener.port)
        await one.stop()
        await other.stop()
        #expect(presence(one) == .away && presence(other) == .away)
    }

    @Test func `the address is known after a restart, and a device that comes back is found`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let first = (try alone(ann), try alone(bob))
        await eventually { presence(first.0) == .connected }
        await first.0.stop()
        await first.1.stop()
        // What the file tells is what another start would know.
        let place = try #require(
            PeersFile.load(ann.folder.path + "/peers.json").peers.first?.place)
        #expect(place.addresses.map(\.text) == ["127.0.0.1"])
        // A listener takes its former port again.
        let port = ann.listener.port
        ann.listener.stop()
        try ann.listener.start()
        #expect(ann.listener.port == port)
        // Ann is there alone first; Bob, who starts later, is met whichever of them looks first.
        let one = try alone(ann)
        #expect(presence(one) != .connected)
        let other = try alone(bob)
        await eventually { presence(one) == .connected && presence(other) == .connected }
        await one.stop()
        await other.stop()
    }

    @Test func `a device that does not synchronise, or does not look, is away`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let other = try alone(bob)
        let spots = try #require(bob.device.peers.first?.place?.spots)
        let trust = TrustPolicy.pinnedKeys(
            sha256: [ann.device.identity.keyDigest], validates: false)
        let transport = try PeerTransport(bob.device, trusting: trust)
        // Ann's listener answers, but she does not synchronise.
        guard case .unanswered = await transport.greet(at: spots, from: nil) else {
            Issue.record("The greeting was answered.")
            return
        }
        transport.close()
        #expect(presence(other) == .away)
        await other.stop()
        let seenOnly = try alone(bob) { $0.triesKnownAddresses = false }
        let one = try alone(ann)
        await eventually { presence(seenOnly) == .away }
        #expect(ann.device.peers.first?.place == nil)
        await one.stop()
        await seenOnly.stop()
    }

    @Test func `a device that was revoked is refused at a known address`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        try ann.device.revoke(bob.device.id)
        let (one, other) = (try alone(ann), try alone(bob))
        await eventually { presence(other) == .refused }
        #expect(one.currentStatuses.isEmpty)
        await one.stop()
        await other.stop()
    }

    @Test func `another device at a known address is not taken for the peer`() async throws {
        let (ann, bob, eve) = (try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Eve"))
        try await ann.pair(with: bob)
        let port = try #require(eve.listener.port)
        let address = try #require(PeerAddress("127.0.0.1".utf8))
        let place = try #require(PeerPlace([address], port: port))
        bob.device.note(place, of: ann.device.id)
        #expect(bob.device.peers.first?.place == place)
        let (one, other) = (try alone(eve), try alone(bob))
        try await ann.pair(with: eve)
        try eve.notes.put("lie", ["n": 1], parent: nil)
        #expect(presence(other) == .away)
        await other.stop()
        await one.stop()
        #expect(try !bob.notes.contains("lie"))
        #expect(eve.device.peers.map(\.name) == ["Ann"])
    }

    @Test func `a place keeps good addresses while its port stays, and drops them with it`() throws
    {
        func place(_ texts: [String], _ port: UInt16 = 7) throws -> PeerPlace {
            try #require(PeerPlace(texts.compactMap { PeerAddress($0.utf8) }, port: port))
        }
        let old = try place(["10.0.0.1", "10.0.0.2"])
        #expect(try old.updated(by: place(["10.0.0.2"])) == old)
        #expect(
            try old.updated(by: place(["10.0.0.3"]))
                == place(["10.0.0.3", "10.0.0.1", "10.0.0.2"]))
        #expect(try old.updated(by: place(["10.0.0.3"], 8)) == place(["10.0.0.3"], 8))
        #expect(PeerPlace(old.json) == old)
        #expect(PeerPlace([], port: 7) == nil && PeerPlace(old.addresses, port: 0) == nil)
        let many = (0..<20).map { "10.0.1.\($0)" }
        #expect(try place(many).addresses.count == 8)
    }

    @Test(arguments: [
        #"{}"#, #"{"port":0,"addresses":["10.0.0.1"]}"#,
        #"{"port":70000,"addresses":["10.0.0.1"]}"#,
        #"{"port":7,"addresses":[]}"#, #"{"port":7,"addresses":["a b","",7]}"#, #"{"port":7}"#,
    ])
    func `a greeting that names no place is passed over`(_ text: String) throws {
        #expect(try PeerPlace(#require(JSONParser.parse(Array(text.utf8)).object)) == nil)
    }

    @Test func `an address that is good on one interface only is not kept`() {
        #expect(PeerSpot(host: "[fe80::1%25eth0]", port: 7).place == nil)
        #expect(PeerSpot(host: "[fd00::1]", port: 7).place?.addresses.map(\.text) == ["fd00::1"])
        #expect(PeerSpot(host: "10.0.0.1", port: 7).place?.spots.map(\.host) == ["10.0.0.1"])
    }
}
