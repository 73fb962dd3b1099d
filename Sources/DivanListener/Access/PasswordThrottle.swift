// SPDX-License-Identifier: Apache-2.0

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
        var name: String?
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
        isLocked(Key(name: name, network: network), attempts, now)
    }

    /// Whether names that were not right lately are locked from a network.
    func isLocked(from network: String, now: ContinuousClock.Instant = .now) -> Bool {
        isLocked(Key(network: network), attempts > .max / 10 ? .max : attempts * 10, now)
    }

    private func isLocked(_ key: Key, _ limit: Int, _ now: ContinuousClock.Instant) -> Bool {
        failures.withLock { failures in
            guard let known = failures[key], known.count >= limit else { return false }
            guard known.last.duration(to: now) >= lockout else { return true }
            failures[key] = nil
            return false
        }
    }

    /// Notes whether a password was right.
    func note(
        _ name: String, from network: String, isRight: Bool, now: ContinuousClock.Instant = .now
    ) {
        failures.withLock { failures in
            let key = Key(name: name, network: network)
            guard !isRight else {
                failures[key] = nil
                return
            }
            count(key, &failures, now)
            count(Key(network: network), &failures, now)
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
