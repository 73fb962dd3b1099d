// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanReplication
internal import Dispatch
internal import DivanModel
internal import Synchronization

/// A replication that a client started, with what its answer and the list of tasks tell of it.
///
/// State: `state`, guarded by its mutex.
final class RunningReplication: Sendable {
    /// How it ended.
    enum Outcome: Sendable {
        /// Everything was transferred, or a client or the listener stopped it.
        case done(JSONObject)
        case failed(ReplicationError)
    }

    private struct State {
        var token: ListenerToken?
        /// Whether it waits to try again, and what happened to it, newest first, as the scheduler tells it.
        var crashes: CrashCount
        /// When the target was last known to have everything, in seconds since 1970.
        var caughtUp: Int64?
        var history: [JSONValue] = []
        var outcome: Outcome?
        var isStopped = false
        var waiting: [@Sendable (Outcome) -> Void] = []
    }

    let replication: Replication
    let request: ReplicateRequest
    let user: String?
    /// Whether it counts among those of users who are no administrators.
    let isBounded: Bool
    let number: Int
    /// How places in the source's feed are shown where it is a database here; nil where another server names them.
    let sequences: WireSequence?
    /// The document of `_replicator` that describes it; nil when a request did.
    let documentID: DocumentID?
    /// The name of the node that runs it.
    let node: JSONValue
    /// Seconds since 1970.
    let started = AccountsFile.now
    private let state: Mutex<State>

    init(
        _ replication: Replication, _ request: ReplicateRequest, _ site: Site, user: String?,
        number: Int, isBounded: Bool = false, documentID: DocumentID? = nil
    ) {
        self.isBounded = isBounded
        self.documentID = documentID
        node = site.node
        sequences = replication.direction == .push ? site.sequences(of: replication.database) : nil
        self.replication = replication
        self.request = request
        self.user = user
        self.number = number
        let began = [Self.event("started", started), Self.event("added", started)]
        state = Mutex(State(crashes: CrashCount(at: started), history: began))
    }

    /// The name by which it can be ended, CouchDB's way.
    var id: String {
        replication.checkpointID + (request.settings.isContinuous ? "+continuous" : "")
    }

    /// Starts it; `ended` is called once, when it is over.
    func start(_ ended: @escaping @Sendable () -> Void) {
        let token = replication.addStatusListener { [weak self] in self?.note($0) }
        state.withLock { $0.token = token }
        Task {
            let before = try? await replication.checkpointHistory()
            replication.start()
            // A call of `stop` before it began found nothing to stop.
            if state.withLock({ $0.isStopped }) { replication.stop() }
            await replication.waitUntilEnded()
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

    /// Takes what it is doing: whether it waits to try again, and why.
    private func note(_ status: ReplicationStatus) {
        state.withLock { state in
            if status.activity == .idle { state.caughtUp = AccountsFile.now }
            let error = status.activity == .offline ? status.error : nil
            guard (error == nil) != (state.crashes.reason == nil) else { return }
            let now = AccountsFile.now
            let reason = error.map(ErrorResponse.reason)
            if let reason {
                state.crashes.crash(at: now, reason)
            } else {
                state.crashes.start(at: now)
            }
            let event = Self.event(reason == nil ? "started" : "crashed", now, reason)
            state.history = Array(([event] + state.history).prefix(Self.historyLimit))
        }
    }

    private static let historyLimit = 20

    private static func event(_ type: String, _ time: Int64, _ reason: String? = nil) -> JSONValue {
        var event: JSONObject = [
            "type": .string(type), "timestamp": .string(HTTPDate.iso(time)),
        ]
        event["reason"] = reason.map { .string($0) }
        return .object(event)
    }

    /// For how many seconds the target may have lacked something; nil before it has had everything for the first time.
    var lag: Int64? {
        if replication.activity == .idle { return 0 }
        let since = state.withLock { $0.caughtUp }
        return since.map { max(0, AccountsFile.now.subtractingSaturated($0)) }
    }

    /// Why it waits to try again, nil while it runs, and how often it has crashed in a row: as of one moment, so that an
    /// answer never calls a replication crashing that has not crashed.
    var crashes: (reason: String?, count: Int) {
        state.withLock { ($0.crashes.reason, $0.crashes.count(at: AccountsFile.now)) }
    }

    /// Its entries in the scheduler's history.
    var history: [JSONValue] { state.withLock { $0.history } }

    /// What became of it, as `_replicate` answers.
    private func outcome(_ sessionBefore: String?) async -> Outcome {
        // An error of one document is only counted.
        if let error = replication.failure { return .failed(error) }
        if state.withLock({ $0.isStopped }) {
            return .failed(ReplicationError(.cancelled, "The replication was stopped."))
        }
        guard request.settings.usesCheckpoints else {
            // As CouchDB says it: nothing is kept that a history could be made of.
            var answer: JSONObject = ["ok": true, "use_checkpoints": false]
            for (name, value) in refusals { answer[name] = value }
            return .done(answer)
        }
        do {
            let history = try await replication.checkpointHistory()
            return .done(answer(history, sessionBefore))
        } catch {
            return .failed(ReplicationError(.database, "The checkpoint cannot be read."))
        }
    }
}
