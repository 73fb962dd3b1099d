// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// Stops those who guess passwords: after so many wrong ones in a row for a name from one network, further
/// ones for it from there are refused unseen for a while; and after ten times as many for any names, all from
/// there, but for those that were right lately. `PasswordLockout` says how many, for how long, and whether at all.
///
/// Another network is not affected, so a client cannot lock a user out from elsewhere. A network is an IPv4 address or
/// the 64 bits of an IPv6 prefix, which one client has to itself.
///
/// State: the failures, guarded by the mutex; at most ten thousand are kept, each with 256 bytes of a name at most, since
/// those who guess choose the names.
package final class PasswordThrottle: Sendable {
    /// What is counted: wrong passwords of a name from a network, or of any name.
    private struct Key: Hashable {
        var name: KeptName?
        var network: String
    }

    /// What is kept of a name: of a long one its digest.
    private enum KeptName: Hashable {
        case whole(ExactString)
        case digest([UInt8])

        var length: Int {
            switch self {
            case .whole(let name): name.text.utf8.count
            case .digest(let digest): digest.count
            }
        }
    }

    private struct Failures {
        var count = 0
        var last = ContinuousClock.now
    }

    private static let mostEntries = 10_000
    private static let longestName = 256
    /// Makes the digests of names, so that no client can choose two names of the same one.
    private let digestKey = RandomBytes.make(32)
    /// What counts now: a client may configure it.
    private let lockout: @Sendable () -> PasswordLockout
    private let failures = Mutex<[Key: Failures]>([:])

    /// Makes one that counts as is asked before each password.
    init(_ lockout: @escaping @Sendable () -> PasswordLockout) {
        self.lockout = lockout
    }

    /// Makes one that counts as the limits say.
    package convenience init(_ limits: ListenerLimits) {
        let lockout = PasswordLockout(limits)
        self.init { lockout }
    }

    /// How many bytes of names are kept.
    var nameBytes: Int {
        failures.withLock { $0.keys.reduce(0) { $0 + ($1.name?.length ?? 0) } }
    }

    private func key(_ name: String, _ network: String) -> Key {
        let isLong = name.utf8.count > Self.longestName
        return Key(
            name: isLong
                ? .digest(Secrets.sign(Array(name.utf8), key: digestKey))
                : .whole(ExactString(name)),
            network: network)
    }

    /// Whether a name is locked from a network.
    package func isLocked(_ name: String, from network: String, now: ContinuousClock.Instant = .now)
        -> Bool
    {
        lockedTime(name, from: network, now: now) != nil
    }

    /// How much longer a name is locked from a network; nil where it is not.
    func lockedTime(_ name: String, from network: String, now: ContinuousClock.Instant = .now)
        -> Duration?
    {
        let (key, lockout) = (key(name, network), lockout())
        return failures.withLock { lockedTime(key, lockout.attempts, lockout, &$0, now) }
    }

    /// Whether names that were not right lately are locked from a network.
    func isLocked(from network: String, now: ContinuousClock.Instant = .now) -> Bool {
        lockedTime(from: network, now: now) != nil
    }

    /// How much longer names that were not right lately are locked from a network; nil where they are not.
    func lockedTime(from network: String, now: ContinuousClock.Instant = .now) -> Duration? {
        let lockout = lockout()
        return failures.withLock {
            lockedTime(Key(network: network), lockout.attemptsOfNetwork, lockout, &$0, now)
        }
    }

    private func lockedTime(
        _ key: Key, _ limit: Int, _ lockout: PasswordLockout, _ failures: inout [Key: Failures],
        _ now: ContinuousClock.Instant
    ) -> Duration? {
        guard lockout.mode == .enforce, let known = failures[key], known.count >= limit else {
            return nil
        }
        let left = lockout.duration - known.last.duration(to: now)
        guard left <= .zero else { return left }
        failures[key] = nil
        return nil
    }

    /// Notes whether a password was right, unless the name or the network was locked while it was hashed: of passwords that are sent at
    /// the same time no more are told to be wrong than of those sent one after the other.
    ///
    /// - Returns: Whether the password counts, right or wrong.
    @discardableResult
    package func note(
        _ name: String, from network: String, isRight: Bool, now: ContinuousClock.Instant = .now
    ) -> Bool {
        let lockout = lockout()
        guard lockout.mode != .off else { return true }
        let (key, all) = (key(name, network), Key(network: network))
        let (counts, isTooMany) = failures.withLock { failures in
            guard lockedTime(key, lockout.attempts, lockout, &failures, now) == nil else {
                return (false, false)
            }
            let left = lockedTime(all, lockout.attemptsOfNetwork, lockout, &failures, now)
            let counts = left == nil
            var isTooMany = false
            if !isRight {
                isTooMany = count(key, lockout, &failures, now) == lockout.attempts
                count(all, lockout, &failures, now)
            } else if counts {
                failures[key] = nil
            }
            return (counts, isTooMany)
        }
        if isTooMany { Self.warn(name, network, lockout) }
        return counts
    }

    /// Tells the log once of a name for which too many passwords in a row were wrong.
    private static func warn(_ name: String, _ network: String, _ lockout: PasswordLockout) {
        // Those who guess choose the name.
        let name = JSONValue.string(String(name.unicodeScalars.prefix(100)))
        Log.listener.warning(
            "\(lockout.attempts) passwords in a row were wrong for the user \(name), from \(network)."
        )
    }

    @discardableResult
    private func count(
        _ key: Key, _ lockout: PasswordLockout, _ failures: inout [Key: Failures],
        _ now: ContinuousClock.Instant
    ) -> Int {
        if failures[key] == nil, failures.count >= Self.mostEntries {
            failures = failures.filter { $0.value.last.duration(to: now) < lockout.duration }
            if failures.count >= Self.mostEntries { failures = [:] }
        }
        var known = failures[key] ?? Failures()
        if known.last.duration(to: now) >= lockout.duration { known.count = 0 }
        known.count += 1
        known.last = now
        failures[key] = known
        return known.count
    }
}
