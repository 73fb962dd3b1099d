// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDiscovery
internal import DivanHTTP
internal import DivanJSON
internal import DivanListener
internal import DivanLogging
internal import DivanReplication
internal import Synchronization

/// The work with one peer: it waits until the peer is seen or its former address answers, has it prove itself, pulls while it is
/// there, and begins again.
///
///     away ──seen──► connecting ──proven──► connected ──gone, moved, lost──► away or connecting
///      │ ▲               └──no answer──► unreachable ──after a while, or a change──► connecting
///      │ └──no answer──┐
///      └──not seen, but known──► (still away) ──proven──► connected
///
/// ## Invariants
/// 1. Only its task starts and stops the pulls, so there is at most one pull of each database.
/// 2. Nothing is sent to an address before the device there has shown the peer's key in the same connection.
final class PeerVisit: Sendable {
    private let id: String
    private let device: PeerDevice
    /// Sent at each look.
    private let looks = CountedSignal()
    /// Sent at each look, and when a pull is lost.
    private let events = CountedSignal()
    private let task = Mutex<Task<Void, Never>?>(nil)
    static let longestWait = Duration.seconds(60)

    init(_ id: String, of sync: PeerSync, _ device: PeerDevice) {
        self.id = id
        self.device = device
        task.withLock { task in
            task = Task { while !Task.isCancelled { await visit(sync) } }
        }
    }

    /// Looks again at what is on the network, and what is shared.
    func look() {
        looks.send()
        events.send()
    }

    /// Stops the pulls, and waits until they have ended.
    func end() async {
        let running = task.withLock { task in
            defer { task = nil }
            return task
        }
        running?.cancel()
        await running?.value
    }

    /// One visit, from finding the peer until it is gone. Failures in a row make the next wait longer.
    private func visit(_ sync: PeerSync) async {
        var failures = 0
        while !Task.isCancelled {
            let seen = looks.count
            guard let found = sync.whereabouts(of: id), !found.tried.isEmpty else {
                sync.note(id) { $0.becomeAway() }
                return await looks.wait(after: seen)
            }
            // A look at a former address is nothing to tell of, unless the peer answers.
            let isSeen = !found.seen.isEmpty
            sync.note(id) { if isSeen { $0.presence = .connecting } else { $0.becomeAway() } }
            switch await pull(found, sync) {
            case .changed: failures = 0
            case .lost(let presence, let hasWorked):
                failures = hasWorked ? 1 : failures + 1
                sync.note(id) { status in
                    status.becomeAway()
                    if isSeen || presence == .refused { status.presence = presence }
                }
                let wait = min(
                    Self.longestWait, .seconds(1) * (1 << min(failures - 1, 6)))
                await rest(presence == .refused ? Self.longestWait : wait, looks, after: seen)
            }
        }
    }

    /// How a visit ended.
    private enum Outcome {
        /// The peer is gone, or it or what is shared is another.
        case changed
        /// It does not answer, or refuses.
        case lost(PeerStatus.Presence, hasWorked: Bool)
    }

    private func pull(_ found: PeerWhereabouts, _ sync: PeerSync) async -> Outcome {
        let peer = found.peer
        // One for all connections to the peer, which they share.
        let trust = TrustPolicy.peer(peer.key)
        guard let transport = try? PeerTransport(device, trusting: trust) else {
            return .lost(.unreachable, hasWorked: false)
        }
        let greeting = await transport.greet(at: found.tried, from: sync.ownPlace)
        transport.close()
        let spot: PeerSpot
        switch greeting {
        case .answered(let answered): spot = answered
        case .refused: return .lost(.refused, hasWorked: false)
        case .unanswered: return .lost(.unreachable, hasWorked: false)
        }
        if let place = spot.place { device.note(place, of: id) }
        let place = Place(spot: spot, trust: trust, databases: sync.databases(with: peer))
        let pulls = place.databases.compactMap { makePull($0, from: place, peer, sync) }
        sync.note(id) { $0.presence = .connected }
        for pull in pulls { pull.replication.start() }
        let outcome = await outcome(
            of: pulls, from: place, wasSeen: found.seen.contains(spot), sync)
        for pull in pulls { await pull.replication.stopAndWait() }
        return outcome
    }

    /// Where a peer has proven itself, and what is pulled from there.
    private struct Place {
        let spot: PeerSpot
        let trust: TrustPolicy
        let databases: NameSet
    }

    private struct Pull {
        let replication: Replication
        let token: ListenerToken
    }

    private func makePull(
        _ name: String, from place: Place, _ peer: PairedPeer, _ sync: PeerSync
    ) -> Pull? {
        let database: Database
        do { database = try sync.listener.manager.database(named: name) } catch {
            Log.replication.warning(
                "'\(name)' is shared with '\(peer.id)' and cannot be opened: \(error)")
            return nil
        }
        let url = "https://\(place.spot.host):\(place.spot.port)/\(PercentEncoding.encode(name))"
        let pull = database.makePullReplication(from: url) { settings in
            settings.retry.longestDelay = Self.longestWait
            sync.options.configure?(&settings)
            settings.isContinuous = true
            settings.trust = place.trust
            settings.localAccess = access(to: name, sync)
            settings.localAuthor = .device(user, at: database)
            settings.clientCertificate = device.clientCertificate
            settings.remoteUUID = peer.id
            settings.arriving = sync.arriving(in: name)
            settings.proxy = .none
        }
        let token = pull.addStatusListener { [weak sync, events, id] status in
            sync?.note(id) { $0.pulls[name] = status }
            // One that is lost is looked at; progress is not.
            if status.activity == .offline || status.activity == .stopped { events.send() }
        }
        return Pull(replication: pull, token: token)
    }

    /// The user that the peer is here, as when it makes requests.
    private var user: String { ListenerDevice.user(ofPeer: id) }

    /// What a pull may do here: nothing once the database is no longer shared, and with design documents only what the app allows.
    private func access(to name: String, _ sync: PeerSync) -> PeerAccess {
        PeerAccess(user: user) { [device, id, options = sync.options] step in
            let shares = device.peers.contains {
                $0.id.hasSameBytes(as: id) && $0.databases.contains(name)
            }
            guard shares else {
                throw ReplicationError(
                    .forbidden, "'\(name)' is no longer shared with this peer; pair again.")
            }
            if step == .storingDesign, !options.takesDesignDocuments {
                throw ReplicationError(
                    .forbidden,
                    "Design documents of peers are not stored; set `takesDesignDocuments` to take them."
                )
            }
        }
    }

    /// Waits until the peer is elsewhere, shares something else, or all pulls from it are lost. A single one that is refused is
    /// begun again now and then, and does not hold up the others.
    private func outcome(
        of pulls: [Pull], from place: Place, wasSeen: Bool, _ sync: PeerSync
    ) async -> Outcome {
        var (wasSeen, hasWorked) = (wasSeen, false)
        var restart = ContinuousClock.now + Self.longestWait
        while !Task.isCancelled {
            let seen = events.count
            guard let found = sync.whereabouts(of: id), found.contains(place.spot),
                sync.databases(with: found.peer) == place.databases
            else { break }
            // One that said goodbye may have meant it, though its address is known.
            let isSeen = found.seen.contains(place.spot)
            if wasSeen && !isSeen { break }
            wasSeen = isSeen
            let statuses = pulls.map { $0.replication.status }
            hasWorked =
                hasWorked || statuses.contains { $0.activity == .idle || $0.transferred > 0 }
            let lost = statuses.filter(Self.isLost)
            if let first = lost.first, lost.count == statuses.count {
                let refused = [.forbidden, .unauthorized, .notFound].contains(first.error?.code)
                return .lost(refused ? .refused : .unreachable, hasWorked: hasWorked)
            }
            if lost.isEmpty {
                await events.wait(after: seen)
                continue
            }
            if .now >= restart {
                restart = .now + Self.longestWait
                for pull in pulls where !pull.replication.isRunning { pull.replication.start() }
            }
            await rest(max(.zero, restart - .now), events, after: seen)
        }
        return .changed
    }

    /// Whether a pull gets nothing: it tries again by itself, or has met an error for good.
    private static func isLost(_ status: ReplicationStatus) -> Bool {
        status.activity == .offline || status.activity == .stopped && status.error != nil
    }

    /// Waits for a time, or until a signal is sent.
    private func rest(_ time: Duration, _ signal: CountedSignal, after seen: Int) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await signal.wait(after: seen) }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension DiscoveredService {
    /// Its addresses, each with its port.
    var spots: [PeerSpot] { addresses.map { PeerSpot(host: $0.description, port: port) } }
}
