// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanListener

/// The links that wait for a device, and the devices that have used one and are not paired yet.
///
///     guest                                              host
///     secret, name, commitment to nonce N ─────────────► uses up the link
///                             ◄───────────── nonce M ─── both show the digits of secret, keys, N and M
///     N ───────────────────────────────────────────────► fits the commitment? asks the app
///                             ◄───────────── waiting ─── again, until the app has answered
///     N ───────────────────────────────────────────────► adds the guest
///                             ◄────────────── paired ───
///
/// Each side has chosen its nonce before it knows the other's, so neither can look for keys or nonces that give certain
/// digits: a device in the middle that knows the secret has one guess in a million.
///
/// ## Invariants
/// 1. A secret serves one device: it is used up before that device is answered, and before the app is asked.
/// 2. At most `most` links are kept, and `mostGuests` devices. A new one takes the place of the oldest.
/// 3. No secret of a link is kept, only its digest.
/// 4. A device becomes a peer in answer to a request of its own, after the app has said yes and while there is time: so one that
///    has gone away is not paired.
/// 5. None becomes a peer if any was revoked since its link was made. That is asked under the lock of the file.
struct PairingOffers {
    /// Whether to pair with a device.
    typealias Confirmation = @Sendable (PairingCandidate) async -> Bool

    struct Offer {
        let digest: [UInt8]
        let databases: NameSet
        let end: ContinuousClock.Instant
        let confirm: Confirmation?
        /// How many devices were revoked before it.
        let revocations: Int64
        /// Whether the listener that it was made for still listens.
        var isLive: @Sendable () -> Bool = { true }
        var isUsed = false
    }

    /// A device that has used a link.
    struct Guest {
        /// The digest of the secret of the link.
        let offer: [UInt8]
        let name: String
        let databases: NameSet
        let commitment: [UInt8]
        let nonce: [UInt8]
        /// What the digits are made of, besides the nonces.
        let codeKey: [UInt8]
        /// What the two will keep.
        let secret: [UInt8]
        let confirm: Confirmation?
        let revocations: Int64
        let end: ContinuousClock.Instant
        var isAsked = false
        var decision: Bool?
    }

    static let most = 64
    static let mostGuests = 16
    /// How long a device has, from the first request on. Its user and this one look at the digits meanwhile.
    static let time = Duration.seconds(120)
    private(set) var offers: [Offer] = []
    private(set) var guests: [(key: [UInt8], guest: Guest)] = []

    mutating func add(_ offer: Offer) {
        if offers.count == Self.most { offers.removeFirst() }
        offers.append(offer)
        checkInvariants()
    }

    /// Uses up the link with a secret.
    ///
    /// - Returns: Its offer, or why it counts no longer.
    mutating func use(
        _ secret: [UInt8], now: ContinuousClock.Instant = .now
    ) -> Result<Offer, PairingRefusal> {
        let digest = Self.digest(secret)
        guard let place = offers.firstIndex(where: { Secrets.areEqual($0.digest, digest) }),
            offers[place].isLive()
        else { return .failure(.unknownLink) }
        defer {
            offers[place].isUsed = true
            checkInvariants()
        }
        if offers[place].isUsed { return .failure(.used) }
        guard now < offers[place].end else { return .failure(.expired) }
        return .success(offers[place])
    }

    /// Withdraws the link with a secret, and refuses the device that has used it and is not paired yet.
    mutating func withdraw(_ secret: [UInt8]) {
        let digest = Self.digest(secret)
        offers.removeAll { Secrets.areEqual($0.digest, digest) }
        for place in guests.indices where Secrets.areEqual(guests[place].guest.offer, digest) {
            guests[place].guest.decision = false
        }
    }

    /// Notes what the app says about the device with a key, which has used the link with a digest. What was said first counts,
    /// and an answer about another link does not.
    mutating func decide(_ key: [UInt8], _ offer: [UInt8], _ isYes: Bool) {
        guard let guest = self[key], guest.offer == offer, guest.decision == nil else { return }
        self[key]?.decision = isYes
    }

    /// Withdraws all links, and forgets the devices that are not paired yet.
    mutating func removeAll() { (offers, guests) = ([], []) }

    /// Takes a device that has used a link.
    mutating func welcome(_ guest: Guest, key: [UInt8]) {
        guests.removeAll { $0.key == key }
        if guests.count == Self.mostGuests { guests.removeFirst() }
        guests.append((key, guest))
        checkInvariants()
    }

    /// The device that has a key.
    subscript(key: [UInt8]) -> Guest? {
        get { guests.first { $0.key == key }?.guest }
        set {
            guard let place = guests.firstIndex(where: { $0.key == key }) else { return }
            if let newValue { guests[place].guest = newValue } else { guests.remove(at: place) }
        }
    }

    static func digest(_ secret: [UInt8]) -> [UInt8] {
        Secrets.sign(Array("divan link".utf8), key: secret)
    }

    func checkInvariants() {
        assert(
            offers.count <= Self.most && guests.count <= Self.mostGuests,
            "2. At most `most` links and `mostGuests` devices are kept.")
        assert(offers.allSatisfy { $0.digest.count == 32 }, "3. Only digests are kept.")
    }
}

/// A device that has scanned a link and wants to be paired.
public struct PairingCandidate: Sendable {
    /// The name that the device gives itself.
    public let name: String
    /// What tells it from others.
    public let id: String
    /// The digits that both screens show. Where they differ, another device is to be paired than the one that the user sees.
    public let code: String
    /// The databases that it would share.
    public let databases: NameSet
}
