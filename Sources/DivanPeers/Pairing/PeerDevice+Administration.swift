// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
package import DivanListener
internal import FoundationEssentials
internal import Synchronization

/// What keeps the databases of paired devices the same, as the device sees it.
protocol SynchronisingPeers: AnyObject, Sendable {
    /// Where a peer is, and what comes from it, as administrators are told; nil when it is not known.
    func report(on id: String) -> JSONObject?
}

// What an administrator sees of the device and does with it, over HTTP.
extension PeerDevice {
    /// Does what an administrator asks for.
    package func administer(_ action: DeviceAction, at site: DeviceSite) throws(DeviceFailure)
        -> JSONObject
    {
        switch action {
        case .list: return overview
        case .rename(let name): try attempt { () throws(PeerError) in try rename(to: name) }
        case .change(let peer, let name, let databases):
            try attempt { () throws(PeerError) in
                try change(peer: peer, name: name, databases: databases)
            }
        case .revoke(let id): try attempt { () throws(PeerError) in try revoke(id) }
        case .showLink(let database, let seconds):
            return try showLink(database, .seconds(seconds), site)
        case .useLink(let text, let sharesExisting):
            return try useLink(text, sharesExisting, site)
        case .pairing(let id): return try pairing(id).json
        case .answer(let id, let isYes):
            let pairing = try pairing(id)
            guard pairing.state == .asking, let answer = pairing.answer else {
                throw DeviceFailure(.invalid, "The pairing waits for no answer from here.")
            }
            if isYes { answer.yield(true) } else { try giveUp(pairing, as: .declined) }
        case .end(let id): try giveUp(try pairing(id), as: .ended)
        }
        return [:]
    }

    private func attempt<T>(_ work: () throws(PeerError) -> T) throws(DeviceFailure) -> T {
        do { return try work() } catch {
            let kind: DeviceFailure.Kind =
                switch error.code {
                case .unknownPeer: .missing
                case .storage: .storage
                default: .invalid
                }
            throw DeviceFailure(kind, error.message)
        }
    }

    private func pairing(_ id: String) throws(DeviceFailure) -> FollowedPairing {
        guard let pairing = state.withLock({ $0.pairings[id] }) else {
            throw DeviceFailure(.missing, "There is no such pairing; begin a new one.")
        }
        return pairing
    }

    /// Ends a pairing; too late when the other device has been told that it is paired.
    private func giveUp(
        _ pairing: FollowedPairing, as outcome: FollowedPairing.State
    ) throws(DeviceFailure) {
        let isPaired = state.withLock { state in
            state.pairings.update(pairing.id) { $0.finish(as: outcome) }
            if pairing.isShown { state.offers.withdraw(pairing.link.invitation.secret.bytes) }
            return state.pairings[pairing.id]?.state == .paired
        }
        guard !isPaired else {
            throw DeviceFailure(.conflict, "The devices are paired; revoke the peer to end that.")
        }
    }

    // MARK: - What there is

    private var overview: JSONObject {
        let peers = peers
        let (isSynchronising, sync) = state.withLock { ($0.runningSyncs > 0, $0.sync) }
        return [
            "id": .string(id), "name": .string(name), "synchronizes": .bool(isSynchronising),
            "peers": .array(
                peers.map { peer in
                    var value = Self.json(peer)
                    guard isSynchronising else { return .object(value) }
                    for (name, part) in sync?.report(on: peer.id) ?? [:] { value[name] = part }
                    return .object(value)
                }),
        ]
    }

    private static func json(_ peer: PairedPeer) -> JSONObject {
        [
            "id": .string(peer.id), "name": .string(peer.name),
            "databases": .array(peer.databases.sorted().map { .string($0) }),
            "paired": .string(peer.pairedAt.formatted(.iso8601)),
        ]
    }

    // MARK: - Pairing

    private func showLink(
        _ name: String, _ lifetime: Duration, _ site: DeviceSite
    ) throws(DeviceFailure) -> JSONObject {
        guard let database = try? site.manager.existingDatabase(named: name) else {
            throw DeviceFailure(.missing, "There is no database '\(name.prefix(64))' here.")
        }
        return try attempt { () throws(PeerError) in
            let link = try makeLink(for: database.name, lifetime, at: site)
            let pairing = FollowedPairing(link, isShown: true, lasting: lifetime)
            state.withLock { $0.pairings.add(pairing) }
            offer(link, lifetime, at: site) { [weak self] candidate in
                await self?.ask(about: candidate, in: pairing.id) ?? false
            }
            return pairing.json
        }
    }

    /// Shows the digits to the administrator, and waits for the answer.
    private func ask(about candidate: PairingCandidate, in id: String) async -> Bool {
        let (answers, continuation) = AsyncStream.makeStream(of: Bool.self)
        let isFollowed = state.withLock { state in
            guard state.pairings[id]?.state == .waiting else { return false }
            state.pairings.update(id) {
                $0.meet(candidate)
                $0.answer = continuation
            }
            return true
        }
        guard isFollowed else { return false }
        let limit = Task {
            try? await Task.sleep(for: PairingOffers.time)
            continuation.finish()
        }
        defer { limit.cancel() }
        // The stream ends without an answer when the pairing is declined, given up or over.
        for await isYes in answers { return isYes }
        return false
    }

    private func useLink(
        _ text: String, _ sharesExisting: Bool, _ site: DeviceSite
    ) throws(DeviceFailure) -> JSONObject {
        let link = try attempt { () throws(PeerError) in try PeerLink(text) }
        let existing = try countDocuments(of: link.database, at: site)
        if existing > 0, !sharesExisting {
            throw DeviceFailure(
                .conflict,
                "The database '\(link.database)' has \(existing == 1 ? "a document" : "\(existing) documents") here already, "
                    + "which the other device could read and change; send `share_existing` if that is meant."
            )
        }
        let pairing = FollowedPairing(link, isShown: false, lasting: PairingOffers.time)
        let id = pairing.id
        state.withLock { $0.pairings.add(pairing) }
        // It ends by itself when the other user does not answer.
        let task = Task {
            do throws(PeerError) {
                _ = try await pair(with: link) { candidate in
                    self.state.withLock { $0.pairings.update(id) { $0.meet(candidate) } }
                } claiming: {
                    self.state.withLock { $0.pairings.take(id) }
                }
            } catch {
                let outcome: FollowedPairing.State = error.code == .refused ? .declined : .failed
                state.withLock {
                    $0.pairings.update(id) { $0.fail(as: outcome, reason: error.message) }
                }
            }
        }
        state.withLock { $0.pairings.update(id) { $0.task = task } }
        return pairing.json
    }

    /// How many documents a database has; 0 where there is none. One that cannot be opened now may have some.
    private func countDocuments(
        of database: String, at site: DeviceSite
    ) throws(DeviceFailure) -> Int {
        do { return try site.manager.existingDatabase(named: database)?.documentCount ?? 0 } catch {
            throw DeviceFailure(
                .storage,
                "Whether the database '\(database)' has documents here already cannot be found out: \(error)"
            )
        }
    }
}
