// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// Stops those who guess passwords: after so many wrong ones in a row for a name from one network, further
/// ones for it from there are refused unseen for a while; and after ten times as many for any names, all from
/// there, but for those that were right lately.
///
/// Another network is not affected, so a client cannot lock a user out from elsewhere. A network is an IPv4 address or
/// the 64 bits of an IPv6 prefix, which one client has to itself.
///
/// State: the failures, guarded by the mutex; at most ten thousand are kept.
final class PasswordThrottle: Sendable {
    /// What is counted: wrong passwords of a name from a network, or of any name.
    private struct Key: Hashable {
        @ByBytes var name: String?
        var network: String
    }

    private struct Failures {
        var count = 0
        var last = ContinuousClock.now
    }

    private static let mostEntries = 10_000
    private let attempts: Int
    private let lockout: Duration
    private let failures = Mutex<[Key: Failures]>([:])

    init(_ limits: ListenerLimits) {
        attempts = limits.passwordAttempts
        lockout = limits.passwordLockout
    }

    /// Whether a name is locked from a network.
    func isLocked(_ name: String, from network: String, now: ContinuousClock.Instant = .now) -> Bool
    {
        failures.withLock { isLocked(Key(name: name, network: network), attempts, &$0, now) }
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
    func note(
        _ name: String, from network: String, isRight: Bool, now: ContinuousClock.Instant = .now
    ) -> Bool {
        failures.withLock { failures in
            let (key, all) = (Key(name: name, network: network), Key(network: network))
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
