// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// What a listener has answered since it was made: what `_stats` and `_prometheus` tell.
///
/// State: `counts`, guarded by its mutex. The times of the last thousand requests are kept, so its size is fixed.
final class ListenerStatistics: Sendable {
    /// The methods and statuses that are counted apart, in CouchDB's order.
    static let methods = ["COPY", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]
    static let statuses = [
        200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414,
        415, 416, 417, 500, 501, 503, 507,
    ]
    private static let mostTimes = 1_000

    /// The counts.
    struct Counts: Sendable {
        /// All requests.
        var requests = 0
        /// Those of each method and status above.
        var methods = [Int](repeating: 0, count: ListenerStatistics.methods.count)
        var statuses = [Int](repeating: 0, count: ListenerStatistics.statuses.count)
        /// Those of some routes, by what they are called.
        var routes: NameMap<Int> = [:]
        /// Passwords that were hashed, and that were looked up among those that were right lately.
        var slowHashes = 0
        var fastHashes = 0
        /// How long requests took until their answers began, in milliseconds; the latest ones.
        var times: [Double] = []
        /// How long all of them took together.
        var allTimes = 0.0
    }

    /// The routes that are counted apart.
    private static let routes: NameMap<String> = [
        "/{db}/_bulk_docs": "bulk_requests", "/{db}/_purge": "purge_requests",
        "/{db}/_design/{ddoc}/_view/{name}": "view_reads",
        "/{db}/_partition/{partition}/_design/{ddoc}/_view/{name}": "view_reads",
    ]
    /// What such routes are called.
    static let routeNames = ["bulk_requests", "purge_requests", "view_reads"]

    private let counts = Mutex(Counts())
    private let beginning = ContinuousClock.now

    /// What was counted.
    var all: Counts { counts.withLock { $0 } }

    /// For how long.
    var uptime: Duration { beginning.duration(to: .now) }

    /// Notes an answer.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - status: The status of the answer.
    ///   - beginning: When the request began to be worked on.
    func note(_ method: String, _ status: Int, since beginning: ContinuousClock.Instant) {
        let time = beginning.duration(to: .now) / .milliseconds(1)
        let method = Self.methods.firstIndex { $0.hasSameBytes(as: method) }
        let status = Self.statuses.firstIndex(of: status)
        counts.withLock { counts in
            if counts.times.count < Self.mostTimes {
                counts.times.append(time)
            } else {
                counts.times[counts.requests % Self.mostTimes] = time
            }
            counts.requests += 1
            counts.allTimes += time
            if let method { counts.methods[method] += 1 }
            if let status { counts.statuses[status] += 1 }
        }
    }

    /// Notes that a password was hashed.
    func noteSlowHash() { counts.withLock { $0.slowHashes += 1 } }

    /// Notes that a password was found among those that were right lately, or is one of them from now on.
    func noteFastHash() { counts.withLock { $0.fastHashes += 1 } }

    /// Notes that a route handles a request.
    func note(_ route: Route) {
        guard let name = Self.routes[route.pattern] else { return }
        counts.withLock { $0.routes[name, default: 0] += 1 }
    }
}
