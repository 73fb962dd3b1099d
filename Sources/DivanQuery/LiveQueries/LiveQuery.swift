// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanDatabase
internal import DivanModel
internal import DivanSystem
public import Observation
internal import Synchronization

/// A query that stays active: it gives its rows at once, and again whenever they have changed.
///
/// ```swift
/// let live = tasks.query(.keys("todo")).live()
/// for try await rows in live { show(rows) }
/// ```
///
/// A live query begins when it is first iterated or listened to, or by ``start()``. It sees every
/// commit: of this program, a replication, another process. A result that equals the one before is not told.
///
///     detect    the hub tells of a commit. The index is brought up to date, which says whose rows
///               changed; where none is in the queried range, that is all
///     fetch     the query runs, in a snapshot
///     compare   equal rows are not told
///     notify    loops and listeners get the newest result, and how it differs from what they had
///
/// It is `Observable`: a view that shows its `rows` is drawn again when they have changed.
///
/// After a quiet time a change is looked at immediately; then the next look comes no sooner than
/// ``interval`` later, twice that for changes from elsewhere. A loop or a listener that is busy gets
/// one result for all that happened meanwhile, and in the end the last one.
///
/// A failure, such as a reduce that throws, ends the loops by being thrown and is in ``lastError``; the
/// live query goes on, and listeners get the next result that succeeds. When a view gets another map
/// function, or is deleted and named again, its live queries follow. They end when the database is
/// closed, and do not keep it open.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of each. When a commit came and which thread looks it does not show:
/// `LiveQueryRandomTests` do.
///
/// 1. What is committed after a look began is in `pending`, and a pending change has a look scheduled
///    or running. So the last change is never missed.
/// 2. Looks run one at a time, on `queue`; only they change `rows`, `failure` and `generation`.
/// 3. `dependency` belongs to the last answer, and is nil when there is none to rely on.
///
/// State: `state`, guarded by its mutex, which is never held while anything is read or called.
public final class LiveQuery<Rows: Sendable>: Sendable {
    enum Phase { case idle, running, ended }

    struct State {
        var source: any LiveSource<Rows>
        var interval: Duration
        var phase = Phase.idle
        /// Changes whenever it begins, stops, or gets another query, so that late work is discarded.
        var epoch = 0
        /// Changes whenever it begins, so that loops end though it has begun again.
        var run = 0
        var followings: [any Sendable] = []
        var pending = LivePending()
        /// The number of the look that is scheduled or running; nil for none.
        var look: Int?
        var nextLook = 0
        var lastLook: ContinuousClock.Instant?
        var dependency: (any LiveDependency)?
        /// Grows with each result or failure that is told.
        var generation = 0
        var rows: Rows?
        var failure: (any Error)?
        /// When a reader was given the rows or the failure last.
        var lastReading = CoarseTime()
        var fetchCount = 0
        var lookCount = 0
        var listeners: [Int: LiveListener<Rows>] = [:]
        var nextListener = 0
    }

    let queue = DispatchQueue(label: "divan.live")
    let signal = CountedSignal()
    let registrar = ObservationRegistrar()
    let state: Mutex<State>

    init(_ source: any LiveSource<Rows>, interval: Duration) {
        state = Mutex(State(source: source, interval: interval))
    }

    // MARK: - Results

    /// The newest rows; nil before the first result.
    ///
    /// What reads them under observation is told when there are others. That does not begin the live query.
    public var rows: Rows? {
        registrar.access(self, keyPath: \.rows)
        return state.withLock { state in
            state.lastReading = .now
            return state.rows
        }
    }

    /// What the last run of the query threw; nil when it succeeded. It can be observed as `rows` can.
    public var lastError: (any Error)? {
        registrar.access(self, keyPath: \.lastError)
        return state.withLock { state in
            state.lastReading = .now
            return state.failure
        }
    }

    /// The least time from one look at changes to the next; 0 looks at each commit. 0.2 seconds
    /// unless given.
    public var interval: Duration {
        get { state.withLock(\.interval) }
        set { state.withLock { $0.interval = newValue } }
    }

    /// Whether it is following changes.
    public var isRunning: Bool { state.withLock { $0.phase == .running } }

    /// How often the query has run.
    var fetchCount: Int { state.withLock(\.fetchCount) }

    /// How often this looked whether the query must run.
    var lookCount: Int { state.withLock(\.lookCount) }

    // MARK: - Life

    /// Begins, unless it has begun or the database is closed.
    public func start() { _ = begin() }

    /// As `start()`; returns the number of the run that goes on now.
    func begin() -> Int {
        let (run, begun) = state.withLock { state -> (Int, (any LiveSource<Rows>, Int)?) in
            guard state.phase == .idle else { return (state.run, nil) }
            state.phase = .running
            state.run += 1
            state.epoch += 1
            return (state.run, (state.source, state.epoch))
        }
        if let (source, epoch) = begun { follow(source, epoch) }
        return run
    }

    /// Stops: loops end, listeners hear no more. It may begin again.
    public func stop() { halt(.idle) }

    /// Ends for good.
    func end() {
        halt(.ended)
        signal.send(closing: true)
    }

    private func halt(_ phase: Phase) {
        // Tokens are released outside the lock: that takes other locks.
        let followings = state.withLock { state -> [any Sendable] in
            guard state.phase != .ended else { return [] }
            state.phase = phase
            state.epoch += 1
            state.pending = LivePending()
            state.dependency = nil
            state.look = nil
            defer { state.followings = [] }
            return state.followings
        }
        _ = followings
        signal.send()
    }

    /// Follows everything that can change the answer, and only then runs the query for the first time.
    func follow(_ source: any LiveSource<Rows>, _ epoch: Int) {
        let hub = source.core.hub.follow { [weak self] event in
            switch event {
            case .changed(let change): self?.note(change)
            case .closed: self?.end()
            }
        }
        let others = source.follow { [weak self] in self?.fetchAgain() }
        let isCurrent = state.withLock { state in
            guard state.epoch == epoch, state.phase == .running else { return false }
            state.followings = others + [hub]
            return true
        }
        if isCurrent { fetchAgain() } else { hub.remove() }
    }

    /// Runs another query from now on.
    func replace(_ source: any LiveSource<Rows>) {
        let (old, isRunning, epoch) = state.withLock { state in
            state.source = source
            state.epoch += 1
            state.dependency = nil
            // What is pending goes with its look: following the new source brings a look at everything.
            state.pending = LivePending()
            state.look = nil
            defer { state.followings = [] }
            return (state.followings, state.phase == .running, state.epoch)
        }
        _ = old
        if isRunning { follow(source, epoch) }
    }
}

extension LiveQuery: Observable {}

extension LiveQuery.State {
    fileprivate func checkInvariants() {
        precondition(pending.isEmpty || look != nil, "invariant 1")
        precondition(look.map { $0 <= nextLook } ?? true, "invariant 1")
        if phase != .running {
            precondition(pending.isEmpty && look == nil && followings.isEmpty, "invariant 1")
            precondition(dependency == nil, "invariant 3")
        }
        precondition(lookCount <= nextLook && fetchCount <= lookCount, "invariant 2")
        precondition(generation > 0 || (rows == nil && failure == nil), "invariant 2")
        precondition(run <= epoch, "invariant 2")
        if dependency != nil { precondition(rows != nil && failure == nil, "invariant 3") }
    }
}

extension LiveQuery {
    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() { state.withLock { $0.checkInvariants() } }
}
