// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanListener
internal import DivanSystem
internal import FoundationEssentials

/// A pairing that an administrator has begun over HTTP and asks about until it is done.
struct FollowedPairing {
    enum State: String {
        /// No device has used the link, or the other one has not answered.
        case waiting
        /// Both screens show the digits, and the user of the device that made the link is asked.
        case asking
        case paired, declined, failed, expired
        /// The administrator has given it up.
        case ended

        var isFinal: Bool { self != .waiting && self != .asking }
    }

    /// The other device asks several times a second whether it is paired. It is gone, or has given up, when it is silent for as long.
    static let patience = Duration.seconds(15)

    let id: String
    let link: PeerLink
    /// The digest of the link's secret.
    let offer: [UInt8]
    /// Whether this device has made the link, and not the other one.
    let isShown: Bool
    private(set) var state = State.waiting
    /// From when on it counts as expired.
    var end: ContinuousClock.Instant
    /// When the time to answer is over, whatever the other device does.
    private var latest: ContinuousClock.Instant?
    /// The other device, as far as it is known.
    var other: PairingCandidate?
    var reason: String?
    /// Takes the user's answer.
    var answer: AsyncStream<Bool>.Continuation?
    /// Speaks to the device that made the link.
    var task: Task<Void, Never>?
    /// When it was done.
    private(set) var finish: ContinuousClock.Instant?

    init(_ link: PeerLink, isShown: Bool, lasting time: Duration) {
        id = Hexadecimal.text(RandomBytes.make(8))
        self.link = link
        offer = PairingOffers.digest(link.invitation.secret.bytes)
        self.isShown = isShown
        end = .now + time
    }

    /// Both screens show digits.
    mutating func meet(_ candidate: PairingCandidate) {
        guard !state.isFinal else { return }
        (other, state) = (candidate, .asking)
        let latest = ContinuousClock.now + PairingOffers.time
        (self.latest, end) = (latest, isShown ? .now + Self.patience : latest)
    }

    /// The other device is still there.
    mutating func noteSeen() {
        guard isShown, let latest else { return }
        end = min(.now + Self.patience, latest)
    }

    /// Its time is over.
    mutating func expire(at now: ContinuousClock.Instant) {
        let isGone = isShown && now < latest ?? now
        finish(
            as: .expired,
            reason: isGone ? "The other device is gone or has given up; make a new link." : nil)
    }

    /// It failed, maybe when it was taken for done already, since the peer could not be kept.
    mutating func fail(as outcome: State, reason: String) {
        if state == .paired { (state, self.reason) = (outcome, reason) }
        finish(as: outcome, reason: reason)
    }

    /// It is done, one way or another. The first end counts.
    mutating func finish(as outcome: State, reason: String? = nil) {
        guard !state.isFinal else { return }
        (state, self.reason, finish) = (outcome, reason, .now)
        answer?.finish()
        task?.cancel()
    }

    /// What the administrator is told.
    var json: JSONObject {
        var value: JSONObject = [
            "id": .string(id), "kind": isShown ? "shown" : "used", "state": .string(state.rawValue),
            "database": .string(link.database),
            "expires": .string(link.invitation.expires.formatted(.iso8601)),
        ]
        if let other {
            value["device"] = ["id": .string(other.id), "name": .string(other.name)]
            value["code"] = .string(other.code)
        } else if isShown, state == .waiting, let code = try? link.qrCode() {
            value["link"] = .string(link.text)
            value["modules"] = .array(code.rows.map { .string($0) })
        }
        if let reason { value["reason"] = .string(reason) }
        return value
    }
}

/// The pairings that administrators follow.
///
/// ## Invariants
/// 1. At most `most` are kept: a new one takes the place of the oldest, which ends.
/// 2. None is kept for longer than `memory` after its end.
struct FollowedPairings {
    static let most = 16
    static let memory = Duration.seconds(600)
    private var list: [FollowedPairing] = []

    mutating func add(_ pairing: FollowedPairing) {
        forget()
        if list.count == Self.most {
            list[0].finish(as: .ended)
            list.removeFirst()
        }
        list.append(pairing)
        checkInvariants()
    }

    /// The pairing with an ID; nil when there is none.
    subscript(id: String) -> FollowedPairing? {
        mutating get {
            forget()
            return list.first { $0.id.hasSameBytes(as: id) }
        }
    }

    /// Changes a pairing; does nothing when there is none.
    mutating func update(_ id: String, _ change: (inout FollowedPairing) -> Void) {
        guard let place = list.firstIndex(where: { $0.id.hasSameBytes(as: id) }) else { return }
        change(&list[place])
    }

    /// The device that has used a link is paired.
    ///
    /// - Parameter offer: The digest of the link's secret.
    /// - Returns: Whether it may be: not when an administrator has given the pairing up.
    mutating func take(_ offer: [UInt8]) -> Bool {
        forget()
        return place(of: offer).map { take(at: $0) } ?? true
    }

    /// The device whose link was used is about to be paired; as above.
    mutating func take(_ id: String) -> Bool {
        forget()
        return list.firstIndex { $0.id.hasSameBytes(as: id) }.map { take(at: $0) } ?? false
    }

    private mutating func take(at place: Int) -> Bool {
        guard !list[place].state.isFinal else { return false }
        list[place].finish(as: .paired)
        return true
    }

    /// The device that has used a link asks whether it is paired.
    mutating func noteSeen(_ offer: [UInt8]) {
        forget()
        if let place = place(of: offer) { list[place].noteSeen() }
    }

    /// The device that has used a link could not be kept.
    mutating func fail(_ offer: [UInt8], _ reason: String) {
        if let place = place(of: offer) { list[place].fail(as: .failed, reason: reason) }
    }

    private func place(of offer: [UInt8]) -> Int? {
        list.firstIndex { $0.isShown && $0.offer == offer }
    }

    /// The links of this device are withdrawn.
    mutating func withdraw() {
        for place in list.indices where list[place].isShown { list[place].finish(as: .ended) }
    }

    /// Ends those whose time is over, and forgets those that ended long ago.
    private mutating func forget(now: ContinuousClock.Instant = .now) {
        for place in list.indices where list[place].end < now { list[place].expire(at: now) }
        list.removeAll { $0.finish.map { $0 + Self.memory < now } ?? false }
    }

    private func checkInvariants() {
        assert(list.count <= Self.most, "1. At most `most` are kept.")
    }
}

extension QRCode {
    /// The modules row by row, `1` for a dark one, without the quiet zone.
    fileprivate var rows: [String] {
        (0..<side).map { y in
            String((0..<side).map { x in isDark(x: x, y: y) ? "1" : "0" })
        }
    }
}
