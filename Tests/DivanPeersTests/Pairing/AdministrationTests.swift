// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener
@testable import DivanPeers

/// Devices as administrators pair and manage them over HTTP.
@Suite(.timeLimit(.minutes(10))) struct AdministrationTests {
    /// A device whose listener takes every client on this machine for an administrator.
    private func peer(_ name: String) throws -> TestPeer {
        try TestPeer(name) { $0.access = .everybodyOnLoopback }
    }

    /// What the listener of a peer answers to an administrator.
    private func ask(
        _ peer: TestPeer, _ method: String, _ path: String, _ body: JSONValue? = nil
    ) throws -> (status: Int, body: JSONValue) {
        var request = ListenerRequest(RequestHead(method: method, target: path))
        request.head.headers["Host"] = "127.0.0.1"
        if let body {
            request.head.headers["Content-Type"] = "application/json"
            request.body = .bytes(Array(body.description.utf8))
        }
        let router = Router(site: try #require(peer.listener.site))
        let response = router.respond(request)
        guard case .bytes(let bytes) = response.body else { return (response.status, nil) }
        return (response.status, try JSONParser.parse(bytes))
    }

    private func begin(_ peer: TestPeer, _ body: JSONValue) throws -> JSONValue {
        let answer = try ask(peer, "POST", "/_divan/pairings", body)
        #expect(answer.status == 201, "\(answer.body)")
        return answer.body
    }

    private func pairing(_ peer: TestPeer, _ begun: JSONValue) throws -> JSONValue {
        try ask(peer, "GET", "/_divan/pairings/\(begun["id"]?.string ?? "")").body
    }

    private func state(_ peer: TestPeer, _ begun: JSONValue) throws -> String? {
        try pairing(peer, begun)["state"]?.string
    }

    /// Has Bob use a link of Ann's, up to the question.
    private func meet(_ ann: TestPeer, _ bob: TestPeer) async throws -> (
        shown: JSONValue, used: JSONValue
    ) {
        _ = try ann.notes
        let shown = try begin(ann, ["database": "notes"])
        let link = try #require(shown["link"])
        let used = try begin(bob, ["link": link])
        #expect(try await eventually { try state(ann, shown) == "asking" })
        return (shown, used)
    }

    @Test func `two devices are paired by their administrators, who see the same digits`()
        async throws
    {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        let (shown, used) = try await meet(ann, bob)
        let modules = (shown["modules"]?.array ?? []).compactMap(\.string)
        #expect(modules.count >= 41 && modules.allSatisfy { $0.count == modules.count })
        let (asked, asking) = (try pairing(ann, shown), try pairing(bob, used))
        #expect(asked["code"] != nil && asked["code"] == asking["code"])
        #expect(asked["device"]?["name"] == "Bob" && asking["device"]?["name"] == "Ann")
        #expect(asked["link"] == nil && asked["modules"] == nil)
        #expect(ann.device.peers.isEmpty)
        let id = shown["id"]?.string ?? ""
        #expect(try ask(ann, "PUT", "/_divan/pairings/\(id)", ["accept": true]).status == 200)
        #expect(try await eventually { try state(bob, used) == "paired" })
        #expect(try await eventually { try state(ann, shown) == "paired" })
        let list = try ask(ann, "GET", "/_divan/peers").body
        #expect(list["name"] == "Ann" && list["synchronizes"] == false)
        #expect(list["peers"]?[0]?["id"]?.string == bob.device.id)
        #expect(list["peers"]?[0]?["databases"] == ["notes"])
    }

    @Test func `a device that is declined is not paired, and is told so`() async throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        let (shown, used) = try await meet(ann, bob)
        let id = shown["id"]?.string ?? ""
        #expect(try ask(ann, "PUT", "/_divan/pairings/\(id)", ["accept": false]).status == 200)
        #expect(try await eventually { try state(bob, used) == "declined" })
        #expect(try pairing(bob, used)["reason"]?.string?.contains("declined") == true)
        #expect(try state(ann, shown) == "declined")
        #expect(ann.device.peers.isEmpty && bob.device.peers.isEmpty)
    }

    @Test func `a pairing that the administrator ends counts no longer`() async throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        _ = try ann.notes
        let shown = try begin(ann, ["database": "notes", "seconds": 60])
        let id = shown["id"]?.string ?? ""
        #expect(try ask(ann, "DELETE", "/_divan/pairings/\(id)").status == 200)
        #expect(try state(ann, shown) == "ended")
        let link = try #require(shown["link"])
        let used = try begin(bob, ["link": link])
        #expect(try await eventually { try state(bob, used) == "declined" })
        // The same while the user is asked.
        let (asked, asking) = try await meet(ann, bob)
        let second = asked["id"]?.string ?? ""
        #expect(try ask(ann, "DELETE", "/_divan/pairings/\(second)").status == 200)
        #expect(try await eventually { try state(bob, asking) == "declined" })
        #expect(ann.device.peers.isEmpty)
    }

    @Test func `no device is paired by an answer that was taken back in time`() async throws {
        for (method, body, outcome) in [
            ("DELETE", nil, "ended"), ("PUT", ["accept": false], "declined"),
        ] as [(String, JSONValue?, String)] {
            let (ann, bob) = (try peer("Ann"), try peer("Bob"))
            let (shown, used) = try await meet(ann, bob)
            let path = "/_divan/pairings/\(shown["id"]?.string ?? "")"
            #expect(try ask(ann, "PUT", path, ["accept": true]).status == 200)
            let answer = try ask(ann, method, path, body)
            #expect(try await eventually { try !["asking", "waiting"].contains(state(bob, used)) })
            // Bob may have been quicker; then Ann is told.
            let isPaired = answer.status == 409
            #expect(isPaired || answer.status == 200)
            #expect(try state(ann, shown) == (isPaired ? "paired" : outcome))
            #expect(try state(bob, used) == (isPaired ? "paired" : "declined"))
            #expect(ann.device.peers.count == (isPaired ? 1 : 0))
            #expect(bob.device.peers.count == (isPaired ? 1 : 0))
        }
    }

    @Test func `of a database that cannot be opened no link is used without a question`() throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        _ = try ann.notes
        let link = try #require(begin(ann, ["database": "notes"])["link"])
        // Bob has the database, and its manifest cannot be read now.
        try bob.notes.put("private", ["n": 1], parent: nil)
        let manifest = bob.manager.directory.appending(path: "notes.divan/manifest")
        try bob.notes.close()
        let contents = try Data(contentsOf: manifest)
        try Data("damaged".utf8).write(to: manifest)
        let refused = try ask(bob, "POST", "/_divan/pairings", ["link": link])
        #expect(refused.status >= 400, "\(refused.body)")
        try contents.write(to: manifest)
        #expect(try ask(bob, "POST", "/_divan/pairings", ["link": link]).status == 409)
    }

    @Test func `a pairing that was given up keeps no peer, and one that keeps it is not given up`()
        throws
    {
        var pairings = FollowedPairings()
        let given = FollowedPairing(try SampleLink.make(), isShown: false, lasting: .seconds(60))
        pairings.add(given)
        pairings.update(given.id) { $0.finish(as: .ended) }
        let isGivenKept = pairings.take(given.id)
        #expect(!isGivenKept)
        let taken = FollowedPairing(try SampleLink.make(), isShown: false, lasting: .seconds(60))
        pairings.add(taken)
        let isTaken = pairings.take(taken.id)
        #expect(isTaken)
        pairings.update(taken.id) { $0.finish(as: .ended) }
        let kept = pairings[taken.id]
        #expect(kept?.state == .paired)
        // What could not be kept is told.
        pairings.update(taken.id) { $0.fail(as: .failed, reason: "The disk is full.") }
        let failed = pairings[taken.id]
        #expect(failed?.state == .failed && failed?.reason != nil)
        let isKnown = pairings.take("unknown")
        #expect(!isKnown)
    }

    @Test func `a pairing that is done takes no answer and has no other end`() async throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        let (shown, used) = try await meet(ann, bob)
        let path = "/_divan/pairings/\(shown["id"]?.string ?? "")"
        _ = try ask(ann, "PUT", path, ["accept": true])
        #expect(try await eventually { try state(bob, used) == "paired" })
        #expect(try ask(ann, "PUT", path, ["accept": false]).status == 400)
        let late = try ask(ann, "DELETE", path)
        #expect(late.status == 409 && late.body["reason"]?.string?.contains("revoke") == true)
        #expect(ann.device.peers.count == 1)
    }

    @Test func `a device that is silent while the user is asked is taken for gone`() throws {
        var pairings = FollowedPairings()
        let pairing = FollowedPairing(
            try SampleLink.make(), isShown: true, lasting: .seconds(60))
        pairings.add(pairing)
        pairings.update(pairing.id) {
            $0.meet(PairingCandidate(name: "Bob", id: "b", code: "1", databases: ["notes"]))
            $0.end = .now - .seconds(1)
        }
        let isTaken = pairings.take(pairing.offer)
        #expect(!isTaken)
        let expired = pairings[pairing.id]
        #expect(expired?.state == .expired && expired?.reason?.contains("gone") == true)
    }

    @Test func `documents that are here are shared only where that is meant`() async throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        _ = try ann.notes
        try bob.notes.put("mine", [:], parent: nil)
        let shown = try begin(ann, ["database": "notes"])
        let link = try #require(shown["link"])
        let refused = try ask(bob, "POST", "/_divan/pairings", ["link": link])
        #expect(refused.status == 409)
        #expect(refused.body["reason"]?.string?.contains("'notes' has a document here") == true)
        let used = try begin(bob, ["link": link, "share_existing": true])
        #expect(try await eventually { try state(bob, used) == "asking" })
    }

    @Test func `what makes no sense is refused with a reason`() throws {
        let ann = try peer("Ann")
        let requests: [(String, String, JSONValue?, Int)] = [
            ("POST", "/_divan/pairings", [:], 400),
            ("POST", "/_divan/pairings", ["database": "notes", "link": "divan://x"], 400),
            ("POST", "/_divan/pairings", ["database": "none"], 404),
            ("POST", "/_divan/pairings", ["database": "notes", "seconds": 0], 400),
            ("POST", "/_divan/pairings", ["link": "http://x"], 400),
            ("GET", "/_divan/pairings/none", nil, 404),
            ("PUT", "/_divan/pairings/none", ["accept": true], 404),
            ("PUT", "/_divan/pairings/none", ["accept": "yes"], 400),
            ("DELETE", "/_divan/pairings/none", nil, 404),
            ("PUT", "/_divan/peers", ["name": ""], 400),
            ("PUT", "/_divan/peers", ["name": 1], 400),
            ("PUT", "/_divan/peers/none", ["name": "x"], 404),
            ("PUT", "/_divan/peers/none", ["databases": ["_users"]], 400),
            ("PUT", "/_divan/peers/none", ["databases": "notes"], 400),
            ("DELETE", "/_divan/peers/none", nil, 404),
        ]
        _ = try ann.notes
        for (method, path, body, status) in requests {
            let answer = try ask(ann, method, path, body)
            #expect(answer.status == status, "\(method) \(path) \(answer.body)")
            #expect(answer.body["reason"]?.string?.isEmpty == false)
        }
    }

    @Test func `a peer is renamed, shares what is said, and is let go`() async throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        try await ann.pair(with: bob)
        let path = "/_divan/peers/\(bob.device.id)"
        #expect(try ask(ann, "PUT", "/_divan/peers", ["name": "Ann's box"]).status == 200)
        let change: JSONValue = ["name": "Bob's phone", "databases": ["notes", "photos"]]
        #expect(try ask(ann, "PUT", path, change).status == 200)
        #expect(ann.device.name == "Ann's box")
        #expect(ann.device.peers.map(\.name) == ["Bob's phone"])
        #expect(ann.device.peers[0].databases == ["notes", "photos"])
        #expect(try ask(ann, "DELETE", path).status == 200)
        #expect(ann.device.peers.isEmpty)
    }

    @Test func `peers that are synchronised show where they are and what comes`() async throws {
        let (ann, bob) = (try peer("Ann"), try peer("Bob"))
        try await ann.pair(with: bob)
        try ann.notes.put("a", ["n": 1], parent: nil)
        let network = TestNetwork()
        var options = PeerSync.Options()
        options.network = { () throws(PeerError) in network.join() }
        let syncs = [ann, bob].map { PeerSync($0.listener, options) }
        for sync in syncs { try sync.start() }
        let isThere = try await eventually {
            let peer = try ask(bob, "GET", "/_divan/peers").body["peers"]?[0]
            return peer?["presence"] == "connected"
                && peer?["pulls"]?["notes"]?["activity"] == "idle"
        }
        #expect(isThere)
        #expect(try bob.notes.documentCount == 1)
        for sync in syncs { await sync.stop() }
        #expect(try ask(bob, "GET", "/_divan/peers").body["synchronizes"] == false)
    }

    @Test func `no more pairings are kept than sixteen, and none long after its end`() throws {
        var pairings = FollowedPairings()
        let link = try SampleLink.make()
        var ids: [String] = []
        for _ in 0..<20 {
            let pairing = FollowedPairing(link, isShown: true, lasting: .seconds(60))
            ids.append(pairing.id)
            pairings.add(pairing)
        }
        let kept = ids.map { pairings[$0] != nil }
        #expect(kept == (0..<20).map { $0 >= 4 })
        pairings.update(ids[4]) { $0.end = .now - .seconds(1) }
        let expired = pairings[ids[4]]
        #expect(expired?.state == .expired)
    }
}
