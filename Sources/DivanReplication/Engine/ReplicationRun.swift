// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// One conversation with the other end, from reading the checkpoints to its end.
///
/// It drives an engine: each action is a child task, each finished task an event. The engine is a local
/// variable of one loop, so nothing is shared. When a request fails, the others are cancelled and the
/// error is thrown; what was done by then is not lost, and the next run goes on after the last
/// checkpoint.
package struct ReplicationRun: Sendable {
    /// How far a run has come.
    package struct Progress: Sendable, Equatable {
        /// Changes that were compared with the target.
        package var examined = 0
        /// Documents that the target lacked, and has now.
        package var transferred = 0
        /// Documents that the target is known to lack, and that are on their way.
        package var wanted = 0
        /// Changes that are still to be compared, as far as they are known of.
        package var pending = 0
        /// Revisions that the target has taken.
        package var stored = 0
        /// The checkpoint that this run has saved last.
        package var saved: RemoteSequence?
        /// Whether it waits for changes.
        package var isIdle = false
        /// What a server tells of it.
        package var report = ReplicationReport()
    }

    let worker: ReplicationWorker
    let isContinuous: Bool
    var limits = ReplicationEngine.Limits()
    /// Whether to begin at the beginning, whatever the checkpoint says.
    var isResetting = false
    /// Where to begin when there is no checkpoint; nil for the beginning.
    var startingSequence: RemoteSequence?
    /// What was counted before it.
    var counted = RevisionCounts()
    /// How often a checkpoint is due.
    var checkpointInterval = Duration.seconds(5)
    /// How long after it was offered last something that is postponed is offered again.
    var postponement = Duration.seconds(600)
    var clock: any Clock<Duration> = ContinuousClock()

    /// Runs to the end of the feed, or until it is told to stop.
    ///
    /// - Parameters:
    ///   - stop: Ends the run early, with a last checkpoint.
    ///   - start: Where the source stands, when the target is empty: up to there deleted documents may be left out.
    ///   - follow: Gets progress and reports, one call at a time.
    /// - Throws: `ReplicationError`, `CancellationError`.
    func run(
        until stop: StopSignal, activeOnlyUpTo start: RemoteSequence? = nil,
        follow: @escaping @Sendable (Progress, [ReplicationEngine.Report]) -> Void
    ) async throws {
        let since = try await worker.keeper.load(
            resetting: isResetting, otherwise: startingSequence, counted: counted)
        let counted = await worker.keeper.counted
        var engine = ReplicationEngine(
            since: since, isContinuous: isContinuous, activeOnlyUpTo: since == nil ? start : nil,
            limits: limits)
        let (worker, clock) = (worker, clock)
        let interval = max(.milliseconds(10), checkpointInterval.bounded)
        try await withThrowingTaskGroup(of: ReplicationEngine.Event?.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                await stop.wait()
                return .stop
            }
            func startTimer() {
                group.addTask {
                    try await clock.sleep(for: interval)
                    return .timer
                }
            }
            startTimer()
            var actions = engine.start()
            var offered: ContinuousClock.Instant?
            while true {
                for action in actions {
                    if case .finish(let failure) = action {
                        follow(Self.progress(of: engine, counted), engine.takeReports())
                        try await worker.finish()
                        try await worker.keeper.savePostponed()
                        if let failure { throw failure }
                        return
                    }
                    group.addTask { try await worker.perform(action) }
                }
                guard let next = try await group.next() else { return }
                guard let event = next else { continue }
                if case .timer = event { startTimer() }
                actions = offers(at: event, after: &offered).flatMap { engine.handle(.offer($0)) }
                actions += engine.handle(event)
                follow(Self.progress(of: engine, counted), engine.takeReports())
            }
        }
    }

    /// What is postponed, where it is to be offered: with the first page, which may tell that something newer has taken its
    /// place, and now and then.
    private func offers(
        at event: ReplicationEngine.Event, after last: inout ContinuousClock.Instant?
    ) -> [[PeerChange]] {
        let isDue =
            switch event {
            case .page: last == nil
            case .timer:
                isContinuous && last.map { $0.duration(to: .now) >= postponement } ?? false
            default: false
            }
        guard isDue else { return [] }
        last = .now
        return [worker.keeper.postponed.offers()]
    }

    private static func progress(of engine: ReplicationEngine, _ counted: RevisionCounts)
        -> Progress
    {
        Progress(
            examined: engine.examined, transferred: engine.transferred,
            wanted: engine.wantedDocuments, pending: engine.unexamined,
            stored: engine.counts.written, saved: engine.hasSaved ? engine.saved : nil,
            isIdle: engine.isIdle,
            report: ReplicationReport(
                counts: counted + engine.counts, read: engine.readPosition, safe: engine.safe,
                checkpointed: engine.saved))
    }
}

/// Tells a run once that it is to end.
struct StopSignal: Sendable {
    private let signal = CountedSignal()

    /// Whether it was given.
    var isGiven: Bool { signal.count > 0 }

    /// Gives the signal; once is enough.
    func give() { signal.send() }

    /// Waits until it is given, or the task is cancelled.
    func wait() async { await signal.wait(after: 0) }
}
