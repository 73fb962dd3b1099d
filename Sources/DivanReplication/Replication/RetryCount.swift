// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// How often a replication has failed since something worked, and how long it waits before the next try.
///
/// A run has *moved* when something is safe that was not: a revision was stored, or a checkpoint saved. To compare
/// again what the last run had compared is no progress: otherwise one document that fails each time would be asked for
/// at the shortest delay for ever. To reach the end of the feed is progress when the run has then
/// waited there as long as it had waited before it began, so that a feed whose waiting always fails at once is
/// not asked every other second.
struct RetryCount: Sendable {
    /// What a run has done before it failed.
    struct Run: Sendable, Equatable {
        /// Whether something is safe that was not.
        var hasMoved = false
        /// How long it was at the end of the feed; nil when it never was.
        var idle: Duration?
    }

    /// A server asks for no longer rest than this.
    static let longestAsked = Duration.seconds(3_600)
    /// An error that does not pass by itself takes a person a while to put right.
    static let shortestForGood = Duration.seconds(30)
    /// The other documents of a continuous replication wait no longer than this for one that fails.
    static let longestForOne = Duration.seconds(60)

    let policy: RetryPolicy
    let isContinuous: Bool
    /// How often it has failed since something worked.
    private(set) var failures = 0
    /// When it failed first since then.
    private var firstFailure: ContinuousClock.Instant?
    private var lastDelay = Duration.zero

    init(_ policy: RetryPolicy, isContinuous: Bool) {
        self.policy = policy
        self.isContinuous = isContinuous
    }

    /// Counts a failure.
    ///
    /// - Parameters:
    ///   - error: Why the run has ended.
    ///   - run: What it did before.
    ///   - random: A number from 0 to 1.
    ///   - now: When it failed.
    /// - Returns: How long to wait; nil to give up.
    mutating func fail(
        _ error: ReplicationError, after run: Run, random: Double,
        now: ContinuousClock.Instant = .now
    ) -> Duration? {
        let hasWorked = run.hasMoved || run.idle.map { $0 >= lastDelay } ?? false
        failures = hasWorked ? 1 : failures + 1
        let first = hasWorked ? now : firstFailure ?? now
        firstFailure = first
        // Another server may be in the place of the known one: people decide, not time.
        guard error.code != .certificateChanged else { return nil }
        guard isContinuous || (error.isTransient && failures < policy.maximumAttempts) else {
            return nil
        }
        let delay = delay(error, random)
        if !isContinuous, let patience = policy.patience, first.duration(to: now) + delay > patience
        {
            return nil
        }
        lastDelay = delay
        return delay
    }

    /// The error that ends a one-shot replication that gave up: it says how often was tried, and what was asked for.
    ///
    /// - Parameters:
    ///   - error: Why the last run has ended.
    ///   - now: When it did.
    /// - Returns: The error with its reason for giving up; the same where another try would not have helped.
    func givingUp(_ error: ReplicationError, now: ContinuousClock.Instant = .now)
        -> ReplicationError
    {
        guard !isContinuous, error.isTransient, policy.maximumAttempts > 1 else { return error }
        let time = firstFailure?.duration(to: now) ?? .zero
        let tries = failures == 1 ? "1 try" : "\(failures) tries in \(time.words)"
        let asked = error.askedDelay
        let wish =
            asked > .zero ? ", while the other end asks to be left alone for \(asked.words)" : ""
        var error = error
        error.message = "The replication gave up after \(tries)\(wish): \(error.message)"
        return error
    }

    /// Forgets all failures, since the circumstances have changed.
    mutating func forget() {
        failures = 0
        firstFailure = nil
        lastDelay = .zero
    }

    private func delay(_ error: ReplicationError, _ random: Double) -> Duration {
        var delay = policy.delay(after: failures, random: random)
        if isContinuous, error.documentID != nil { delay = min(delay, Self.longestForOne) }
        let floor = error.isTransient ? .zero : min(policy.longestDelay, Self.shortestForGood)
        return max(delay, floor, error.askedDelay)
    }
}

extension ReplicationError {
    /// How long the other end asked to be left alone, within reason.
    var askedDelay: Duration {
        guard let retryAfter, retryAfter > 0 else { return .zero }
        // Any number may stand here, and not every one is a duration.
        return retryAfter < 3_600 ? .seconds(retryAfter) : RetryCount.longestAsked
    }
}
