// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Stops those who guess passwords: after so many wrong ones in a row for a name from one address, further
/// ones from there are refused unseen for a while.
///
/// Another address is not affected, so nobody can lock a user out from elsewhere.
///
/// State: the failures, guarded by the mutex; at most ten thousand are kept.
final class PasswordThrottle: Sendable {
    private struct Key: Hashable {
        var name: String
        var address: String
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

    /// Whether a name is locked from an address.
    func isLocked(_ name: String, from address: String, now: ContinuousClock.Instant = .now) -> Bool
    {
        failures.withLock { failures in
            let key = Key(name: name, address: address)
            guard let known = failures[key], known.count >= attempts else { return false }
            guard known.last.duration(to: now) >= lockout else { return true }
            failures[key] = nil
            return false
        }
    }

    /// Notes whether a password was right.
    func note(
        _ name: String, from address: String, isRight: Bool, now: ContinuousClock.Instant = .now
    ) {
        failures.withLock { failures in
            let key = Key(name: name, address: address)
            guard !isRight else {
                failures[key] = nil
                return
            }
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
}
