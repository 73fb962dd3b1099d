// SPDX-License-Identifier: Apache-2.0

public import DivanDiscovery
internal import DivanDatabase
public import DivanJSON
public import DivanListener
internal import DivanLogging
public import DivanReplication
internal import Synchronization

/// Keeps the databases of paired devices the same while they are on one network.
///
/// ```swift
/// let sync = PeerSync(listener)                   // a listener that has a device and listens
/// try sync.start()
/// for await peers in sync.statuses {
///     for peer in peers { print(peer.peer.name, peer.presence) }
/// }
/// ```
///
/// Each device announces itself to its peers by multicast DNS, and pulls from those that it sees what they share with it:
/// continuously, with the peer's ID as the remote's name, so that a change of address does not begin anew. Since each
/// pulls, documents go both ways. When a peer leaves, the pulls from it end without an error; they go on when it
/// returns. A peer that was revoked is let go at once, and one that was paired meanwhile is taken up.
///
/// A database that is shared and not here yet is made.
///
/// ## State
/// `state`, guarded by its mutex. One task follows the network, one the peers, one the date; each peer has a task of its
/// own (`PeerVisit`), which alone starts and stops the pulls from it.
public final class PeerSync: Sendable {
    /// What is synchronised, and how.
    public struct Options: Sendable {
        /// The only databases that take part, of those that are shared with a peer; nil for all.
        public var databases: NameSet?
        /// The type of the service that the devices announce.
        public var serviceType = ServiceType.divan
        /// Changes the settings of each pull before it starts, such as its filter. Its trust, certificate and remote name are
        /// set afterwards.
        public var configure: (@Sendable (inout ReplicationConfiguration) -> Void)?

        /// Makes the network, in place of multicast DNS.
        package var network: (@Sendable () throws(PeerError) -> any PeerNetwork)?

        /// The defaults.
        public init() {}
    }

    struct State {
        var services: [DiscoveredService] = []
        var visits: NameMap<PeerVisit> = [:]
        var statuses: NameMap<PeerStatus> = [:]
        var order: [String] = []
        var followers: [Int: AsyncStream<[PeerStatus]>.Continuation] = [:]
        var nextFollower = 0
        var port: UInt16 = 0
        var network: (any PeerNetwork)?
        var tasks: [Task<Void, Never>] = []
    }

    /// The listener from which peers pull.
    public let listener: Listener
    /// What is synchronised, and how.
    public let options: Options
    let state = Mutex(State())

    /// Makes one, which does nothing before it is started.
    ///
    /// - Parameters:
    ///   - listener: The listener from which peers pull. It has a ``ListenerOptions/device``, and outlives this.
    ///   - options: What is synchronised, and how.
    public init(_ listener: Listener, _ options: Options = Options()) {
        self.listener = listener
        self.options = options
    }

    /// Begins to look for peers, and goes on until `stop()`. Starting what has started does nothing.
    ///
    /// - Throws: `PeerError` with code `.invalidValue` when the listener does not listen or has no device, or `.unreachable` when
    ///   the network cannot be used.
    public func start() throws(PeerError) {
        guard let device = listener.options.device, let port = listener.port else {
            throw .noDevice
        }
        let isRunning = state.withLock { $0.network != nil }
        guard !isRunning else { return }
        let day = PeerMarks.today
        let network: any PeerNetwork =
            if let make = options.network { try make() } else {
                try MulticastNetwork(options.serviceType)
            }
        try network.announce(
            port: port,
            PeerMarks.text(for: device.peers, key: device.identity.keyDigest, day: day))
        state.withLock { state in
            state.network = network
            state.port = port
            let services = network.services()
            state.tasks = [
                Task { for await found in services { see(found) } },
                Task { for await peers in device.peerChanges() { follow(peers, device) } },
                Task {
                    var last = day
                    while (try? await Task.sleep(for: .seconds(60))) != nil {
                        guard PeerMarks.today != last else { continue }
                        last = PeerMarks.today
                        follow(device.peers, device)
                    }
                },
            ]
        }
    }

    /// Ends all pulls, says goodbye on the network, and waits until that is done. It can be started again.
    public func stop() async {
        let (visits, network) = state.withLock { state in
            defer {
                state.tasks = []
                state.visits = [:]
                state.services = []
                state.network = nil
            }
            for task in state.tasks { task.cancel() }
            return (Array(state.visits.values), state.network)
        }
        network?.leave()
        for visit in visits { await visit.end() }
        state.withLock { state in
            for id in state.order { state.statuses[id]?.becomeAway() }
            state.tell()
        }
    }

    // MARK: - Statuses

    /// How the peers stand, in the order of pairing.
    public var currentStatuses: [PeerStatus] { state.withLock { $0.list } }

    /// How the peers stand: at once, and again each time that this changes. A reader that is slow is given the newest. The
    /// sequence ends when its task is cancelled.
    public var statuses: AsyncStream<[PeerStatus]> {
        let (stream, continuation) = AsyncStream<[PeerStatus]>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.nextFollower += 1
            let number = state.nextFollower
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.followers[number] = nil }
            }
            state.followers[number] = continuation
            continuation.yield(state.list)
        }
        return stream
    }

    /// Notes how a peer stands.
    func note(_ id: String, _ change: (inout PeerStatus) -> Void) {
        state.withLock { state in
            guard var status = state.statuses[id] else { return }
            change(&status)
            state.statuses[id] = status
            state.tell()
        }
    }

    // MARK: - What happens

    /// The services on the network are others than before.
    private func see(_ services: [DiscoveredService]) {
        let visits = state.withLock { state in
            state.services = services
            return Array(state.visits.values)
        }
        for visit in visits { visit.look() }
    }

    /// The peers, or the date, are others than before.
    private func follow(_ peers: [PairedPeer], _ device: PeerDevice) {
        let text = PeerMarks.text(
            for: peers, key: device.identity.keyDigest, day: PeerMarks.today)
        let gone = state.withLock { state -> [PeerVisit] in
            guard let network = state.network else { return [] }
            do { try network.announce(port: state.port, text) } catch {
                Log.replication.warning("The peers' marks cannot be announced: \(error)")
            }
            state.order = peers.map(\.id)
            var gone: [PeerVisit] = []
            for (id, visit) in state.visits where !peers.contains(where: { $0.id == id }) {
                gone.append(visit)
                state.visits[id] = nil
                state.statuses[id] = nil
            }
            for peer in peers {
                if state.statuses[peer.id] == nil {
                    state.statuses[peer.id] = PeerStatus(peer: peer)
                }
                state.statuses[peer.id]?.peer = peer
                if let visit = state.visits[peer.id] {
                    visit.look()
                } else {
                    state.visits[peer.id] = PeerVisit(peer.id, of: self, device)
                }
            }
            state.tell()
            return gone
        }
        for visit in gone { Task { await visit.end() } }
    }

    /// The peer as it is now, and its service; nil for either that is not there.
    func place(of id: String) -> (peer: PairedPeer?, service: DiscoveredService?) {
        let day = PeerMarks.today
        return state.withLock { state in
            guard let peer = state.statuses[id]?.peer else { return (nil, nil) }
            let expected = PeerMarks.expected(of: peer, day: day)
            let service = state.services.first { service in
                let marks = PeerMarks.marks(of: service.text)
                return expected.contains { marks.contains($0) }
            }
            return (peer, service)
        }
    }

    /// The databases that take part with a peer.
    func databases(with peer: PairedPeer) -> NameSet {
        guard let chosen = options.databases else { return peer.databases }
        return NameSet(peer.databases.filter { chosen.contains($0) })
    }
}

extension PeerSync.State {
    var list: [PeerStatus] { order.compactMap { statuses[$0] } }

    func tell() {
        for follower in followers.values { follower.yield(list) }
    }
}
