// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDiscovery
import DivanListener
import DivanTestSupport
import Foundation
import Synchronization

@testable import DivanPeers

/// A device of a test: a directory with databases, a key and a listener on the loopback.
final class TestPeer: Sendable {
    let folder: ScratchDirectory
    let manager: Manager
    let device: PeerDevice
    let listener: Listener

    init(_ name: String, _ edit: (inout ListenerOptions) -> Void = { _ in }) throws {
        folder = try ScratchDirectory()
        manager = try Manager(directory: folder.url)
        device = try PeerDevice(manager, name: name)
        var options = ListenerOptions()
        options.device = device
        edit(&options)
        listener = Listener(manager, options)
        try listener.start()
    }

    deinit {
        listener.stop()
        manager.close()
    }

    var notes: Database { get throws { try manager.database(named: "notes") } }

    func link(lifetime: Duration = .seconds(3_000)) throws -> PeerLink {
        try listener.link(for: notes, lifetime: lifetime)
    }

    /// Pairs two devices, which share `notes`.
    func pair(with guest: TestPeer) async throws {
        _ = try await guest.device.pair(with: link())
    }

    /// What a client of another device gets, which shows that device's certificate and trusts this one's.
    func answer(
        to guest: TestPeer, _ path: String, isWrite: Bool = false
    ) async throws -> ReplicationError? {
        let there = try guest.manager.database(named: "copy-\(UInt32.random(in: 0...UInt32.max))")
        let pull = there.makePullReplication(
            from: "https://127.0.0.1:\(listener.port ?? 0)/\(path)"
        ) {
            $0.trust = .pinnedKeys(sha256: [self.device.identity.keyDigest], validates: false)
            $0.clientCertificate = guest.device.clientCertificate
            $0.proxy = .none
            $0.retry.maximumAttempts = 1
        }
        do {
            try await pull.run()
            return nil
        } catch let error as ReplicationError { return error }
    }
}

/// A network of a test's own, on which devices see each other at once.
final class TestNetwork: Sendable {
    struct Member {
        var service: DiscoveredService
        var isHidden = false
    }

    struct State {
        var members: [Int: Member] = [:]
        var readers: [Int: AsyncStream<[DiscoveredService]>.Continuation] = [:]
        var next = 0
        var announcements = 0
    }

    let state = Mutex(State())
    /// The address that is announced.
    let address: [UInt8]

    init(address: [UInt8] = [127, 0, 0, 1]) { self.address = address }

    /// One device's place on the network.
    struct Place: PeerNetwork {
        let network: TestNetwork
        let number: Int

        func announce(port: UInt16, _ text: ServiceText) throws(PeerError) {
            network.state.withLock { state in
                state.announcements += 1
                state.members[number] = Member(
                    service: DiscoveredService(
                        name: "device \(number)", host: "host.local", port: port, text: text,
                        addresses: [.init(bytes: network.address)]))
                TestNetwork.tell(&state)
            }
        }

        func services() -> AsyncStream<[DiscoveredService]> {
            let (stream, continuation) = AsyncStream<[DiscoveredService]>.makeStream(
                bufferingPolicy: .bufferingNewest(1))
            network.state.withLock { state in
                state.readers[number] = continuation
                TestNetwork.tell(&state)
            }
            return stream
        }

        func leave() {
            network.state.withLock { state in
                state.members[number] = nil
                state.readers.removeValue(forKey: number)?.finish()
                TestNetwork.tell(&state)
            }
        }
    }

    static func tell(_ state: inout State) {
        let services = state.members.sorted { $0.key < $1.key }.map(\.value)
            .filter { !$0.isHidden }.map(\.service)
        for reader in state.readers.values { reader.yield(services) }
    }

    func join() -> Place {
        Place(
            network: self,
            number: state.withLock { state in
                state.next += 1
                return state.next
            })
    }

    /// Takes devices off the network, or brings them back, without a word from them.
    func setHidden(_ isHidden: Bool) {
        state.withLock { state in
            for number in state.members.keys { state.members[number]?.isHidden = isHidden }
            Self.tell(&state)
        }
    }

    /// The texts that are announced.
    var texts: [ServiceText] { state.withLock { $0.members.values.map(\.service.text) } }
}

extension ScratchDirectory {
    var url: URL { URL(filePath: path) }
}
