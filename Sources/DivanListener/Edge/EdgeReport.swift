// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanReplication

/// What an edge has found out about its hub at its last looks.
struct EdgeReport: Sendable {
    /// How the hub answers.
    enum Reach: String, Sendable {
        /// It was not asked yet.
        case unknown
        case reached
        /// It cannot be reached, or fails.
        case unreachable
        /// It answers, and does not let the edge in, or not see what it needs.
        case refused
    }

    /// What became of one database.
    struct Entry: Sendable {
        enum State: String, Sendable {
            /// Its two documents are in `_replicator`.
            case followed
            /// The hub has deleted it.
            case deleted
            /// One side has not got it, and it cannot be made there.
            case refused
        }

        var state: State
        /// Why it is not followed, or why its `_security` was not taken over.
        var reason: String?
    }

    var reach = Reach.unknown
    /// Why the hub was not reached.
    var reason: String?
    /// Seconds since 1970; nil for never.
    var looked: Int64?
    var reached: Int64?
    var entries: NameMap<Entry> = [:]
    /// How many changes of a database wait until the hub can be reached.
    var waiting: NameMap<Int> = [:]
}

/// How one direction of a database is doing.
struct EdgeProgress: Sendable {
    var state = "missing"
    var isEdited = false
    var pending = 0
    var written = 0
    var refused = 0
    /// For how many seconds the target may have lacked something; nil where nothing is known.
    var lag: Int64?
    var reason: String?

    /// - Parameters:
    ///   - job: The replication; nil where there is none.
    ///   - waiting: How many changes were known to wait when the edge last looked.
    init(_ job: ReplicatorDatabase.Job?, waiting: Int) {
        guard let job else { return }
        (state, reason, isEdited) = (job.state, job.reason, job.isEdited)
        guard let running = job.running else { return }
        let replication = running.replication
        let counts = replication.report.counts
        (written, refused) = (counts.written, counts.failed)
        pending = replication.status.unfinished
        lag = running.lag
        reason = replication.lastError.map(ErrorResponse.reason)
        guard replication.activity == .offline else { return }
        state = "waiting"
        pending = max(pending, waiting)
    }

    var json: JSONValue {
        var object: JSONObject = [
            "state": .string(state), "pending": JSONValue(pending), "written": JSONValue(written),
            "refused": JSONValue(refused), "lag": lag.map { .integer($0) } ?? .null,
        ]
        if isEdited { object["edited"] = true }
        object["reason"] = reason.map { .string($0) }
        return .object(object)
    }
}
