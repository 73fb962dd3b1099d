// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanListener
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanPeers

/// Two devices that learn to trust each other.
@Suite(.timeLimit(.minutes(10))) struct PairingTests {
    private func code(_ body: () async throws -> Void) async -> PeerError.Code? {
        do { try await body() } catch { return (error as? PeerError)?.code }
        return nil
    }

    @Test func `a device that scans a link is paired, and both show the same digits`() async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try ann.notes.put("a", ["n": 1], parent: nil)
        let shown = Mutex<PairingCandidate?>(nil)
        let link = try ann.listener.link(for: ann.notes, lifetime: .seconds(3_600)) { candidate in
            shown.withLock { $0 = candidate }
            return true
        }
        let pairing = try await bob.device.pair(with: PeerLink(link.text))
        let candidate = try #require(shown.withLock { $0 })
        #expect(candidate.code == pairing.code)
        #expect(pairing.code.wholeMatch(of: /[0-9]{3} [0-9]{3}/) != nil)
        #expect(candidate.name == "Bob" && candidate.id == bob.device.id)
        #expect(pairing.peer.name == "Ann" && pairing.peer.id == ann.device.id)
        let (seen, known) = (ann.device.peers, bob.device.peers)
        #expect(seen.map(\.id) == [bob.device.id] && seen.map(\.name) == ["Bob"])
        #expect(known.map(\.id) == [ann.device.id])
        #expect(seen[0].databases == ["notes"] && known[0].databases == ["notes"])
        #expect(seen[0].secret == known[0].secret)
        #expect(try await ann.answer(to: bob, "notes") == nil)
    }

    @Test func `a paired device gets what it shares and no other database`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        _ = try ann.manager.database(named: "private")
        try await ann.pair(with: bob)
        #expect(try await ann.answer(to: bob, "notes") == nil)
        #expect(try await ann.answer(to: bob, "private")?.code == .forbidden)
        let stranger = try TestPeer("Eve")
        #expect(try await ann.answer(to: stranger, "notes")?.code == .unauthorized)
        // The other way too.
        #expect(try await bob.answer(to: ann, "notes")?.code == .notFound)
        _ = try bob.notes
        #expect(try await bob.answer(to: ann, "notes") == nil)
    }

    @Test func `a link pairs one device`() async throws {
        let (ann, bob, eve) = (try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Eve"))
        let link = try ann.link()
        _ = try await bob.device.pair(with: link)
        for device in [eve.device, bob.device] {
            let error = await #expect(throws: PeerError.self) { try await device.pair(with: link) }
            #expect(error?.code == .refused && error?.message.contains("used") == true)
        }
        #expect(ann.device.peers.count == 1)
        #expect(eve.device.peers.isEmpty)
    }

    @Test func `of devices that show one link at once, one is paired`() async throws {
        let ann = try TestPeer("Ann")
        let guests = try (0..<6).map { try TestPeer("guest \($0)") }
        let link = try ann.link()
        let paired = await withTaskGroup(of: Bool.self) { group in
            for guest in guests {
                group.addTask { (try? await guest.device.pair(with: link)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(paired == 1)
        #expect(ann.device.peers.count == 1)
        #expect(guests.count { !$0.device.peers.isEmpty } == 1)
    }

    @Test func `a link whose time is over is refused`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        let link = try ann.link(lifetime: .seconds(1))
        // The date leaves off a part of a second, which the listener's clock does not.
        await eventually { link.invitation.hasExpired(at: Date().addingTimeInterval(-1.1)) }
        let error = await #expect(throws: PeerError.self) { try await bob.device.pair(with: link) }
        #expect(error?.code == .refused && error?.message.contains("time is over") == true)
        #expect(ann.device.peers.isEmpty && bob.device.peers.isEmpty)
    }

    @Test
    func
        `who guesses secrets is locked out before long, without those who have a link, and the user's word counts`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        let real = try ann.link()
        var messages: [String] = []
        for _ in 0..<8 {
            let guess = try PeerLink(
                real.endpoint, database: "notes",
                invitation: PeerInvitation(lasting: .seconds(60)))
            do { _ = try await bob.device.pair(with: guess) } catch {
                messages.append(error.message)
            }
        }
        #expect(messages.count == 8)
        #expect(messages.first?.contains("not known") == true)
        #expect(messages.last?.contains("Too many wrong links") == true)
        // A device that has a link is not kept out by those who guess.
        _ = try await bob.device.pair(with: real)
        #expect(ann.device.peers.count == 1)

        let (carl, dora) = (try TestPeer("Carl"), try TestPeer("Dora"))
        let declined = try carl.listener.link(for: carl.notes, lifetime: .seconds(3_600)) { _ in
            false
        }
        #expect(await code { _ = try await dora.device.pair(with: declined) } == .refused)
        #expect(carl.device.peers.isEmpty && dora.device.peers.isEmpty)
    }

    @Test func `only the device that made the link counts`() async throws {
        let (ann, bob, eve) = (try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Eve"))
        let link = try ann.link()
        let led = try PeerLink(
            PeerEndpoint(
                addresses: ["127.0.0.1"], port: Int(#require(eve.listener.port)),
                fingerprint: link.endpoint.fingerprint),
            database: "notes", invitation: link.invitation)
        #expect(await code { _ = try await bob.device.pair(with: led) } == .untrusted)
        let nowhere = try PeerLink(
            PeerEndpoint(
                addresses: ["127.0.0.1"], port: 1, fingerprint: link.endpoint.fingerprint),
            database: "notes", invitation: link.invitation)
        #expect(await code { _ = try await bob.device.pair(with: nowhere) } == .unreachable)
        #expect(await code { _ = try await ann.device.pair(with: link) } == .invalidValue)
        // None of these has used it up.
        _ = try await bob.device.pair(with: link)
    }

    @Test func `a device that is revoked is refused at once, and can be paired anew`() async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        #expect(try await ann.answer(to: bob, "notes") == nil)
        try ann.device.revoke(bob.device.id)
        #expect(try await ann.answer(to: bob, "notes")?.code == .unauthorized)
        #expect(throws: PeerError.self) { try ann.device.revoke(bob.device.id) }
        try await ann.pair(with: bob)
        #expect(try await ann.answer(to: bob, "notes") == nil)
        #expect(bob.device.peers.count == 1)
    }

    @Test func `pairing once more adds what the new link shares`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let photos = try ann.manager.database(named: "photos")
        _ = try await bob.device.pair(
            with: ann.listener.link(for: photos, lifetime: .seconds(3_600)))
        #expect(ann.device.peers.map(\.databases) == [["notes", "photos"]])
        #expect(bob.device.peers.map(\.databases) == [["notes", "photos"]])
        try ann.device.share(["photos"], withPeer: bob.device.id)
        #expect(try await ann.answer(to: bob, "notes")?.code == .forbidden)
        #expect(try await ann.answer(to: bob, "photos") == nil)
    }

    @Test func `an answer that is none leaves nothing paired`() async throws {
        let bob = try TestPeer("Bob")
        let plain = try TestPeer("Plain") { $0.devices = nil }
        let link = try PeerLink(
            PeerEndpoint(
                addresses: ["127.0.0.1"], port: Int(#require(plain.listener.port)),
                fingerprint: plain.device.identity.fingerprint),
            database: "notes", invitation: PeerInvitation(lasting: .seconds(60)))
        #expect(await code { _ = try await bob.device.pair(with: link) } == .refused)
        #expect(bob.device.peers.isEmpty)
        #expect(throws: PeerError.self) {
            try plain.listener.link(for: plain.notes, lifetime: .seconds(3_600))
        }
    }

    @Test func `neither errors nor logs tell a secret`() async throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        let link = try ann.link()
        let secret = Hexadecimal.text(link.invitation.secret.bytes)
        _ = try await bob.device.pair(with: link)
        let error = await #expect(throws: PeerError.self) { try await bob.device.pair(with: link) }
        for text in ["\(error as Any)", "\(link)", "\(ann.device.peers)", String(reflecting: link)]
        {
            #expect(!text.contains(secret) && !text.contains(link.text))
        }
    }

    @Test func `what the host says of its key and of databases counts for nothing`() async throws {
        let (ann, bob, mallory) = (
            try TestPeer("Ann"), try TestPeer("Bob"), try TestPeer("Mallory")
        )
        try await ann.pair(with: bob)
        let before = bob.device.peers[0]
        _ = try bob.manager.database(named: "private")
        var options = ListenerOptions()
        options.tls = mallory.device.identity
        options.devices = LyingDevices(
            key: mallory.device.identity.keyDigest,
            lies: [
                "key": .string(Hexadecimal.text(ann.device.identity.keyDigest)),
                "databases": ["private", "_users", "_replicator", "../x", "\u{1B}[2J"],
            ])
        let liar = Listener(mallory.manager, options)
        try liar.start()
        defer { liar.stop() }
        let link = try PeerLink(
            PeerEndpoint(
                addresses: ["127.0.0.1"], port: Int(#require(liar.port)),
                fingerprint: mallory.device.identity.fingerprint), database: "notes",
            invitation: PeerInvitation(lasting: .seconds(60)))
        let pairing = try await bob.device.pair(with: link)
        #expect(pairing.peer.id == mallory.device.id)
        #expect(pairing.peer.databases == ["notes"])
        // Ann is who she was.
        #expect(bob.device.peers.first == before)
        #expect(try await bob.answer(to: mallory, "private")?.code == .forbidden)
        #expect(throws: PeerError.self) {
            try bob.device.share(["_users"], withPeer: mallory.device.id)
        }
    }

    @Test
    func
        `the digits are on both screens before the user is asked, and no key or nonce can be chosen for them`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        let shown = Mutex<[String]>([])
        let link = try ann.listener.link(for: ann.notes, lifetime: .seconds(3_600)) { candidate in
            // The guest shows them already.
            shown.withLock { $0.last == candidate.code }
        }
        let pairing = try await bob.device.pair(with: link) { code in
            shown.withLock { $0.append(code) }
        }
        #expect(shown.withLock { $0 } == [pairing.code])

        // A guest that opens its commitment with another nonce is refused.
        let device = ann.device
        let (key, secret) = (
            [UInt8](repeating: 5, count: 32), try ann.link().invitation.secret.bytes
        )
        let nonce = [UInt8](repeating: 1, count: 16)
        _ = try device.pair(
            [
                "secret": .string(Hexadecimal.text(secret)), "name": "Eve",
                "commitment": .string(Hexadecimal.text(PeerKey.commitment(to: nonce, of: key))),
            ], key: key, network: "here")
        let other = [UInt8](repeating: 2, count: 16)
        #expect(throws: PairingRefusal.malformed) {
            try device.pair(
                ["opening": .string(Hexadecimal.text(other))], key: key, network: "here")
        }
        // That was its only guess.
        #expect(throws: PairingRefusal.unknownLink) {
            try device.pair(
                ["opening": .string(Hexadecimal.text(nonce))], key: key, network: "here")
        }
        #expect(device.peers.map(\.id) == [bob.device.id])
    }

    @Test
    func `a user who thinks for long holds up nothing, and a guest that has gone is not paired`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        let gate = AsyncStream<Bool>.makeStream()
        let isAsked = Mutex(false)
        let link = try ann.listener.link(for: ann.notes, lifetime: .seconds(3_600)) { _ in
            isAsked.withLock { $0 = true }
            for await answer in gate.stream { return answer }
            return false
        }
        let task = Task { try await bob.device.pair(with: link) }
        await eventually { isAsked.withLock { $0 } }
        task.cancel()
        let outcome = await task.result
        #expect(throws: PeerError.self) { try outcome.get() }
        gate.continuation.yield(true)
        // The listener is not held up, and stops at once.
        let began = ContinuousClock.now
        ann.listener.stop()
        #expect(.now - began < .seconds(60))
        #expect(ann.device.peers.isEmpty && bob.device.peers.isEmpty)
    }

    @Test
    func `links end with their listener, when they are withdrawn, and when a device is revoked`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        let stopped = try ann.link()
        ann.listener.stop()
        try ann.listener.start()
        let withdrawn = try ann.link()
        ann.device.withdrawLinks()
        try await ann.pair(with: bob)
        let older = try ann.link()
        try ann.device.revoke(bob.device.id)
        for link in [stopped, withdrawn, older] {
            let moved = try PeerLink(
                PeerEndpoint(
                    addresses: ["127.0.0.1"], port: Int(#require(ann.listener.port)),
                    fingerprint: link.endpoint.fingerprint), database: "notes",
                invitation: link.invitation)
            #expect(await code { _ = try await bob.device.pair(with: moved) } == .refused)
        }
        #expect(ann.device.peers.isEmpty)
    }

    @Test func `a link is made for a database that the listener serves`() throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        for database in [try bob.notes, try Database.inMemory(named: "notes")] {
            #expect(throws: PeerError.self) {
                try ann.listener.link(for: database, lifetime: .seconds(3_600))
            }
        }
    }

    @Test func `a listener does not start with another key than its device's`() throws {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        var options = ListenerOptions()
        options.device = ann.device
        options.tls = bob.device.identity
        #expect(throws: DatabaseError.self) { try Listener(ann.manager, options).start() }
    }
}

/// A host that tells a guest what it likes.
private struct LyingDevices: ListenerDevices {
    let key: [UInt8]?
    let lies: JSONObject
    var lastPort: UInt16? { nil }

    func device(withKey key: [UInt8]) -> ListenerDevice? { nil }
    func keep(port: UInt16) {}
    func greet(_ greeting: JSONObject, key: [UInt8]) -> Bool { false }

    func administer(_ action: DeviceAction, at site: DeviceSite) throws(DeviceFailure)
        -> JSONObject
    { throw DeviceFailure(.missing, "It tells lies alone.") }

    func pair(_ request: JSONObject, key: [UInt8], network: String) throws -> JSONObject {
        var answer = lies
        answer["name"] = "Nice"
        answer["nonce"] = .string(Hexadecimal.text([UInt8](repeating: 1, count: 16)))
        answer["state"] = "paired"
        return answer
    }
}
