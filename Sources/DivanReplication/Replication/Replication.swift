// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanLogging
internal import DivanModel
internal import DivanSystem
internal import Synchronization

/// Transfers changes between a database and another one: a push or a pull, one-shot or continuous.
///
/// ```swift
/// let summary = try await database.makePullReplication(from: url).run()        // one-shot; waits to its end
///
/// let pull = database.pull(from: url) { $0.isContinuous = true }                // started; goes on
/// for await status in pull.statuses { print(status.transferred, "of", status.total) }
/// ```
///
/// A one-shot replication ends when everything is transferred. A continuous one goes on: at the end of
/// the feed it waits for changes, and whatever fails it tries again, sooner while things look good and
/// at ever longer intervals while not. Only `stop()` ends it, or closing or deleting the database or another one
/// of this process at its other end.
///
///     stopped ── start() ──► connecting ──► active ◄──► idle      caught up; continuous only
///        ▲                     │     ▲         │          │
///        │ done, stop(),       ▼     │ after a while, or retryNow()
///        └── given up ◄───── offline ◄─────────┴──────────┘
///
/// Its settings are given when it is made, and do not change: see `Database.pull(from:settings:configure:)`. Each can
/// be read as a property, such as `pull.isContinuous`. For other settings, make another replication.
///
/// | call | starts it | waits |
/// |---|---|---|
/// | `run()` | unless it runs | until it ends; throws the error that ended it |
/// | `start()` | unless it runs | no |
/// | `waitUntilEnded()` | no | until it ends |
/// | `stop()` | no; ends it | no |
/// | `stopAndWait()` | no; ends it | until it has ended |
///
/// Where it stands is kept in both databases (see `docs/replication.md`), so that a replication which
/// was broken off, whatever broke it off, goes on where it was.
///
/// State: `state`, guarded by its mutex; no callback runs under it.
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

    /// The database at this end.
    public let database: Database
    /// The other end.
    public let remote: ReplicationEndpoint
    /// Which way documents go.
    public let direction: Direction
    /// The settings that it was made with.
    public let settings: ReplicationConfiguration

    private let state = Mutex(ReplicationState())
    private let statusFollowers = Followers<ReplicationStatus>()
    let documentFollowers = Followers<ReplicatedDocument>()
    let wakeUp = Mutex(StopSignal())
    let failedFetches: FailedFetches
    /// Of all its runs.
    let repeatedFailures: RepeatedFailures

    init(
        _ database: Database, _ remote: ReplicationEndpoint, _ direction: Direction,
        _ settings: ReplicationConfiguration
    ) {
        self.database = database
        self.remote = remote
        self.direction = direction
        self.settings = settings
        failedFetches = FailedFetches(tries: settings.retry.maximumAttempts)
        repeatedFailures = RepeatedFailures(
            tries: min(settings.retry.maximumAttempts, FailedFetches.attempts))
    }

    deinit { state.withLock { $0.task }?.cancel() }

    /// Any setting of `ReplicationConfiguration`, such as `isContinuous`; it can only be read.
    public subscript<Value>(
        dynamicMember setting: KeyPath<ReplicationConfiguration, Value>
    ) -> Value { settings[keyPath: setting] }

    // MARK: - Life

    /// Whether it was started and has not ended.
    public var isRunning: Bool { state.withLock { $0.task != nil } }

    /// Starts it, and returns at once; does nothing while it runs. One that is about to end, after `stop()` or by itself,
    /// starts again once it has ended.
    ///
    /// `run()` also waits for the end, and tells what came of it.
    public func start() { begin(keepsCounts: false) }

    /// Starts one that was made to be started at once; a `run()` that comes late goes on with its counts.
    func startAtOnce() {
        start()
        state.withLock { $0.wasStartedAtOnce = true }
    }

    /// Starts it; what is ending starts again once it has ended.
    ///
    /// - Parameters:
    ///   - keepsCounts: Whether what was counted until now belongs to this start.
    ///   - isAgain: Whether it has just ended, and starts only where that was asked for meanwhile.
    private func begin(keepsCounts: Bool, isAgain: Bool = false) {
        let stop = StopSignal()
        let isNew = state.withLock { state in
            guard state.task == nil else {
                if state.isEnding { state.startsAgain = true }
                return false
            }
            if isAgain, !state.startsAgain { return false }
            state.begin(stop, keepsCounts: keepsCounts)
            // Before the task, which may end before this returns.
            RunningTable.shared.add(self)
            // The task holds the replication while it runs, so an app need not.
            state.task = Task { await self.supervise(stop) }
            return true
        }
        guard isNew else { return }
        if case .url = remote { NetworkWatch.start() }
        Log.replication.info("Started the \(description).")
    }

    /// Runs it to its end: starts it unless it runs already, waits until it ends, and returns what it has done.
    ///
    /// ```swift
    /// let summary = try await database.makePushReplication(to: url).run()
    /// print(summary.transferred, "documents transferred")
    /// ```
    ///
    /// This is the call for one-shot replications. A continuous one ends only by `stop()`, so this waits until then.
    /// Documents that the target refuses are no error: `refused` and `documentErrors` of the summary tell of them, and
    /// the rest goes on. Cancelling the calling task stops the replication.
    ///
    /// - Returns: What was done since it was started.
    /// - Throws: `ReplicationError`: the error that ended it, for example with code `.unauthorized`, `.unreachable`,
    ///   `.notFound` or `.invalidSetting`, or with code `.cancelled` when a one-shot replication was stopped before it
    ///   was done; `CancellationError` when the calling task was cancelled.
    @discardableResult
    public func run() async throws -> ReplicationSummary {
        // One that was started as it was made may have ended already: its counts are part of the answer.
        let keepsCounts = state.withLock { state in
            defer { state.wasStartedAtOnce = false }
            return state.wasStartedAtOnce
        }
        // One that was told to stop is not the one that is meant.
        await state.withLock { $0.patience == nil ? nil : $0.task }?.value
        begin(keepsCounts: keepsCounts)
        await withTaskCancellationHandler {
            await waitUntilEnded()
        } onCancel: {
            stop()
        }
        try Task.checkCancellation()
        let (failure, wasStopped, summary) = state.withLock {
            ($0.failure, $0.wasStopped, $0.summary)
        }
        if let failure { throw failure }
        guard settings.isContinuous || !wasStopped else {
            throw ReplicationError(
                .cancelled, "The \(description) was stopped before it was done; run it again.")
        }
        return summary
    }

    /// Begins to end it, and returns at once; see `stopAndWait()`.
    ///
    /// What is being stored is still stored, and a last checkpoint saved, for as long as `timeToStop` at most.
    public func stop() { stop(suspending: false) }

    /// Begins to end it, and notes with that whether it is to be resumed: a call of `resume()` comes before or after both.
    ///
    /// - Returns: The task that ends; nil where it did not run.
    @discardableResult
    private func stop(suspending: Bool) -> Task<Void, Never>? {
        let (stop, ending) = state.withLock { state -> (StopSignal?, Task<Void, Never>?) in
            state.startsAgain = false
            guard let task = state.task else { return (nil, nil) }
            if suspending { state.isSuspended = true }
            if state.patience == nil {
                state.patience = Task { [settings] in
                    guard (try? await Task.sleep(for: settings.timeToStop.bounded)) != nil else {
                        return
                    }
                    task.cancel()
                }
            }
            return (state.stop, task)
        }
        stop?.give()
        if ending != nil { wakeUp.withLock { $0 }.give() }
        return ending
    }

    /// Ends it, as `stop()` does, and waits until it has ended. Cancelling the calling task does not shorten the
    /// wait: what is being stored is stored first.
    public func stopAndWait() async { await stop(suspending: false)?.value }

    /// Waits until it ends: a one-shot replication by itself, a continuous one by a call of `stop()`.
    ///
    /// It neither starts nor stops anything, and returns at once when it does not run. `failure` and `summary` then tell
    /// what came of it. Cancelling the calling task neither stops the replication nor ends the wait; see `run()`.
    public func waitUntilEnded() async {
        let task = state.withLock { $0.task }
        await task?.value
    }

    /// Stops it, waits until it has ended, and starts it again, also when the calling task is cancelled meanwhile.
    public func restart() async {
        await stopAndWait()
        start()
    }

    /// Whether it was suspended; see `suspend()`.
    public var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Ends all traffic until `resume()`, and waits until it has ended; for an app that is put to sleep. Its status is
    /// then offline. Does nothing while it does not run. Cancelling the calling task does not shorten the wait.
    public func suspend() async {
        guard let ending = stop(suspending: true) else { return }
        await ending.value
        let isSuspended = state.withLock { state in
            // It was resumed meanwhile.
            guard state.isSuspended, state.task == nil else { return false }
            state.status.activity = .offline
            return true
        }
        if isSuspended { statusFollowers.tell(status) }
    }

    /// Starts it again after `suspend()`, also while that is still waiting; does nothing unless it is suspended.
    public func resume() {
        let wasSuspended = state.withLock { state in
            defer { state.isSuspended = false }
            return state.isSuspended
        }
        if wasSuspended { start() }
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
    /// The error that ended it; nil while it runs, and when it ended well or was stopped. Documents that are refused end
    /// nothing.
    public var failure: ReplicationError? { state.withLock { $0.failure } }
    /// What it has done since it was started.
    public var summary: ReplicationSummary { state.withLock { $0.summary } }
    /// How many documents were transferred since it was last idle.
    public var completedChangesCount: Int { status.transferred }
    /// How many documents are to be transferred in all since it was last idle, as far as it is known; 0 while nothing
    /// is known. The ratio of both counts is its progress.
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
        -> ListenerToken
    {
        statusFollowers.add(listener)
    }

    /// Calls a closure with what becomes of each revision, one call at a time.
    public func addDocumentListener(_ listener: @escaping @Sendable (ReplicatedDocument) -> Void)
        -> ListenerToken
    {
        documentFollowers.add(listener)
    }

    // MARK: - From the supervisor

    /// Tells that it begins. The task that does the work does so before anything else, so that no listener
    /// hears of what comes later first.
    func tellBeginning() { statusFollowers.tell(status) }

    /// Changes the status, and tells when it differs.
    func update(_ change: (inout ReplicationStatus) -> Void) {
        let (new, isNews) = state.withLock { state in
            let old = state.status
            change(&state.status)
            return (
                state.status,
                !old.tellsTheSame(as: state.status)
            )
        }
        if isNews { statusFollowers.tell(new) }
    }

    /// Takes the progress of a run.
    func take(_ progress: ReplicationRun.Progress) {
        let (recent, isBackToIdle) = state.withLock { state in
            state.counts.take(progress)
            state.report = progress.report
            return (state.counts.recent, progress.isIdle && state.status.activity != .idle)
        }
        if isBackToIdle { settleErrors() }
        update { status in
            status.activity = progress.isIdle ? .idle : .active
            status.examined = recent.examined
            status.transferred = recent.transferred
            status.refused = recent.refused
            status.total = recent.transferred + progress.wanted
            status.pending = progress.pending
        }
    }

    /// Notes that a new run begins, which counts from zero and tells again of documents that fail.
    func beginRun() {
        state.withLock { state in
            state.runs += 1
            state.counts.beginRun()
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
        let (hasChanged, newest, refused) = state.withLock { state in
            var hasChanged = false
            for report in reports {
                if report.isRefusal { state.counts.refuse(report.id) }
                if state.documentErrors.take(report) { hasChanged = true }
            }
            return (hasChanged, state.documentErrors.newest, state.counts.recent.refused)
        }
        if hasChanged {
            update { status in
                status.error = newest
                status.refused = refused
            }
        }
        for report in reports {
            if let error = report.error {
                Log.replication.info("In the \(description): \(Log.words(of: error))")
            }
            documentFollowers.tell(
                ReplicatedDocument(
                    id: report.id, revisionID: report.revision,
                    isDeleted: report.isDeleted, isAccessRemoved: report.isAccessRemoved,
                    isPush: direction == .push, error: report.error))
        }
    }

    /// Takes what the resolver has made of a conflict: nil, or why it is still there.
    func takeConflict(of id: DocumentID, _ error: ReplicationError?) {
        if let error { return take([ReplicationEngine.Report(id: id, error: error)]) }
        let (hasChanged, newest) = state.withLock { state in
            (state.documentErrors.resolved(id), state.documentErrors.newest)
        }
        if hasChanged { update { $0.error = newest } }
    }

    private var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Notes that it has ended.
    func end(_ error: ReplicationError?) {
        Log.replication.info(
            "Ended the \(description)\(error.map { ": \($0.logged)" } ?? ".")")
        RunningTable.shared.remove(self)
        state.withLock { state in
            state.isOver = true
            state.failure = error
            state.wasStopped = state.stop?.isGiven ?? false
        }
        update { status in
            status.activity = .stopped
            status.nextTry = nil
            if let error { status.error = error }
        }
        state.withLock { state in
            state.patience?.cancel()
            state.patience = nil
            state.task = nil
            state.stop = nil
            state.hasEnded = true
        }
        statusFollowers.finish()
        documentFollowers.finish()
        begin(keepsCounts: false, isAgain: true)
    }

    /// What a server tells of it.
    package var report: ReplicationReport { state.withLock { $0.report } }
    /// How many conversations with the other end have begun: another one after each failure.
    package var runCount: Int { state.withLock { $0.runs } }
}

extension Replication: CustomStringConvertible {
    /// Which way, and between what; without credentials.
    public var description: String {
        direction == .push
            ? "push of '\(database.name)' to '\(remote)'"
            : "pull of '\(database.name)' from '\(remote)'"
    }
}
