// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
package import DivanJSON
public import DivanListener
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
    /// Show it only to who may pair: the first device that shows it is let in. It counts once, while this listener runs.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - lifetime: For how long it counts, five minutes unless given.
    ///   - confirm: Whether to pair with a device that has the link; on a thread of the listener, which may wait for the user for
    ///     as long as the other device does, a minute. All unless given.
    /// - Returns: The link.
    /// - Throws: `PeerError` with code `.invalidValue` when the listener does not listen, or has no ``ListenerOptions/device``.
    public func link(
        for database: Database, lifetime: Duration = .seconds(300),
        confirm: (@Sendable (PairingCandidate) -> Bool)? = nil
    ) throws(PeerError) -> PeerLink {
        guard let device = options.device, let port, let fingerprint else { throw .noDevice }
        let lifetime = max(.seconds(1), min(lifetime, .seconds(86_400)))
        let endpoint = try PeerEndpoint(
            addresses: Array(hosts.prefix(PeerEndpoint.mostAddresses)), port: Int(clamping: port),
            fingerprint: fingerprint)
        let link = try PeerLink(
            endpoint, database: database.name, invitation: PeerInvitation(lasting: lifetime))
        device.state.withLock {
            $0.offers.add(
                PairingOffers.Offer(
                    digest: PairingOffers.digest(link.invitation.secret.bytes),
                    databases: [database.name], end: .now + lifetime, confirm: confirm))
        }
        return link
    }
}

extension PeerDevice: ListenerDevices {
    /// The device that has a key; nil when it is not paired.
    package func device(withKey key: [UInt8]) -> ListenerDevice? {
        refresh()
        return state.withLock { state in
            state.file.peers.first { $0.key == key }.map {
                ListenerDevice(name: "device-\($0.id)", databases: $0.databases)
            }
        }
    }

    /// Pairs the device that shows a key, if it has the secret of a link.
    package func pair(_ request: JSONObject, key: [UInt8], network: String) throws -> JSONObject {
        guard !throttle.isLocked("", from: network) else { throw PairingRefusal.tooManyGuesses }
        guard let secret = request["secret"]?.string.flatMap(Hexadecimal.bytes),
            let name = request["name"]?.string, PairedPeer.isName(name), key.count == 32
        else { throw PairingRefusal.malformed }
        let outcome = state.withLock { $0.offers.use(secret) }
        if case .failure(.unknownLink) = outcome {
            throttle.note("", from: network, isRight: false)
        }
        let offer = try outcome.get()
        let own = identity.keyDigest
        let code = PeerKey.code(secret, host: own, guest: key)
        if let confirm = offer.confirm {
            let candidate = PairingCandidate(
                name: name, id: PeerKey.id(of: key), code: code, databases: offer.databases)
            guard confirm(candidate) else { throw PairingRefusal.declined }
        }
        try add(
            PairedPeer(
                key: key, name: name, databases: offer.databases,
                secret: PeerKey.secret(secret, host: own, guest: key)))
        return [
            "name": .string(self.name), "key": .string(Hexadecimal.text(own)),
            "databases": .array(offer.databases.sorted().map { .string($0) }),
        ]
    }

    /// Adds a peer. One that was paired before is paired anew, and shares what it shared, too.
    func add(_ peer: PairedPeer) throws(PeerError) {
        guard peer.id != id else { throw .ownLink }
        try change { file throws(PeerError) in
            var peer = peer
            if let place = file.peers.firstIndex(where: { $0.key == peer.key }) {
                peer.databases.formUnion(file.peers[place].databases)
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
