// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDiscovery
import DivanJSON
import DivanListener
import DivanReplication
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanPeers

/// Paired devices that keep their databases the same while they see each other.
@Suite(.timeLimit(.minutes(10))) struct PeerSyncTests {
    private let network = TestNetwork()

    private func sync(
        _ peer: TestPeer, _ edit: (inout PeerSync.Options) -> Void = { _ in }
    ) throws -> PeerSync {
        var options = PeerSync.Options()
        options.network = { [network] () throws(PeerError) in network.join() }
        edit(&options)
        let sync = PeerSync(peer.listener, options)
        try sync.start()
        return sync
    }

    /// Has peers meet only where they see each other.
    private func seenOnly(_ options: inout PeerSync.Options) { options.triesKnownAddresses = false }

    private func presence(_ sync: PeerSync) -> [PeerStatus.Presence] {
        sync.currentStatuses.map(\.presence)
    }

    @Test func `what one device saves reaches its peer, both ways, and also what is saved later`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try ann.notes.put("a", ["by": "Ann"], parent: nil)
        try await ann.pair(with: bob)
        let (one, other) = (try sync(ann), try sync(bob))
        try bob.notes.put("b", ["by": "Bob"], parent: nil)
        try await eventually { try bob.notes.contains("a") && ann.notes.contains("b") }
        try ann.notes.update("b") { $0["seen"] = true }
        try await eventually { try bob.notes.document(withID: "b")?["seen"].bool == true }
        await eventually { one.currentStatuses.allSatisfy(\.isUpToDate) }
        #expect(one.currentStatuses.map(\.peer.name) == ["Bob"])
        await one.stop()
        await other.stop()
        #expect(presence(one) == [.away])
    }

    @Test func `a device that leaves is let go without an error, and goes on where it was`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let (one, other) = (try sync(ann, seenOnly), try sync(bob, seenOnly))
        try ann.notes.put("a", ["n": 1], parent: nil)
        try await eventually { try bob.notes.contains("a") }
        network.setHidden(true)
        await eventually { presence(one) == [.away] && presence(other) == [.away] }
        #expect(ann.listener.connectionCount <= 8)
        for number in 0..<20 {
            try ann.notes.put(DocumentID("later-\(number)"), ["n": 2], parent: nil)
        }
        network.setHidden(false)
        try await eventually { try bob.notes.contains("later-19") }
        // It began where it was: the first document was not compared again.
        let examined = other.currentStatuses.first?.pulls["notes"]?.examined ?? 0
        #expect(examined <= 20)
        await one.stop()
        await other.stop()
    }

    @Test func `a change of port does not begin anew`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        for number in 0..<50 {
            try ann.notes.put(DocumentID("d\(number)"), ["n": 1], parent: nil)
        }
        try await ann.pair(with: bob)
        let other = try sync(bob)
        var one = try sync(ann)
        try await eventually { try bob.notes.contains("d49") }
        await eventually { other.currentStatuses.first?.isUpToDate == true }
        await one.stop()
        await eventually { presence(other) == [.away] }
        let port = try #require(ann.listener.port)
        ann.listener.stop()
        // Another program has the former port.
        var options = ListenerOptions()
        options.port = port
        let taken = Listener(ann.manager, options)
        try taken.start()
        defer { taken.stop() }
        try ann.listener.start()
        #expect(ann.listener.port != port)
        one = try sync(ann)
        try ann.notes.put("new", ["n": 2], parent: nil)
        try await eventually { try bob.notes.contains("new") }
        #expect((other.currentStatuses.first?.pulls["notes"]?.examined ?? 0) <= 2)
        await one.stop()
        await other.stop()
    }

    @Test
    func
        `a device that is revoked gets nothing more, and one that is paired meanwhile is taken up`()
        async throws
    {
        let (ann, bob, carl) = (try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Carl"))
        try await ann.pair(with: bob)
        let all = try [ann, bob, carl].map { try sync($0) }
        try ann.notes.put("a", ["n": 1], parent: nil)
        try await eventually { try bob.notes.contains("a") }
        try await ann.pair(with: carl)
        try await eventually { try carl.notes.contains("a") }
        try ann.device.revoke(bob.device.id)
        try ann.notes.put("secret", ["n": 2], parent: nil)
        try await eventually { try carl.notes.contains("secret") }
        // Bob's feed was broken off, and he is refused; he no longer sees Ann's mark either.
        await eventually { presence(all[1]) != [.connected] }
        #expect(try !bob.notes.contains("secret"))
        #expect(all[0].currentStatuses.map(\.peer.name) == ["Carl"])
        for sync in all { await sync.stop() }
        #expect(try !bob.notes.contains("secret"))
    }

    @Test func `devices that are paired once more find each other by what they share now`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let (one, other) = (try sync(ann, seenOnly), try sync(bob, seenOnly))
        await eventually { presence(one) == [.connected] && presence(other) == [.connected] }
        let former = ann.device.peers.map(\.secret)
        try await ann.pair(with: bob)
        #expect(ann.device.peers.map(\.secret) != former)
        for (sync, peer) in [(one, ann), (other, bob)] {
            let text = PeerMarks.text(
                for: peer.device.peers, of: peer.device.identity, day: PeerMarks.today)
            await eventually { sync.state.withLock { $0.announced } == text }
        }
        await eventually { presence(one) == [.connected] && presence(other) == [.connected] }
        await one.stop()
        await other.stop()
    }

    @Test func `a mark that another device copies leads to no peer`() async throws {
        let (ann, bob, eve) = (try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Eve"))
        try await ann.pair(with: bob)
        let other = try sync(bob, seenOnly)
        // Eve has seen what Ann announces, and announces it with a port of her own.
        let place = network.join()
        try place.announce(
            port: #require(eve.listener.port),
            PeerMarks.text(
                for: ann.device.peers, of: ann.device.identity, day: PeerMarks.today))
        await eventually { presence(other) == [.unreachable] }
        #expect(other.currentStatuses.first?.pulls.isEmpty == true)
        #expect(eve.device.peers.isEmpty)
        place.leave()
        let one = try sync(ann)
        try ann.notes.put("a", ["n": 1], parent: nil)
        try await eventually { try bob.notes.contains("a") }
        await one.stop()
        await other.stop()
    }

    @Test func `a mark that another device copies while the peer is there takes nothing away`()
        async throws
    {
        let (ann, bob, eve) = (try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Eve"))
        try await ann.pair(with: bob)
        // Eve's place comes before Ann's in all lists.
        let place = network.join()
        let (one, other) = (try sync(ann), try sync(bob))
        try ann.notes.put("a", ["n": 1], parent: nil)
        try await eventually { try bob.notes.contains("a") }
        try place.announce(
            port: #require(eve.listener.port),
            PeerMarks.text(for: ann.device.peers, of: ann.device.identity, day: PeerMarks.today))
        try ann.notes.put("b", ["n": 1], parent: nil)
        try await eventually { try bob.notes.contains("b") }
        #expect(presence(other) == [.connected])
        await one.stop()
        await other.stop()
    }

    @Test func `a database that one of two refuses does not hold up the others`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let photos = try ann.manager.database(named: "photos")
        _ = try await bob.device.pair(
            with: ann.listener.link(for: photos, lifetime: .seconds(3_600)))
        try ann.device.share(["photos"], withPeer: bob.device.id)
        let (one, other) = (try sync(ann), try sync(bob))
        try photos.put("p", ["n": 1], parent: nil)
        try await eventually {
            try bob.manager.existingDatabase(named: "photos")?.contains("p") == true
        }
        await eventually {
            other.currentStatuses.first?.pulls["notes"]?.error?.code == .forbidden
        }
        try photos.put("later", ["n": 1], parent: nil)
        try await eventually {
            try bob.manager.existingDatabase(named: "photos")?.contains("later") == true
        }
        #expect(presence(other) == [.connected])
        await one.stop()
        await other.stop()
    }

    @Test(arguments: [false, true])
    func `design documents of a peer are stored where the app takes them`(isTaken: Bool)
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        try ann.notes.put("_design/code", ["language": "javascript"], parent: nil)
        let one = try sync(ann)
        let other = try sync(bob) { $0.takesDesignDocuments = isTaken }
        try ann.notes.put("a", ["n": 1], parent: nil)
        try await eventually { try bob.notes.contains("a") }
        if isTaken { try await eventually { try bob.notes.contains("_design/code") } }
        #expect(try bob.notes.contains("_design/code") == isTaken)
        await one.stop()
        await other.stop()
    }

    @Test func `rules of design documents see the device from which a document is pulled`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let isPeer: JSONValue = [
            "userCtx.name": .string("device-\(ann.device.id)"), "userCtx.db": "notes",
            "userCtx.roles": ["$size": 0],
        ]
        try bob.notes.put(
            "_design/peers", ["language": "query", "validate_doc_update": isPeer], parent: nil)
        try bob.notes.put(
            "_design/official",
            [
                "language": "query",
                "validate_doc_update": [
                    "$or": [
                        ["newDoc.kind": ["$ne": "official"]],
                        ["userCtx.roles": ["$elemMatch": ["$eq": "_admin"]]],
                    ]
                ],
            ], parent: nil)
        try ann.notes.put("a-official", ["kind": "official"], parent: nil)
        try ann.notes.put("b-usual", ["kind": "usual"], parent: nil)
        let (one, other) = (try sync(ann), try sync(bob))
        try await eventually { try bob.notes.contains("b-usual") }
        // What comes later shows that the other one was looked at.
        try ann.notes.put("c-usual", ["kind": "usual"], parent: nil)
        try await eventually { try bob.notes.contains("c-usual") }
        #expect(try !bob.notes.contains("a-official"))
        await one.stop()
        await other.stop()
    }

    @Test func `a listener with a rule for each write is not synchronised past it`() throws {
        let ann = try TestPeer("Ann") { $0.authorization.writing = { _, _, _ in true } }
        #expect(throws: PeerError.self) { try sync(ann) }
    }

    @Test func `only the chosen databases take part`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let photos = try ann.manager.database(named: "photos")
        _ = try await bob.device.pair(
            with: ann.listener.link(for: photos, lifetime: .seconds(3_600)))
        try photos.put("p", ["n": 1], parent: nil)
        try ann.notes.put("a", ["n": 1], parent: nil)
        let one = try sync(ann)
        let other = try sync(bob) { $0.databases = ["photos"] }
        try await eventually {
            try bob.manager.existingDatabase(named: "photos")?.contains("p") == true
        }
        #expect(try bob.manager.existingDatabase(named: "notes") == nil)
        await one.stop()
        await other.stop()
    }

    @Test func `eight devices, each paired with each, converge`() async throws {
        let peers = try (0..<8).map { try TestPeer("device \($0)") }
        for (place, host) in peers.enumerated() {
            for guest in peers.dropFirst(place + 1) { try await host.pair(with: guest) }
        }
        let all = try peers.map { try sync($0) }
        for (place, peer) in peers.enumerated() {
            try peer.notes.inBatch {
                for number in 0..<25 {
                    try peer.notes.put(
                        DocumentID("\(place)-\(number)"), ["by": .integer(Int64(place))],
                        parent: nil)
                }
                // All edit one document, which is in conflict then.
                try peer.notes.put("shared", ["by": .integer(Int64(place))], parent: nil)
            }
        }
        try await eventually { try peers.allSatisfy { try $0.notes.documentCount == 201 } }
        try await eventually {
            let leaves = try peers.map {
                try $0.notes.conflictingRevisions(of: "shared").map(\.revisionID)
            }
            return leaves.allSatisfy { $0 == leaves[0] && $0.count == 8 }
        }
        await eventually { all.allSatisfy { $0.currentStatuses.allSatisfy(\.isUpToDate) } }
        for sync in all { await sync.stop() }
    }

    @Test func `what is announced tells neither names, nor keys, nor how many peers there are`()
        throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        func lengths(_ count: Int) -> Int {
            let peers = (0..<count).map { number in
                PairedPeer(
                    key: bob.device.identity.keyDigest.map { $0 &+ UInt8(number) }, name: "Bob",
                    databases: ["notes"], secret: [UInt8](repeating: UInt8(number), count: 32))
            }
            let text = PeerMarks.text(for: peers, of: ann.device.identity, day: 20_000)
            let marks = PeerMarks.marks(of: text)
            for peer in peers {
                #expect(
                    marks.contains(
                        PeerKey.mark(peer.secret, of: ann.device.identity.keyDigest, day: 20_000)))
            }
            let tomorrow = PeerMarks.text(
                for: peers, of: ann.device.identity, day: 20_001)
            #expect(PeerMarks.marks(of: tomorrow).isDisjoint(with: marks))
            // Two texts of one day do not tell the true marks from the others.
            let again = PeerMarks.text(for: peers, of: ann.device.identity, day: 20_000)
            #expect(again == text)
            return marks.count
        }
        #expect([0, 1, 8].map(lengths) == [8, 8, 8])
        #expect([9, 16, 120].map(lengths) == [16, 16, 120])
    }

    @Test func `a text that a stranger announces is read within bounds`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<500 {
            let strings = (0..<random.below(8)).map { _ in
                Array("m\(random.below(6))=".utf8)
                    + (0..<random.below(250)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            #expect(PeerMarks.marks(of: ServiceText(strings: strings)).count <= 164)
        }
    }

    @Test func `a listener without a device, or that does not listen, cannot be synchronised`()
        throws
    {
        let ann = try TestPeer("Ann")
        ann.listener.stop()
        #expect(throws: PeerError.self) { try self.sync(ann) }
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        let plain = Listener(ann.manager, options)
        try plain.start()
        let sync = PeerSync(plain)
        #expect(throws: PeerError.self) { try sync.start() }
        plain.stop()
    }
}
