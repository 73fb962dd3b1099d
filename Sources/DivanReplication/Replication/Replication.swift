// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanLogging
internal import DivanModel
internal import Synchronization

/// Transfers changes between a database and another one: a push or a pull, once or for ever.
///
/// ```swift
/// let pull = database.createPullReplication(from: "https://example.com/notes")
/// pull.isContinuous = true
/// pull.start()
/// for await status in pull.statuses { print(status.completed, "of", status.total) }
/// ```
///
/// A one-shot replication stops when everything is transferred. A continuous one goes on: at the end of
/// the feed it waits for changes, and whatever fails it tries again, sooner while things look good and
/// at ever longer intervals while not. Only `stop()`, or closing the database, ends it.
///
///     stopped ── start() ──► connecting ──► active ◄──► idle      caught up; continuous only
///        ▲                     │     ▲         │          │
///        │ done, stop(),       ▼     │ after a while, or retryNow()
///        └── given up ◄───── offline ◄─────────┴──────────┘
///
/// Every setting of `ReplicationConfiguration` is also a property here. They are frozen by `start()`:
/// what is set later holds from the next start on.
///
/// Where it stands is kept in both databases (see `docs/replication.md`), so that a replication which
/// was broken off, whatever broke it off, goes on where it was.
///
/// State: `configuration` and `state`, each guarded by its mutex; no callback runs under either.
@dynamicMemberLookup
public final class Replication: Sendable {
    /// What a replication is doing.
    public typealias Activity = ReplicationStatus.Activity

    /// Which way documents go.
    public enum Direction: String, Sendable {
        /// From the database to the other end.
        case push
        /// From the other end to the database.
        case pull
    }

    private struct State {
        var status = ReplicationStatus()
        var stop: StopSignal?
        var task: Task<Void, Never>?
        var isSuspended = false
        /// Whether it was started and has ended since.
        var hasEnded = false
        /// How far the running engine is safe; nil while none has begun.
        var safe: RemoteSequence?
        /// What was counted up to when it was last idle.
        var countedCompleted = 0
        var countedTotal = 0
        var documentErrors = DocumentErrors()
    }

    /// The database at this end.
    public let database: Database
    /// The other end.
    public let remote: ReplicationEndpoint
    /// Which way documents go.
    public let direction: Direction

    private let configuration: Mutex<ReplicationConfiguration>
    private let state = Mutex(State())
    private let statusFollowers = Followers<ReplicationStatus>()
    let documentFollowers = Followers<ReplicatedDocument>()
    let wakeUp = Mutex(StopSignal())

    init(
        _ database: Database, _ remote: ReplicationEndpoint, _ direction: Direction,
        _ configuration: ReplicationConfiguration = ReplicationConfiguration()
    ) {
        self.database = database
        self.remote = remote
        self.direction = direction
        self.configuration = Mutex(configuration)
    }

    deinit { state.withLock { $0.task }?.cancel() }

    /// Any setting of `ReplicationConfiguration`, such as `isContinuous`.
    public subscript<Value>(
        dynamicMember setting: WritableKeyPath<ReplicationConfiguration, Value>
    ) -> Value {
        get { settings[keyPath: setting] }
        set {
            configuration.withLock { $0[keyPath: setting] = newValue }
            if isRunning {
                Log.replication.warning(
                    "A setting of the \(description) was changed while it runs; it holds from the "
                        + "next start on.")
            }
        }
    }

    /// All settings.
    public var settings: ReplicationConfiguration {
        get { configuration.withLock { $0 } }
        set { configuration.withLock { $0 = newValue } }
    }

    // MARK: - Life

    /// Whether it was started and has not ended.
    public var isRunning: Bool { state.withLock { $0.task != nil } }

    /// Starts with the settings as they are now; does nothing while it runs.
    public func start() {
        let settings = settings
        let stop = StopSignal()
        let isNew = state.withLock { state in
            guard state.task == nil else { return false }
            state.status = ReplicationStatus(activity: .connecting)
            (state.countedCompleted, state.countedTotal) = (0, 0)
            state.safe = nil
            state.documentErrors = DocumentErrors()
            state.isSuspended = false
            state.hasEnded = false
            state.stop = stop
            // Before the task, which may end before this returns.
            RunningTable.shared.add(self)
            // The task holds the replication while it runs, so an app need not.
            state.task = Task { await self.supervise(settings, stop) }
            return true
        }
        guard isNew else { return }
        if case .url = remote { NetworkWatch.start() }
        Log.replication.info("Started the \(description).")
    }

    /// Ends it: what is being stored is still stored, and a last checkpoint saved, for two seconds at most.
    public func stop() {
        let (stop, task) = state.withLock { ($0.stop, $0.task) }
        guard let stop, let task else { return }
        stop.give()
        wakeUp.withLock { $0 }.give()
        Task {
            try? await Task.sleep(for: Self.grace)
            task.cancel()
        }
    }

    private static let grace = Duration.seconds(2)

    /// Ends it and waits until it has ended.
    public func stopped() async {
        stop()
        await finished()
    }

    /// Waits until it ends, by itself or because somebody stops it.
    public func finished() async {
        let task = state.withLock { $0.task }
        await task?.value
    }

    /// Stops it and starts it again, with the settings as they are then.
    public func restart() async {
        await stopped()
        start()
    }

    /// Whether it was suspended; see `suspend()`.
    public var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Ends all traffic until `resume()`, as an app does that is put to sleep. Its status is then offline.
    public func suspend() async {
        guard isRunning else { return }
        await stopped()
        state.withLock { state in
            state.isSuspended = true
            state.status.activity = .offline
        }
        statusFollowers.tell(status)
    }

    /// Goes on after `suspend()`.
    public func resume() {
        if isSuspended { start() }
    }

    /// Tries again at once where it waits to do so, and forgets how often that has failed; see
    /// `networkDidChange()` for all at once.
    public func retryNow() { wakeUp.withLock { $0 }.give() }

    // MARK: - Following

    /// How it stands.
    public var status: ReplicationStatus { state.withLock { $0.status } }
    /// What it is doing.
    public var activity: Activity { status.activity }
    /// The last error, of a document or of everything.
    public var lastError: ReplicationError? { status.error }
    /// How many changes are done since it was last idle.
    public var completedChangesCount: Int { status.completed }
    /// How many changes are known of since it was last idle.
    public var changesCount: Int { status.total }

    /// Its status now, and whenever it changes; ends when it stops. A slow reader misses some, never the
    /// last.
    public var statuses: AsyncStream<ReplicationStatus> {
        statusFollowers.stream(keeping: 1, first: status) { hasEnded }
    }

    /// What becomes of each revision from now on; ends when it stops. The newest thousand wait for a
    /// slow reader.
    public var documentEvents: AsyncStream<ReplicatedDocument> {
        documentFollowers.stream(keeping: 1_000) { hasEnded }
    }

    /// Calls a closure whenever its status changes, one call at a time.
    ///
    /// - Parameter listener: Gets the status.
    /// - Returns: The token that keeps the listener: hold on to it.
    public func addStatusListener(_ listener: @escaping @Sendable (ReplicationStatus) -> Void)
        -> ReplicationToken
    {
        statusFollowers.add(listener)
    }

    /// Calls a closure with what becomes of each revision, one call at a time.
    public func addDocumentListener(_ listener: @escaping @Sendable (ReplicatedDocument) -> Void)
        -> ReplicationToken
    {
        documentFollowers.add(listener)
    }

    // MARK: - From the supervisor

    /// Tells that it begins. The task that does the work does so before anything else, so that nobody
    /// hears of what comes later first.
    func tellBeginning() { statusFollowers.tell(status) }

    /// Changes the status, and tells when it differs.
    func update(_ change: (inout ReplicationStatus) -> Void) {
        let (new, isNews) = state.withLock { state in
            let old = state.status
            change(&state.status)
            return (
                state.status,
                old.activity != state.status.activity || old.completed != state.status.completed
                    || old.total != state.status.total || old.pending != state.status.pending
                    || (old.error == nil) != (state.status.error == nil)
            )
        }
        if isNews { statusFollowers.tell(new) }
    }

    /// Takes the progress of a run.
    func take(_ progress: ReplicationRun.Progress) {
        let (counted, isBackToIdle) = state.withLock { state in
            let isBackToIdle = progress.isIdle && state.status.activity != .idle
            // Both counts begin anew when it gets to work after being idle.
            if state.status.activity == .idle, !progress.isIdle {
                state.countedCompleted = progress.completed
                state.countedTotal = min(progress.completed, progress.total)
            }
            state.safe = progress.safe ?? state.safe
            return ((state.countedCompleted, state.countedTotal), isBackToIdle)
        }
        if isBackToIdle { settleErrors() }
        update { status in
            status.activity = progress.isIdle ? .idle : .active
            status.completed = max(0, progress.completed - counted.0)
            status.total = max(status.completed, progress.total - counted.1)
            status.pending = progress.pending
        }
    }

    /// Forgets what was counted, since a new run counts anew.
    func beginRun() {
        state.withLock { state in
            (state.countedCompleted, state.countedTotal) = (0, 0)
            state.documentErrors.beginRun()
        }
    }

    /// Notes that everything that there is has been brought: what is left are errors of documents that are not.
    func settleErrors() {
        let newest = state.withLock { state in
            state.documentErrors.settle()
            return state.documentErrors.newest
        }
        update { $0.error = newest }
    }

    /// Takes what became of revisions.
    func take(_ reports: [ReplicationEngine.Report]) {
        let (hasChanged, newest) = state.withLock { state in
            var hasChanged = false
            for report in reports where state.documentErrors.take(report) { hasChanged = true }
            return (hasChanged, state.documentErrors.newest)
        }
        if hasChanged { update { $0.error = newest } }
        for report in reports {
            if let error = report.error {
                Log.replication.info("In the \(description): \(error)")
            }
            documentFollowers.tell(
                ReplicatedDocument(
                    id: report.id.text, revisionID: report.revision?.description,
                    isDeleted: report.isDeleted, isAccessRemoved: report.isAccessRemoved,
                    isPush: direction == .push, error: report.error))
        }
    }

    private var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Notes that it has ended.
    func end(_ error: ReplicationError?) {
        Log.replication.info(
            "Ended the \(description)\(error.map { ": \($0)" } ?? ".")")
        RunningTable.shared.remove(self)
        update { status in
            status.activity = .stopped
            if let error { status.error = error }
        }
        state.withLock { state in
            state.task = nil
            state.stop = nil
            state.hasEnded = true
        }
        statusFollowers.finish()
        documentFollowers.finish()
    }

    /// How far the running engine is safe.
    var safeSequence: RemoteSequence? { state.withLock { $0.safe } }
}

extension Replication: CustomStringConvertible {
    /// Which way, and between what; without credentials.
    public var description: String {
        direction == .push
            ? "push of '\(database.name)' to '\(remote)'"
            : "pull of '\(database.name)' from '\(remote)'"
    }
}
