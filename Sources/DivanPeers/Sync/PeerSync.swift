// SPDX-License-Identifier: Apache-2.0

public import DivanDiscovery
internal import Dispatch
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
/// Not every network lets multicast through. So a peer that is not seen is looked for where it was last reached: at the addresses
/// of the link at first, then where it was met or said that it is. A device that reaches its peer tells it where it listens,
/// so it is enough when one of the two finds the other. Addresses are kept across restarts, and a listener of a device takes
/// its former port again if that is free.
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
        /// Whether a peer that is not seen is looked for where it was last reached, at most a minute after it is there. On another
        /// network that address may be another device's, which learns that a connection was tried, and nothing else.
        public var triesKnownAddresses = true
        /// Whether design documents of peers are stored here. They hold code, which a listener may compile.
        public var takesDesignDocuments = false
        /// Changes the settings of each pull before it starts, such as its filter. Its trust, certificate and remote name are
        /// set afterwards.
        public var configure: (@Sendable (inout ReplicationConfiguration) -> Void)?

        /// Makes the network, in place of multicast DNS.
        package var network: (@Sendable () throws(PeerError) -> any PeerNetwork)?

        /// The defaults.
        public init() {}
    }

    struct State {
        /// Where services are, by the marks that they show.
        var spots: [[UInt8]: [PeerSpot]] = [:]
        /// The marks that each peer may show today.
        var marks: NameMap<[[UInt8]]> = [:]
        var visits: NameMap<PeerVisit> = [:]
        var statuses: NameMap<PeerStatus> = [:]
        var order: [String] = []
        var followers: [Int: AsyncStream<[PeerStatus]>.Continuation] = [:]
        var nextFollower = 0
        var port: UInt16 = 0
        /// What the pulls into each database fetch.
        var arriving: NameMap<ArrivingRevisions> = [:]
        var announced: ServiceText?
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
    /// - Throws: `PeerError` with code `.invalidValue` when the listener does not listen, has no device, or has a rule of the app for
    ///   each write (`ListenerAuthorization.writing`), which a pull would not ask; or `.unreachable` when
    ///   multicast cannot be used and known addresses are not tried.
    public func start() throws(PeerError) {
        guard let device = listener.options.device, let port = listener.port else {
            throw .noDevice
        }
        guard listener.options.authorization.writing == nil else { throw .rulesOfWriting }
        let isRunning = state.withLock { $0.network != nil }
        guard !isRunning else { return }
        let day = PeerMarks.today
        let network = try makeNetwork()
        let text = PeerMarks.text(for: device.peers, of: device.identity, day: day)
        try network.announce(port: port, text)
        let isFirst = state.withLock { state in
            guard state.network == nil else { return false }
            state.network = network
            return true
        }
        // Another thread has started it meanwhile.
        guard isFirst else { return network.leave() }
        device.begin(self)
        state.withLock { state in
            state.port = port
            state.announced = text
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
                state.spots = [:]
                state.network = nil
            }
            for task in state.tasks { task.cancel() }
            return (Array(state.visits.values), state.network)
        }
        // Before the goodbye, upon which peers may greet it where they know it.
        if network != nil { listener.options.device?.endSync() }
        network?.leave()
        for visit in visits { await visit.end() }
        state.withLock { state in
            for id in state.order { state.statuses[id]?.becomeAway() }
            state.tell()
        }
    }

    private func makeNetwork() throws(PeerError) -> any PeerNetwork {
        if let make = options.network { return try make() }
        do { return try MulticastNetwork(options.serviceType) } catch {
            guard options.triesKnownAddresses else { throw error }
            Log.replication.warning(
                "Peers are looked for at known addresses only: \(error.message)")
            return NoNetwork()
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
            // Elsewhere, since the end of a sequence comes with a lock of its task, which a `yield` under the mutex takes, too.
            continuation.onTermination = { [weak self] _ in
                DispatchQueue.global().async { [weak self] in
                    self?.state.withLock { $0.followers[number] = nil }
                }
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

    /// So many addresses of a service are looked at, and so many services that show one mark.
    private static let mostSpots = 8

    /// The services on the network are others than before.
    private func see(_ services: [DiscoveredService]) {
        var spots: [[UInt8]: [PeerSpot]] = [:]
        for service in services {
            let found = service.spots.prefix(Self.mostSpots)
            for mark in PeerMarks.marks(of: service.text)
            where (spots[mark]?.count ?? 0) < Self.mostSpots * Self.mostSpots {
                spots[mark, default: []] += found
            }
        }
        // Only those whose own place has changed look: strangers announce what they like, as often as they like.
        let visits = state.withLock { state in
            let before = state.visits.map { ($0.key, state.seen($0.key)) }
            state.spots = spots
            return before.filter { state.seen($0) != $1 }.compactMap { state.visits[$0.0] }
        }
        for visit in visits { visit.look() }
    }

    /// The peers, or the date, are others than before.
    private func follow(_ peers: [PairedPeer], _ device: PeerDevice) {
        let gone = state.withLock { state -> [PeerVisit] in
            guard state.network != nil else { return [] }
            state.announce(peers, device)
            state.order = peers.map(\.id)
            var gone: [PeerVisit] = []
            for (id, visit) in state.visits where !peers.contains(where: { $0.id == id }) {
                gone.append(visit)
                state.visits[id] = nil
                state.statuses[id] = nil
                state.marks[id] = nil
            }
            let day = PeerMarks.today
            for peer in peers {
                let isNews = state.statuses[peer.id]?.peer != peer
                if state.statuses[peer.id] == nil {
                    state.statuses[peer.id] = PeerStatus(peer: peer)
                }
                state.statuses[peer.id]?.peer = peer
                state.marks[peer.id] = PeerMarks.expected(of: peer, day: day)
                if let visit = state.visits[peer.id] {
                    if isNews { visit.look() }
                } else {
                    state.visits[peer.id] = PeerVisit(peer.id, of: self, device)
                }
            }
            state.tell()
            return gone
        }
        for visit in gone { Task { await visit.end() } }
    }

    /// The peer as it is now, and where it may be; nil when it is no longer paired.
    func whereabouts(of id: String) -> PeerWhereabouts? {
        state.withLock { state in
            guard let peer = state.statuses[id]?.peer else { return nil }
            return PeerWhereabouts(
                peer: peer, seen: state.seen(id),
                known: options.triesKnownAddresses ? peer.place?.spots ?? [] : [])
        }
    }

    /// Where this device tells its peers that it listens.
    var ownPlace: PeerPlace? {
        let port = state.withLock { $0.port }
        return PeerPlace(listener.hosts.compactMap { PeerAddress($0.utf8) }, port: port)
    }

    /// What the pulls into a database fetch, so that of what several peers offer each revision comes once.
    func arriving(in database: String) -> ArrivingRevisions {
        state.withLock { state in
            let arriving = state.arriving[database] ?? ArrivingRevisions()
            state.arriving[database] = arriving
            return arriving
        }
    }

    /// The databases that take part with a peer.
    func databases(with peer: PairedPeer) -> NameSet {
        NameSet(
            peer.databases.filter { name in
                PairedPeer.isShareable(name) && (options.databases?.contains(name) ?? true)
            })
    }
}

/// Where a peer may be, at a moment.
struct PeerWhereabouts {
    let peer: PairedPeer
    /// Where a device announces itself that may be the peer: others can copy its marks.
    let seen: [PeerSpot]
    /// Where it was before.
    let known: [PeerSpot]

    /// Those that are tried, each once: where it was before goes first, so that no stranger with a copied mark is in its way.
    var tried: [PeerSpot] {
        var spots: [PeerSpot] = []
        for spot in known.filter(seen.contains) + seen.prefix(16) + known
        where !spots.contains(spot) {
            spots.append(spot)
        }
        return spots
    }

    /// Whether the peer may still be where it has proven itself.
    func contains(_ spot: PeerSpot) -> Bool { seen.contains(spot) || known.contains(spot) }
}

extension PeerSync.State {
    /// Announces the marks, if they are others than those that are announced: the date is another, or the peers, or a peer was
    /// paired once more.
    mutating func announce(_ peers: [PairedPeer], _ device: PeerDevice) {
        let text = PeerMarks.text(for: peers, of: device.identity, day: PeerMarks.today)
        guard text != announced else { return }
        do {
            try network?.announce(port: port, text)
            announced = text
        } catch { Log.replication.warning("The peers' marks cannot be announced: \(error)") }
    }

    /// Where devices announce themselves that may be a peer.
    func seen(_ id: String) -> [PeerSpot] {
        (marks[id] ?? []).flatMap { spots[$0] ?? [] }
    }

    var list: [PeerStatus] { order.compactMap { statuses[$0] } }

    func tell() {
        for follower in followers.values { follower.yield(list) }
    }
}
