// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanListener

/// The links that wait for a device.
///
/// ## Invariants
/// 1. A secret pairs one device: it is used up before the device is answered, and before the app is asked.
/// 2. At most `most` links are kept. A new one takes the place of the oldest.
/// 3. No secret is kept, only its digest.
struct PairingOffers {
    /// A device that wants to be paired.
    typealias Confirmation = @Sendable (PairingCandidate) -> Bool

    struct Offer {
        let digest: [UInt8]
        let databases: NameSet
        let end: ContinuousClock.Instant
        let confirm: Confirmation?
        var isUsed = false
    }

    static let most = 64
    private(set) var offers: [Offer] = []

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
        guard let place = offers.firstIndex(where: { Secrets.areEqual($0.digest, digest) }) else {
            return .failure(.unknownLink)
        }
        defer {
            offers[place].isUsed = true
            checkInvariants()
        }
        if offers[place].isUsed { return .failure(.used) }
        guard now < offers[place].end else { return .failure(.expired) }
        return .success(offers[place])
    }

    /// Withdraws all links that wait.
    mutating func removeAll() { offers = [] }

    static func digest(_ secret: [UInt8]) -> [UInt8] {
        Secrets.sign(Array("divan link".utf8), key: secret)
    }

    func checkInvariants() {
        assert(offers.count <= Self.most, "2. At most `most` links are kept.")
        assert(offers.allSatisfy { $0.digest.count == 32 }, "3. Only digests are kept.")
    }
}

/// A device that has scanned a link and wants to be paired.
public struct PairingCandidate: Sendable {
    /// The name that the device gives itself.
    public let name: String
    /// What tells it from others.
    public let id: String
    /// The digits that both screens show. Where they differ, another device is paired than the one that the user sees.
    public let code: String
    /// The databases that it would share.
    public let databases: NameSet
}
