// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanReplication
internal import Dispatch
internal import Synchronization

/// A replication that a client started, with what its answer and the list of tasks tell of it.
///
/// State: `state`, guarded by its mutex.
final class RunningReplication: Sendable {
    /// What became of revisions, counted.
    struct Counts: Sendable {
        var written = 0
        var failed = 0
        var found: Int { written + failed }
    }

    /// How it ended.
    enum Outcome: Sendable {
        /// Everything was transferred, or somebody stopped it.
        case done(JSONObject)
        case failed(ReplicationError)
    }

    private struct State {
        var counts = Counts()
        var token: ReplicationToken?
        var outcome: Outcome?
        var isStopped = false
        var waiting: [@Sendable (Outcome) -> Void] = []
    }

    let replication: Replication
    let request: ReplicateRequest
    let user: String?
    let number: Int
    /// The document of `_replicator` that describes it; nil when a request did.
    let documentID: String?
    /// Seconds since 1970.
    let started = AccountsFile.now
    private let state = Mutex(State())

    init(
        _ replication: Replication, _ request: ReplicateRequest, user: String?, number: Int,
        documentID: String? = nil
    ) {
        self.documentID = documentID
        self.replication = replication
        self.request = request
        self.user = user
        self.number = number
    }

    /// The name by which it can be ended, CouchDB's way.
    var id: String {
        replication.checkpointID + (request.settings.isContinuous ? "+continuous" : "")
    }

    /// Starts it; `ended` is called once, when it is over.
    func start(_ ended: @escaping @Sendable () -> Void) {
        let token = replication.addDocumentListener { [weak self] event in
            self?.state.withLock { state in
                if event.error == nil {
                    state.counts.written += 1
                } else {
                    state.counts.failed += 1
                }
            }
        }
        state.withLock { $0.token = token }
        Task {
            let before = try? await replication.checkpointHistory()
            replication.start()
            // Whoever stopped it before it began found nothing to stop.
            if state.withLock({ $0.isStopped }) { replication.stop() }
            await replication.finished()
            await replication.listenersCaughtUp()
            let outcome = await outcome(before?.first?["session_id"]?.string)
            ended()
            let waiting = state.withLock { state in
                state.outcome = outcome
                state.token = nil
                defer { state.waiting = [] }
                return state.waiting
            }
            for waiter in waiting { waiter(outcome) }
        }
    }

    /// Ends it early; what is being stored is still stored.
    func stop() {
        state.withLock { $0.isStopped = true }
        replication.stop()
    }

    /// Waits until it is over; on a thread that may block.
    func wait() -> Outcome {
        let semaphore = DispatchSemaphore(value: 0)
        whenOver { _ in semaphore.signal() }
        while true {
            if let outcome = state.withLock({ $0.outcome }) { return outcome }
            semaphore.wait()
        }
    }

    /// Calls a closure once it is over, or now if it is.
    func whenOver(_ handler: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.waiting.append(handler) }
            return state.outcome
        }
        if let outcome { handler(outcome) }
    }

    /// What it has done so far, as the scheduler tells it.
    var statistics: JSONValue {
        let counts = state.withLock { $0.counts }
        let status = replication.status
        return [
            "revisions_checked": .integer(Int64(replication.summary.examined)),
            "missing_revisions_found": .integer(Int64(counts.found)),
            "docs_read": .integer(Int64(counts.found)),
            "docs_written": .integer(Int64(counts.written)),
            "doc_write_failures": .integer(Int64(counts.failed)),
            "changes_pending": .integer(Int64(status.unfinished)),
            "checkpointed_source_seq": .string(""),
        ]
    }

    /// Its entry in `_scheduler/jobs`.
    var job: JSONValue {
        [
            "database": documentID.map { _ in .string(SystemDatabase.replicator.rawValue) }
                ?? .null,
            "doc_id": documentID.map { .string($0) } ?? .null, "id": .string(id),
            "pid": .string("<0.\(number).0>"), "node": "divan@localhost",
            "user": user.map { .string($0) } ?? .null, "source": .string(request.source.label),
            "target": .string(request.target.label), "info": statistics,
            "start_time": .string(HTTPDate.iso(started)),
            "history": [
                ["type": "started", "timestamp": .string(HTTPDate.iso(started))],
                ["type": "added", "timestamp": .string(HTTPDate.iso(started))],
            ],
        ]
    }

    /// What became of it, as `_replicate` answers.
    private func outcome(_ sessionBefore: String?) async -> Outcome {
        // An error of one document is only counted.
        if let error = replication.failure { return .failed(error) }
        if state.withLock({ $0.isStopped }) {
            return .failed(ReplicationError(.cancelled, "The replication was stopped."))
        }
        guard request.settings.usesCheckpoints else {
            // As CouchDB says it: nothing is kept that a history could be made of.
            return .done(["ok": true, "use_checkpoints": false])
        }
        var history: [JSONObject]
        do { history = try await replication.checkpointHistory() } catch {
            return .failed(ReplicationError(.database, "The checkpoint cannot be read."))
        }
        let session = history.first?["session_id"] ?? .string(HexText.random())
        let last = history.first?["recorded_seq"] ?? 0
        var answer: JSONObject = ["ok": true]
        if history.first == nil || history.first?["session_id"]?.string == sessionBefore {
            answer["no_changes"] = true
        } else {
            // The other savings of this run are steps on the way of the newest.
            let run = history[0]["run"]
            history.removeAll { $0["run"] == run }
            let start = history.first?["recorded_seq"] ?? 0
            history.insert(entry(session, from: start, to: last), at: 0)
        }
        answer["session_id"] = session
        answer["source_last_seq"] = last
        answer["replication_id_version"] = 4
        answer["history"] = .array(
            history.map { entry in
                var entry = entry
                for own in ["run", "incarnation"] { entry[own] = nil }
                return .object(entry)
            })
        return .done(answer)
    }

    private func entry(_ session: JSONValue, from first: JSONValue, to last: JSONValue)
        -> JSONObject
    {
        let counts = state.withLock { $0.counts }
        return [
            "session_id": session, "start_time": .string(HTTPDate.text(started)),
            "end_time": .string(HTTPDate.text(AccountsFile.now)), "start_last_seq": first,
            "end_last_seq": last, "recorded_seq": last,
            "missing_checked": .integer(Int64(replication.summary.examined)),
            "missing_found": .integer(Int64(counts.found)),
            "docs_read": .integer(Int64(counts.found)),
            "docs_written": .integer(Int64(counts.written)),
            "doc_write_failures": .integer(Int64(counts.failed)),
        ]
    }

    /// Its entry in `_active_tasks`.
    var task: JSONValue {
        let counts = state.withLock { $0.counts }
        let status = replication.status
        let isWaiting = status.activity == .offline
        return [
            "pid": .string("<0.\(number).0>"), "type": "replication", "replication_id": .string(id),
            "node": "divan@localhost", "doc_id": documentID.map { .string($0) } ?? .null,
            "database": documentID.map { _ in .string(SystemDatabase.replicator.rawValue) }
                ?? .null,
            "user": user.map { .string($0) } ?? .null,
            "source": .string(request.source.label), "target": .string(request.target.label),
            "continuous": .bool(request.settings.isContinuous),
            "process_status": .string(isWaiting ? "waiting" : "running"),
            "revisions_checked": .integer(Int64(replication.summary.examined)),
            "missing_revisions_found": .integer(Int64(counts.found)),
            "docs_read": .integer(Int64(counts.found)),
            "docs_written": .integer(Int64(counts.written)),
            "doc_write_failures": .integer(Int64(counts.failed)),
            "changes_pending": .integer(Int64(status.unfinished)),
            "started_on": .integer(started), "updated_on": .integer(AccountsFile.now),
        ]
    }
}
