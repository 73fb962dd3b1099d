// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// Purges the documents of one database when their time comes.
///
///     open ──► next row? ──none──► every 5 s: was anything committed? then next row?
///                 │ a date
///                 ▼
///     ┌──► timer, by the wall clock ──► pass ──► next row? ──► timer …
///     │                                             └─ none ──► as above
///     └─ an earlier date was set: here (after the commit), or in another process (`changes` rings)
///
/// There is one timer a database and it stands at the first row of `expirations`, so nothing is polled
/// and a million dates cost as much as one. It follows the wall clock: when that is set forward, what
/// is due by then is purged at once. However far the date, the timer is never set for more than a
/// week; it looks again then, so no number of milliseconds overflows anywhere.
///
/// While there is no date, another process may set the first one. Watching every commit for that would
/// cost too much. So the timer reads the times of the file `changes` every five seconds, which costs a
/// microsecond, and the database only when they have changed.
///
/// A pass that fails (the disk is full, another process writes for long) is tried again after a second,
/// and then after twice as long each time, up to five minutes. Damage is not tried again: rows that cannot be
/// read are passed over, and documents that cannot be purged are looked at with the next date.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of 2 and 3, and the first by the queue itself: `ExpirationTimerRandomTests`
/// call it.
///
/// 1. Passes and looks run on `queue`, one at a time.
/// 2. While something can expire and this is not stopped, the timer is set for the first row behind
///    the last pass that can be read, or a look at it is on its way (`isLooking`).
/// 3. The database is held while it is open, and let go of by `stop`, which closing calls. The timer's
///    closures hold this weakly.
///
/// State: `state`, guarded by its mutex; never held while the database is read or written.
package final class ExpirationTimer: Sendable {
    private struct State {
        /// Nil before `start` and after `stop`.
        var core: DatabaseCore?
        var clock: @Sendable () -> ExpirationTime = { .now }
        var source: (any DispatchSourceTimer)?
        var deadline: ExpirationTime?
        var watcher: FileWatcher?
        /// Whether a look at the first row is on its way to the queue.
        var isLooking = false
        var isStopped = true
        /// Passes that have failed in a row.
        var failures = 0
        /// While there is no date: the timer that asks whether anything was committed.
        var idleTimer: (any DispatchSourceTimer)?
        /// The stamp of `changes` when it was last asked for.
        var stamp: Files.Stamp?
        /// How often this must still look at the database for that stamp.
        var idleLooks = 0
    }

    private static let longestWait = 7 * 24 * 3_600 * 1_000
    /// How long the commits of other processes are collected before they are looked into.
    private static let foreignDelay = DispatchTimeInterval.seconds(1)

    private static let idleInterval = DispatchTimeInterval.seconds(5)

    private let queue: DispatchQueue
    private let state = Mutex(State())

    init(name: String) { queue = DispatchQueue(label: "divan.expiration.\(name)") }

    /// Begins with a core that was just opened, and catches up with what expired meanwhile.
    ///
    /// Without any date this costs one look for the first row. Damage there does not prevent the opening.
    func start(_ core: DatabaseCore) {
        state.withLock { state in
            state.core = core
            state.isStopped = false
        }
        // Closing may have come first, and then only this releases the core.
        guard !core.isClosed else { return stop() }
        do {
            let next = try core.read { try $0.nextExpiration(damage: core.log) }
            arm(at: next?.time)
        } catch {
            Log.expiration.error(
                "The dates of expiration of the database '\(core.name)' cannot be read: \(error)")
            retry(core, error)
        }
    }

    /// Ends for good, or until `start`. A pass that runs ends with its batch.
    package func stop() {
        let core = state.withLock { state in
            state.isStopped = true
            Self.disarm(&state)
            defer { state.core = nil }
            return state.core
        }
        // The closing thread holds the core, too: it must not be released under the lock.
        withExtendedLifetime(core) {}
    }

    /// Says that a date was committed in this process.
    func noteExpiration(_ time: ExpirationTime) {
        let isEarlier = state.withLock { state in state.deadline.map { time < $0 } ?? true }
        if isEarlier { look(after: nil) }
    }

    /// Takes another clock, for tests; its time passes as fast as it likes.
    func setClock(_ clock: @escaping @Sendable () -> ExpirationTime) {
        state.withLock { $0.clock = clock }
        look(after: nil)
    }

    var now: ExpirationTime { state.withLock { $0.clock }() }

    /// When the timer is set for; for tests.
    var deadline: ExpirationTime? { state.withLock { $0.deadline } }

    /// Stops the program where an invariant does not hold; for tests, while no other thread writes.
    func checkInvariants() {
        // Behind the passes and looks that are on their way.
        queue.sync {
            let core = state.withLock { state in
                precondition((state.core == nil) == state.isStopped, "invariant 3")
                precondition(!state.isStopped || state.deadline == nil, "invariant 2")
                precondition((state.source == nil) == (state.deadline == nil), "invariant 2")
                precondition(state.watcher == nil || state.source != nil, "invariant 2")
                precondition(state.idleTimer == nil || state.source == nil, "invariant 2")
                precondition(!state.isStopped || state.idleTimer == nil, "invariant 2")
                return state.isLooking ? nil : state.core
            }
            guard let core, let first = try? core.read({ try $0.nextExpiration() }) else { return }
            let isSet = state.withLock { state in
                state.isLooking || state.deadline.map { $0 <= first.time } ?? false
            }
            precondition(isSet, "invariant 2")
        }
    }

    // MARK: - On the queue

    /// Sets the timer anew from what the database says, soon.
    private func look(after delay: DispatchTimeInterval?) {
        let isNew = state.withLock { state in
            guard !state.isLooking, !state.isStopped else { return false }
            state.isLooking = true
            return true
        }
        guard isNew else { return }
        let body: @Sendable () -> Void = { [weak self] in
            self?.state.withLock { $0.isLooking = false }
            self?.fire()
        }
        if let delay {
            queue.asyncAfter(deadline: .now() + delay, execute: body)
        } else {
            queue.async(execute: body)
        }
    }

    /// Purges what is due and sets the timer for what is next.
    private func fire() {
        guard let core = state.withLock({ $0.isStopped ? nil : $0.core }) else { return }
        let now = now
        do {
            _ = try ExpirationPass(core: core, now: now) { [weak self] _ in
                guard self?.state.withLock({ !$0.isStopped }) ?? false else {
                    throw CancellationError()
                }
            }.run()
            try armForNext(core, after: now)
        } catch let error as DatabaseError where error.code == .corrupted {
            // All else was purged, and the log has the rest, which would fail again.
            do { try armForNext(core, after: now) } catch { retry(core, error) }
        } catch {
            retry(core, error)
        }
    }

    /// Sets the timer for the first row that the pass at `now` did not look at.
    private func armForNext(_ core: DatabaseCore, after now: ExpirationTime) throws {
        var next: ExpirationTime?
        try core.read { snapshot in
            // The pass has reported them.
            try snapshot.forEachExpiration(damage: { _ in }) { key in
                next = key.time > now ? key.time : nil
                return next == nil
            }
        }
        // Only now: where even this fails, the next try waits longer than the last.
        state.withLock { $0.failures = 0 }
        arm(at: next)
    }

    private func retry(_ core: DatabaseCore, _ error: any Error) {
        guard !core.isClosed, !core.suspension.isOn, !(error is CancellationError) else { return }
        let failures = state.withLock { state in
            state.failures += 1
            return state.failures
        }
        let seconds = min(300, 1 << min(failures - 1, 9))
        Log.expiration.warning(
            "Expired documents of the database '\(core.name)' could not be purged; it will be tried "
                + "again in \(Duration.seconds(seconds).words): \(error)")
        arm(at: now.advanced(byMilliseconds: UInt64(seconds) * 1_000))
    }

    // MARK: - The timer

    /// Sets the timer; with nil there is none.
    private func arm(at time: ExpirationTime?) {
        state.withLock { state in
            guard !state.isStopped, let time else {
                Self.disarm(&state)
                return idle(&state)
            }
            state.idleTimer?.cancel()
            state.idleTimer = nil
            state.deadline = time
            let now = state.clock()
            let wait = time <= now ? 0 : Int(time.milliseconds - now.milliseconds)
            let source = state.source ?? makeSource(&state)
            source.schedule(
                wallDeadline: .now() + .milliseconds(min(wait, Self.longestWait)),
                leeway: .milliseconds(50))
            if state.watcher == nil, let directory = state.core?.directory {
                let watcher = FileWatcher(directory.changesPath)
                state.watcher = watcher
                watcher.start(on: queue) { [weak self] in self?.look(after: Self.foreignDelay) }
            }
        }
    }

    private func makeSource(_ state: inout State) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [weak self] in self?.fire() }
        // The first deadline comes before anything can fire.
        source.schedule(wallDeadline: .distantFuture)
        source.resume()
        state.source = source
        return source
    }

    /// Begins to ask every now and then whether another process has set a first date.
    private func idle(_ state: inout State) {
        guard !state.isStopped, state.core?.directory != nil else { return }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(
            deadline: .now() + Self.idleInterval, repeating: Self.idleInterval,
            leeway: .seconds(1))
        timer.setEventHandler { [weak self] in self?.lookIdly() }
        timer.resume()
        state.idleTimer = timer
        state.stamp = nil
    }

    /// Looks for a first date, if anything was committed since the last time.
    private func lookIdly() {
        guard let core = state.withLock({ $0.isStopped ? nil : $0.core }),
            let path = core.directory?.changesPath
        else { return }
        let stamp = Files.stamp(of: path)
        let mustLook = state.withLock { state in
            guard !state.isStopped, state.deadline == nil else { return false }
            // Twice, for the clock of a file may stand still between two commits.
            if stamp != state.stamp { state.idleLooks = 2 }
            state.stamp = stamp
            guard state.idleLooks > 0 else { return false }
            state.idleLooks -= 1
            return true
        }
        guard mustLook else { return }
        do {
            if let next = try core.read({ try $0.nextExpiration() }) { arm(at: next.time) }
        } catch {
            // Damage of the file is logged by now. This tries again after the next commit.
            Log.expiration.verbose(
                "The dates of expiration of the database '\(core.name)' cannot be read: \(error)")
        }
    }

    private static func disarm(_ state: inout State) {
        state.idleTimer?.cancel()
        state.idleTimer = nil
        state.source?.cancel()
        state.source = nil
        state.deadline = nil
        state.watcher?.stop()
        state.watcher = nil
    }
}
