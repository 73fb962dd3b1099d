// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanSystem
internal import FoundationEssentials
internal import Synchronization

/// The threads that run the blocking work of tasks.
///
/// Dispatch has a limit of some sixty threads, and does not know what its threads wait for: sixty
/// writes that wait for one long batch would keep every read waiting, too. These threads say when
/// they begin to wait for a writer, and another thread then does the work of one that waits:
///
///     thread 1   save · · waits for the writer's turn · · · ► goes on
///     thread 2   save · · waits · · · · · · · · · · · · · · · · ► goes on
///     …
///     thread 9                a read: runs at once
///
/// A few threads run at first, about as many as the machine has cores. When none has taken new work
/// for a while, one more begins: closures may wait for what is not known here, such as a slow file.
///
/// State: `state`, guarded by its mutex.
///
/// ## Invariants
///
/// `checkInvariants()` tests both.
///
/// 1. A thread is idle, waits for a writer, or runs.
/// 2. While work is queued that no thread is on its way to, no thread is idle, and as many run as may begin at once, or
///    the limit of all threads is reached. A thread that was woken or begins is on its way, and counts as one that runs.
final class BlockingThreads: Sendable {
    static let shared = BlockingThreads()

    private struct State {
        var work = WorkQueue<@Sendable () -> Void>()
        var threads = 0
        /// How many of them wait for a writer.
        var waiting = 0
        /// Those without work; the last to fall asleep is at the end.
        var idle: [DispatchSemaphore] = []
        /// How much work has been taken on; shows that the queue moves.
        var taken = 0
        var hasRelief = false

        var running: Int { threads - waiting - idle.count }
    }

    /// How many threads may run at once without delay.
    private static let quick = max(8, 2 * ProcessInfo.processInfo.activeProcessorCount)
    /// How many threads may run after a while.
    private static let slow = 64
    /// How many threads there may be, including those that wait for a writer.
    private static let most = 512
    /// After how long without movement another thread helps.
    private static let patience = DispatchTimeInterval.milliseconds(50)
    /// How long a thread lives without work.
    private static let idleSeconds = 10.0

    /// A queue of its own, which gets a thread even when all shared ones are busy waiting.
    private static let relief = DispatchQueue(label: "divan.blocking.relief")
    private let state = Mutex(State())

    // MARK: - Work

    /// Runs work on one of the threads, in the order of the calls as far as threads are free.
    func start(_ body: @escaping @Sendable () -> Void) {
        let isNew = state.withLock { state in
            state.work.append(body)
            return staff(&state, upTo: Self.quick)
        }
        if isNew { startThread() }
    }

    /// Finds a thread for queued work: an idle one, or a new one, which the caller has to start.
    private func staff(_ state: inout State, upTo limit: Int) -> Bool {
        guard !state.work.isEmpty else { return false }
        if let sleeper = state.idle.popLast() {
            sleeper.signal()
            return false
        }
        guard state.running < limit, state.threads < Self.most else {
            scheduleRelief(&state)
            return false
        }
        state.threads += 1
        return true
    }

    private func startThread() {
        do { try DetachedThread.start { self.run() } } catch {
            // The system gives no thread: a thread of Dispatch's does the work as soon as there is one.
            DispatchQueue.global().async { self.run() }
        }
    }

    /// The thread of these that runs the code which asks. A task that the code starts inherits it, and runs elsewhere.
    @TaskLocal private static var thread: UInt?

    private func run() {
        let wakeUp = DispatchSemaphore(value: 0)
        Self.$thread.withValue(ThreadIdentity.current) {
            while let body = next(wakeUp) { body() }
        }
    }

    /// The next work for a thread; nil when it should end.
    private func next(_ wakeUp: DispatchSemaphore) -> (@Sendable () -> Void)? {
        while true {
            let (body, isNeeded) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
                guard state.running <= Self.slow else {
                    state.threads -= 1
                    return (nil, false)
                }
                if let body = state.work.popFirst() {
                    state.taken += 1
                    return (body, true)
                }
                state.idle.append(wakeUp)
                return (nil, true)
            }
            if body != nil || !isNeeded { return body }
            guard wakeUp.wait(timeout: .now() + Self.idleSeconds) == .timedOut else { continue }
            let isGone = state.withLock { state in
                guard let index = state.idle.firstIndex(where: { $0 === wakeUp }) else {
                    return false
                }
                state.idle.remove(at: index)
                state.threads -= 1
                return true
            }
            if isGone { return nil }
            // Woken in the same moment: the wake-up is not lost.
            wakeUp.wait()
        }
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        state.withLock { state in
            precondition(state.waiting >= 0 && state.running >= 0, "invariant 1")
            precondition(state.threads <= Self.most, "invariant 1")
            // At most those that run are on their way.
            guard state.work.count > state.running else { return }
            precondition(state.idle.isEmpty, "invariant 2")
            precondition(
                state.running >= Self.quick || state.threads >= Self.most, "invariant 2")
        }
    }

    // MARK: - Waiting

    /// A wait of one of the threads for a writer.
    struct Wait {
        fileprivate let threads: BlockingThreads

        /// Notes that the wait is over.
        func end() { threads.state.withLock { $0.waiting -= 1 } }
    }

    /// Notes that the calling thread begins to wait for a writer, and lets another one work meanwhile;
    /// nil when it is none of these threads.
    static func beginWait() -> Wait? {
        guard thread == ThreadIdentity.current else { return nil }
        let isNew = shared.state.withLock { state in
            state.waiting += 1
            return shared.staff(&state, upTo: quick)
        }
        if isNew { shared.startThread() }
        return Wait(threads: shared)
    }

    // MARK: - Relief

    private func scheduleRelief(_ state: inout State) {
        guard !state.hasRelief, state.running < Self.slow, state.threads < Self.most else { return }
        state.hasRelief = true
        let taken = state.taken
        Self.relief.asyncAfter(deadline: .now() + Self.patience) { self.relieve(since: taken) }
    }

    private func relieve(since taken: Int) {
        let isNew = state.withLock { state in
            state.hasRelief = false
            let isStuck = state.taken == taken
            let isNew = staff(&state, upTo: isStuck ? Self.slow : Self.quick)
            if !state.work.isEmpty { scheduleRelief(&state) }
            return isNew
        }
        if isNew { startThread() }
    }
}
