// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// How often a replication has crashed in a row: the `error_count` of `_scheduler/docs`.
///
///     started   crashed   started   crashed   started ···· two minutes ···· crashed
///       0          1         1         2         2             0               1
///
/// As in CouchDB, where the time is called `health_threshold`, a replication is healthy again only after it has run that
/// long without a crash: one that reaches the other end and then fails each time goes on counting.
struct CrashCount: Sendable {
    /// CouchDB's default, in seconds.
    static let healthyAfter: Int64 = 120

    /// Why it waits to try again; nil while it runs.
    private(set) var reason: String?
    private var crashes = 0
    private var runningSince: Int64

    /// Begins with a replication that starts.
    ///
    /// - Parameter time: The time, as that of all calls in seconds since 1970.
    init(at time: Int64) { runningSince = time }

    mutating func crash(at time: Int64, _ reason: String) {
        crashes = count(at: time) + 1
        self.reason = reason
    }

    mutating func start(at time: Int64) {
        reason = nil
        runningSince = time
    }

    /// The crashes in a row; 0 where it is healthy.
    func count(at time: Int64) -> Int {
        reason == nil && time.subtractingSaturated(runningSince) >= Self.healthyAfter ? 0 : crashes
    }
}
