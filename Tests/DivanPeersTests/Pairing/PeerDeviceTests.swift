// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDiscovery
import DivanListener
import DivanTestSupport
import Foundation
import Testing

@testable import DivanPeers

/// What a device keeps of itself and its peers.
@Suite(.timeLimit(.minutes(10))) struct PeerDeviceTests {
    private let folder: ScratchDirectory

    init() throws { folder = try ScratchDirectory() }

    private static func peer(_ number: UInt8, _ name: String = "peer") -> PairedPeer {
        PairedPeer(
            key: [UInt8](repeating: number, count: 32), name: name, databases: ["notes"],
            secret: [UInt8](repeating: 9, count: 32))
    }

    @Test func `a device is the same after each start`() throws {
        let first = try PeerDevice(keptIn: folder.url, name: "Ann")
        try first.add(Self.peer(1), since: 0)
        let second = try PeerDevice(keptIn: folder.url)
        #expect(second.id == first.id && second.name == "Ann")
        #expect(second.id.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        #expect(second.peers.map(\.id) == first.peers.map(\.id))
        #expect(second.peers[0].pairedAt.timeIntervalSinceNow > -60)
        for name in ["peers.json", "listener.pem"] {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: folder.url.appending(path: name).path(percentEncoded: false))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    @Test func `peers are renamed and revoked by whatever program has the directory`() throws {
        let (one, other) = (
            try PeerDevice(keptIn: folder.url), try PeerDevice(keptIn: folder.url)
        )
        for number: UInt8 in 1...3 { try one.add(Self.peer(number), since: 0) }
        #expect(other.peers.count == 3)
        let id = other.peers[1].id
        try other.rename(peer: id, to: "Bob's phone")
        #expect(one.peers.map(\.name) == ["peer", "Bob's phone", "peer"])
        #expect(one.device(withKey: [UInt8](repeating: 2, count: 32)) != nil)
        try other.revoke(id)
        #expect(one.device(withKey: [UInt8](repeating: 2, count: 32)) == nil)
        #expect(throws: PeerError.self) { try one.rename(peer: id, to: "x") }
    }

    @Test func `changes by several programs at once are all kept`() async throws {
        let devices = try (0..<4).map { _ in try PeerDevice(keptIn: folder.url) }
        await withTaskGroup(of: Void.self) { group in
            for (place, device) in devices.enumerated() {
                group.addTask {
                    for number in 0..<10 {
                        do {
                            try device.add(Self.peer(UInt8(place * 10 + number + 1)), since: 0)
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
        }
        #expect(Set(devices[0].peers.map(\.id)).count == 40)
        #expect(devices.allSatisfy { $0.peers == devices[0].peers })
    }

    @Test func `a file that is malformed lets no device in, and says what to do`() throws {
        let device = try PeerDevice(keptIn: folder.url)
        try device.add(Self.peer(1), since: 0)
        for text in ["", "{", "[]", #"{"peers":[{}]}"#, #"{"peers":[{"key":"00"}]}"#] {
            try Data(text.utf8).write(to: folder.url.appending(path: "peers.json"))
            #expect(device.peers.isEmpty, "\(text)")
            let error = #expect(throws: PeerError.self) { try PeerDevice(keptIn: folder.url) }
            #expect(error?.code == .storage && error?.message.contains("peers.json") == true)
            #expect(throws: PeerError.self) { try device.add(Self.peer(2), since: 0) }
        }
    }

    @Test func `a file that holds no key is told, and not replaced`() throws {
        let file = folder.url.appending(path: "listener.pem")
        try Data("damaged".utf8).write(to: file)
        let error = #expect(throws: PeerError.self) { try PeerDevice(keptIn: folder.url) }
        #expect(error?.code == .storage && error?.message.contains("listener.pem") == true)
        #expect(try Data(contentsOf: file) == Data("damaged".utf8))
    }

    @Test func `the log tells when a device with peers has lost its key`() throws {
        let warnings = Record<String>()
        let sink = ClosureSink { entry in
            if entry.message.contains("has a new key") { warnings.append(entry.message) }
        }
        Log.add(sink, levels: LogLevels(.warning))
        defer { Log.remove(sink) }
        let file = folder.url.appending(path: "listener.pem")
        let alone = try PeerDevice(keptIn: folder.url)
        try FileManager.default.removeItem(at: file)
        let device = try PeerDevice(keptIn: folder.url)
        try device.add(Self.peer(1), since: 0)
        let same = try PeerDevice(keptIn: folder.url)
        #expect(same.id == device.id && device.id != alone.id)
        try FileManager.default.removeItem(at: file)
        let other = try PeerDevice(keptIn: folder.url)
        #expect(eventually { warnings.all.contains { $0.contains("'\(other.id)' now") } })
        #expect(!warnings.all.contains { $0.contains(device.id) || $0.contains(alone.id) })
    }

    @Test func `a name is one line that can be shown`() throws {
        let device = try PeerDevice(keptIn: folder.url)
        for name in [
            "", String(repeating: "x", count: 65), "a\nb", "a\u{1B}[2J", "a\u{202E}b", "a\u{2028}b",
        ] {
            #expect(throws: PeerError.self) { try device.rename(to: name) }
        }
        for name in ["x", "Zoë’s 📱", String(repeating: "x", count: 64)] {
            try device.rename(to: name)
            #expect(device.name == name)
        }
    }

    @Test func `there is room for as many peers as marks fit, and no more`() throws {
        let device = try PeerDevice(keptIn: folder.url)
        for number in 0..<PeerDevice.mostPeers {
            try device.add(Self.peer(UInt8(number + 1)), since: 0)
        }
        #expect(throws: PeerError.self) { try device.add(Self.peer(200), since: 0) }
        // One that is paired already finds room.
        try device.add(Self.peer(1, "again"), since: 0)
        #expect(device.peers.count == PeerDevice.mostPeers)
        let text = PeerMarks.text(for: device.peers, of: device.identity, day: 20_000)
        #expect(throws: Never.self) { try text.check() }
    }

    @Test func `who follows the peers is told of each change, also by another program`()
        async throws
    {
        let (one, other) = (
            try PeerDevice(keptIn: folder.url), try PeerDevice(keptIn: folder.url)
        )
        var changes = one.peerChanges().makeAsyncIterator()
        #expect(await changes.next()?.count == 0)
        try one.add(Self.peer(1), since: 0)
        #expect(await changes.next()?.count == 1)
        try other.add(Self.peer(2), since: 0)
        #expect(await changes.next()?.count == 2)
        try other.revoke(other.peers[0].id)
        #expect(await changes.next()?.count == 1)
    }

    @Test func `readers that end while the peers change stop neither the device nor its tasks`()
        async throws
    {
        let (ann, bob) = (try TestPeer("Ann"), try TestPeer("Bob"))
        try await ann.pair(with: bob)
        let id = bob.device.id
        let changing = Running {
            for number in 0..<300 { try ann.device.rename(peer: id, to: "Bob \(number)") }
        }
        while !changing.isDone(within: 0) {
            let reader = Task { for await _ in ann.device.peerChanges() {} }
            await Task.yield()
            reader.cancel()
            await reader.value
        }
        _ = try changing.value()
        #expect(ann.device.peers.first?.name == "Bob 299")
    }
}
