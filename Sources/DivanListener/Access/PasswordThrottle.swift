// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem
internal import Synchronization

/// Stops those who guess passwords: after so many wrong ones in a row for a name from one network, further
/// ones for it from there are refused unseen for a while; and after ten times as many for any names, all from
/// there, but for those that were right lately.
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
    private let attempts: Int
    private let lockout: Duration
    private let failures = Mutex<[Key: Failures]>([:])

    /// Makes one that counts as the limits say.
    package init(_ limits: ListenerLimits) {
        attempts = limits.passwordAttempts
        lockout = limits.passwordLockout
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
        let key = key(name, network)
        return failures.withLock { isLocked(key, attempts, &$0, now) }
    }

    /// Whether names that were not right lately are locked from a network.
    func isLocked(from network: String, now: ContinuousClock.Instant = .now) -> Bool {
        failures.withLock { isLocked(Key(network: network), attemptsOfNetwork, &$0, now) }
    }

    private var attemptsOfNetwork: Int { attempts > .max / 10 ? .max : attempts * 10 }

    private func isLocked(
        _ key: Key, _ limit: Int, _ failures: inout [Key: Failures], _ now: ContinuousClock.Instant
    ) -> Bool {
        guard let known = failures[key], known.count >= limit else { return false }
        guard known.last.duration(to: now) >= lockout else { return true }
        failures[key] = nil
        return false
    }

    /// Notes whether a password was right, unless the name or the network was locked while it was hashed: of passwords that are sent at
    /// the same time no more are told to be wrong than of those sent one after the other.
    ///
    /// - Returns: Whether the password counts, right or wrong.
    @discardableResult
    package func note(
        _ name: String, from network: String, isRight: Bool, now: ContinuousClock.Instant = .now
    ) -> Bool {
        let (key, all) = (key(name, network), Key(network: network))
        return failures.withLock { failures in
            guard !isLocked(key, attempts, &failures, now) else { return false }
            let counts = !isLocked(all, attemptsOfNetwork, &failures, now)
            if !isRight {
                count(key, &failures, now)
                count(all, &failures, now)
            } else if counts {
                failures[key] = nil
            }
            return counts
        }
    }

    private func count(
        _ key: Key, _ failures: inout [Key: Failures], _ now: ContinuousClock.Instant
    ) {
        if failures[key] == nil, failures.count >= Self.mostEntries {
            failures = failures.filter { $0.value.last.duration(to: now) < lockout }
            if failures.count >= Self.mostEntries { failures = [:] }
        }
        var known = failures[key] ?? Failures()
        if known.last.duration(to: now) >= lockout { known.count = 0 }
        known.count += 1
        known.last = now
        failures[key] = known
    }
}
