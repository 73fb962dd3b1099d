// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
package import DivanJSON
public import DivanListener
internal import DivanSystem
internal import Synchronization

extension ListenerOptions {
    /// This device, whose peers the listener serves; nil for none. The listener then shows the device's certificate.
    ///
    /// A paired device may read and write the databases that it shares as a member, and nothing else, besides the users that
    /// ``access`` names.
    public var device: PeerDevice? {
        get { devices as? PeerDevice }
        set {
            devices = newValue
            if let newValue { tls = newValue.identity }
        }
    }
}

extension Listener {
    /// Makes a link by which one other device is paired with this one, for a database that the two then share.
    ///
    /// ```swift
    /// let link = try listener.link(for: notes) { candidate in
    ///     ask("Pair with \(candidate.name)? Its screen shows \(candidate.code).")
    /// }
    /// print(try QRCode(link.text).terminal())
    /// ```
    ///
    /// Show it only to those who may pair: the first device that has it is let in, unless ``confirm`` says no. It counts once, and no longer
    /// than this listener listens; ``PeerDevice/withdrawLinks()`` ends it before.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - lifetime: For how long it counts, five minutes unless given.
    ///   - confirm: Whether to pair with a device that has the link. Both screens show the digits by then. It may wait for
    ///     the user: the other device waits for a minute and a half. All devices that have the link unless given.
    /// - Returns: The link.
    /// - Throws: `PeerError` with code `.invalidValue` when the listener does not listen, has no ``ListenerOptions/device``, or does not
    ///   serve the database.
    public func link(
        for database: Database, lifetime: Duration = .seconds(300),
        confirm: (@Sendable (PairingCandidate) async -> Bool)? = nil
    ) throws(PeerError) -> PeerLink {
        guard let device = options.device, let site else { throw .noDevice }
        guard manager.openedDatabase(named: database.name)?.core === database.core else {
            throw .unservedDatabase(database.name)
        }
        let lifetime = max(.seconds(1), min(lifetime, .seconds(86_400)))
        let link = try device.makeLink(for: database.name, lifetime, at: site.deviceSite)
        device.offer(link, lifetime, at: site.deviceSite, confirm)
        return link
    }
}

extension PeerDevice {
    /// Makes a link to a listener, which counts once it is offered.
    func makeLink(
        for database: String, _ lifetime: Duration, at site: DeviceSite
    ) throws(PeerError) -> PeerLink {
        guard site.isLive(), let fingerprint = site.fingerprint else { throw .noDevice }
        let endpoint = try PeerEndpoint(
            addresses: Array(site.hosts.prefix(PeerEndpoint.mostAddresses)),
            port: Int(clamping: site.port), fingerprint: fingerprint)
        return try PeerLink(
            endpoint, database: database, invitation: PeerInvitation(lasting: lifetime))
    }

    /// Lets the first device in that has a link.
    func offer(
        _ link: PeerLink, _ lifetime: Duration, at site: DeviceSite,
        _ confirm: PairingOffers.Confirmation?
    ) {
        let revocations = revocations
        state.withLock {
            $0.offers.add(
                PairingOffers.Offer(
                    digest: PairingOffers.digest(link.invitation.secret.bytes),
                    databases: [link.database], end: .now + lifetime, confirm: confirm,
                    revocations: revocations, isLive: site.isLive))
        }
    }
}

extension PeerDevice: ListenerDevices {
    /// The SHA-256 of this device's public key.
    package var key: [UInt8]? { identity.keyDigest }

    /// The device that has a key; nil when it is not paired.
    package func device(withKey key: [UInt8]) -> ListenerDevice? {
        refresh()
        return state.withLock { state in
            state.file.peers.first { $0.key == key }.map {
                ListenerDevice(
                    name: ListenerDevice.user(ofPeer: $0.id),
                    databases: NameSet($0.databases.filter(PairedPeer.isShareable)))
            }
        }
    }

    /// Answers a step of the pairing with the device that shows a key; see ``PairingOffers``.
    package func pair(_ request: JSONObject, key: [UInt8], network: String) throws -> JSONObject {
        if let opening = request["opening"]?.string.flatMap(Hexadecimal.bytes) {
            return try finishPairing(opening, key: key)
        }
        guard let secret = request["secret"]?.string.flatMap(Hexadecimal.bytes),
            secret.count == PairingSecret.size, key.count == 32,
            let commitment = request["commitment"]?.string.flatMap(Hexadecimal.bytes),
            commitment.count == 32, let name = request["name"]?.string, PairedPeer.isName(name)
        else { throw PairingRefusal.malformed }
        let outcome = state.withLock { $0.offers.use(secret) }
        // Only wrong guesses are counted: who has a link is not kept out by those who have none.
        if case .failure(.unknownLink) = outcome,
            !throttle.note("", from: network, isRight: false)
        {
            throw PairingRefusal.tooManyGuesses
        }
        let offer = try outcome.get()
        let own = identity.keyDigest
        let nonce = RandomBytes.make(16)
        let guest = PairingOffers.Guest(
            offer: offer.digest, name: name, databases: offer.databases, commitment: commitment,
            nonce: nonce,
            codeKey: PeerKey.codeKey(secret, host: own, guest: key),
            secret: PeerKey.secret(secret, host: own, guest: key), confirm: offer.confirm,
            revocations: offer.revocations, end: .now + PairingOffers.time)
        state.withLock { $0.offers.welcome(guest, key: key) }
        return ["name": .string(self.name), "nonce": .string(Hexadecimal.text(nonce))]
    }

    /// Pairs a device that has shown its nonce, once the app has said yes.
    private func finishPairing(_ opening: [UInt8], key: [UInt8]) throws -> JSONObject {
        let guest = try state.withLock { state throws(PairingRefusal) in
            guard let guest = state.offers[key] else { throw .unknownLink }
            state.pairings.noteSeen(guest.offer)
            let fits = Secrets.areEqual(
                PeerKey.commitment(to: opening, of: key), guest.commitment)
            guard opening.count == 16, fits, .now < guest.end, guest.decision != false else {
                state.offers[key] = nil
                throw !fits ? .malformed : guest.decision == false ? .declined : .expired
            }
            guard guest.confirm == nil || guest.decision == true else {
                state.offers[key]?.isAsked = true
                return guest
            }
            state.offers[key] = nil
            guard state.pairings.take(guest.offer) else { throw .declined }
            return guest
        }
        if let confirm = guest.confirm, guest.decision == nil {
            if !guest.isAsked { ask(confirm, guest, opening, key) }
            return ["state": "waiting"]
        }
        do throws(PeerError) {
            try add(
                PairedPeer(
                    key: key, name: guest.name, databases: guest.databases, secret: guest.secret),
                since: guest.revocations)
        } catch {
            state.withLock { $0.pairings.fail(guest.offer, error.message) }
            if error.code == .refused { throw PairingRefusal.unknownLink }
            throw error
        }
        return ["state": "paired"]
    }

    private func ask(
        _ confirm: @escaping PairingOffers.Confirmation, _ guest: PairingOffers.Guest,
        _ opening: [UInt8], _ key: [UInt8]
    ) {
        let candidate = PairingCandidate(
            name: guest.name, id: PeerKey.id(of: key),
            code: PeerKey.code(guest.codeKey, hostNonce: guest.nonce, guestNonce: opening),
            databases: guest.databases)
        Task { [weak self] in
            let decision = await confirm(candidate)
            self?.state.withLock { $0.offers.decide(key, guest.offer, decision) }
        }
    }

    /// Adds a peer. One that was paired before is paired anew, and shares what it shared, too.
    ///
    /// - Parameters:
    ///   - peer: The peer.
    ///   - revocations: How many devices were revoked when the pairing began.
    /// - Throws: `PeerError` with code `.refused` where one was revoked since, `.storage`, or `.invalidValue` for this device.
    func add(_ peer: PairedPeer, since revocations: Int64) throws(PeerError) {
        guard peer.id != id else { throw .ownLink }
        try change { file throws(PeerError) in
            guard file.revocations == revocations else { throw .revokedMeanwhile }
            var peer = peer
            if let place = file.peers.firstIndex(where: { $0.key == peer.key }) {
                peer.databases.formUnion(file.peers[place].databases)
                peer.place = peer.place ?? file.peers[place].place
                file.peers[place] = peer
            } else {
                guard file.peers.count < Self.mostPeers else { throw .tooManyPeers }
                file.peers.append(peer)
            }
        }
    }

    /// So many marks fit what a service may tell about itself.
    static let mostPeers = 120
}
