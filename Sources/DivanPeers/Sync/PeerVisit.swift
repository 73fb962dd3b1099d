// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDiscovery
internal import DivanHTTP
internal import DivanJSON
internal import DivanListener
internal import DivanLogging
internal import DivanReplication
internal import Synchronization

/// The work with one peer: it waits until the peer is seen, has it prove itself, pulls while it is there, and begins again.
///
///     away ──seen──► connecting ──proven──► connected ──gone, moved, lost──► away or connecting
///                        └──no answer──► unreachable ──after a while, or a change──► connecting
///
/// ## Invariants
/// 1. Only its task starts and stops the pulls, so there is at most one pull of each database.
/// 2. Nothing is sent to an address before the device there has shown the peer's key in the same connection.
final class PeerVisit: Sendable {
    private let id: String
    private let device: PeerDevice
    private let signal = CountedSignal()
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
    func look() { signal.send() }

    /// Stops the pulls, and waits until they have ended.
    func end() async {
        let running = task.withLock { task in
            defer { task = nil }
            return task
        }
        running?.cancel()
        await running?.value
    }

    /// One visit, from seeing the peer until it is gone. Failures in a row make the next wait longer.
    private func visit(_ sync: PeerSync) async {
        var failures = 0
        while !Task.isCancelled {
            let seen = signal.count
            let (peer, service) = sync.place(of: id)
            guard let peer, let service else {
                sync.note(id) { $0.becomeAway() }
                return await signal.wait(after: seen)
            }
            sync.note(id) { $0.presence = .connecting }
            let outcome = await pull(from: service, peer, sync)
            switch outcome {
            case .changed: failures = 0
            case .lost(let presence, let hasWorked):
                failures = hasWorked ? 1 : failures + 1
                sync.note(id) { ($0.presence, $0.pulls) = (presence, [:]) }
                let wait = min(
                    Self.longestWait, .seconds(1) * (1 << min(failures - 1, 6)))
                await rest(presence == .refused ? Self.longestWait : wait)
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

    private func pull(
        from service: DiscoveredService, _ peer: PairedPeer, _ sync: PeerSync
    ) async -> Outcome {
        let trust = TrustPolicy.pinnedKeys(sha256: [peer.key], validates: false)
        guard let transport = try? PeerTransport(device, trusting: trust) else {
            return .lost(.unreachable, hasWorked: false)
        }
        let host = await transport.reach(service.hosts, port: Int(clamping: service.port))
        transport.close()
        guard let host else { return .lost(.unreachable, hasWorked: false) }
        let place = Place(host: host, port: service.port, databases: sync.databases(with: peer))
        let pulls = place.databases.compactMap { makePull($0, from: place, peer, sync) }
        sync.note(id) { $0.presence = .connected }
        for pull in pulls { pull.replication.start() }
        let outcome = await outcome(of: pulls, from: place, sync)
        for pull in pulls { await pull.replication.stopAndWait() }
        return outcome
    }

    /// Where a peer has proven itself, and what is pulled from there.
    private struct Place {
        let host: String
        let port: UInt16
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
        let url = "https://\(place.host):\(place.port)/\(PercentEncoding.encode(name))"
        let pull = database.makePullReplication(from: url) { settings in
            settings.retry.longestDelay = Self.longestWait
            sync.options.configure?(&settings)
            settings.isContinuous = true
            settings.trust = .pinnedKeys(sha256: [peer.key], validates: false)
            settings.clientCertificate = device.clientCertificate
            settings.remoteUUID = peer.id
            settings.proxy = .none
        }
        let token = pull.addStatusListener { [weak sync, signal, id] status in
            sync?.note(id) { $0.pulls[name] = status }
            // One that is lost is looked at; progress is not.
            if status.activity == .offline || status.activity == .stopped { signal.send() }
        }
        return Pull(replication: pull, token: token)
    }

    /// Waits until the peer is elsewhere, shares something else, or is lost.
    private func outcome(of pulls: [Pull], from place: Place, _ sync: PeerSync) async -> Outcome {
        var hasWorked = false
        while !Task.isCancelled {
            let seen = signal.count
            let (peer, service) = sync.place(of: id)
            guard let peer, let service, service.port == place.port,
                service.hosts.contains(where: { $0.hasSameBytes(as: place.host) }),
                sync.databases(with: peer) == place.databases
            else { break }
            let statuses = pulls.map { $0.replication.status }
            hasWorked =
                hasWorked || statuses.contains { $0.activity == .idle || $0.transferred > 0 }
            if let lost = statuses.first(where: { $0.activity == .offline })
                ?? statuses.first(where: { $0.activity == .stopped && $0.error != nil })
            {
                let refused = [.forbidden, .unauthorized, .notFound].contains(lost.error?.code)
                return .lost(refused ? .refused : .unreachable, hasWorked: hasWorked)
            }
            await signal.wait(after: seen)
        }
        return .changed
    }

    /// Waits for a time, or until something has changed.
    private func rest(_ time: Duration) async {
        let seen = signal.count
        await withTaskGroup(of: Void.self) { [signal] group in
            group.addTask { await signal.wait(after: seen) }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension DiscoveredService {
    /// Its addresses as URLs write them.
    var hosts: [String] { addresses.map(\.description) }
}
