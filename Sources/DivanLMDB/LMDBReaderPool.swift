// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// The read transactions of one environment: each is used by one thread at a time, several at once.
///
/// A transaction that has ended is kept and renewed for the next reader, since making one costs ten
/// times as much and each needs a place in LMDB's table of readers. Beyond a limit readers wait for one
/// to come back. A thread that already has one gets the same again, so a read inside a read sees the
/// same snapshot and can never wait for itself.
///
/// The pool can be *paused*: then no reader begins. When the running readers have ended, no thread
/// looks at the mapped file, so it may be mapped anew or replaced.
///
/// A transaction that never began, since its engine was closed or the file could not be read, is not kept:
/// it would keep the environment, which keeps this pool, alive for ever.
///
/// State and its guards: everything is in `state`, under its mutex, which is held for a few
/// instructions; one taking of it lends a transaction, another gives it back. Threads wait in three semaphores:
///
///     freed      readers beyond the limit         each loan that comes back wakes one
///     resumed    readers while it is paused       `resume()` wakes as many as `held` counts
///     drained    the thread that has paused it    the last loan that comes back wakes it
final class LMDBReaderPool: Sendable {
    // Safe because a loan's transaction is used only by the thread that borrowed it: it is idle while
    // its owner is 0, and owners change under the mutex. Only `interrupt()` is called from other threads.
    private struct Loan: @unchecked Sendable {
        let transaction: LMDBTransaction
        var owner: UInt
    }

    private struct State: Sendable {
        var loans: [Loan] = []
        var isPaused = false
        /// The loans that have an owner.
        var used = 0
        /// The threads that wait in `freed` for a loan to come back.
        var waiting = 0
        /// The threads that wait in `resumed` for the end of a pause.
        var held = 0

        mutating func lend(
            to thread: UInt, _ limit: Int, _ make: () -> LMDBTransaction, _ enter: () throws -> Void
        ) throws -> Answer {
            var idle: Int?
            for position in loans.indices {
                let owner = loans[position].owner
                if owner == thread {
                    return .lent(loans[position], isOutermost: false)
                }
                if owner == 0, idle == nil { idle = position }
            }
            if isPaused {
                held += 1
                return .isPaused
            }
            guard used < limit else {
                waiting += 1
                return .isExhausted
            }
            try enter()
            used += 1
            if let idle {
                loans[idle].owner = thread
                return .lent(loans[idle], isOutermost: true)
            }
            let made = Loan(transaction: make(), owner: thread)
            loans.append(made)
            return .lent(made, isOutermost: true)
        }

        /// Takes a loan back; returns which threads to wake.
        mutating func takeBack(from thread: UInt) -> Wake {
            guard let position = loans.firstIndex(where: { $0.owner == thread }) else {
                return Wake()
            }
            loans[position].owner = 0
            used -= 1
            if !loans[position].transaction.isKept {
                loans.remove(at: position)
            }
            let wake = Wake(reader: waiting > 0, pauser: isPaused && used == 0)
            if wake.reader { waiting -= 1 }
            return wake
        }
    }

    /// Which threads a loan wakes as it comes back.
    private struct Wake: Sendable {
        /// One that waits for a loan.
        var reader = false
        /// The one that has paused the pool.
        var pauser = false
    }

    private let state = Mutex(State())
    private let freed = DispatchSemaphore(value: 0)
    private let resumed = DispatchSemaphore(value: 0)
    private let drained = DispatchSemaphore(value: 0)
    private let limit: Int

    /// Makes a pool; `limit` is the most transactions in use at a time.
    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Runs `body` with a transaction of the calling thread's own, which has not begun if it is the
    /// outermost use by this thread.
    ///
    /// - Parameters:
    ///   - make: Makes a transaction when all are in use.
    ///   - enter: Called before the outermost use, under the pool's mutex: nothing is lent when it throws.
    ///   - body: What to do with it.
    /// - Throws: what `enter` and `body` throw.
    func withTransaction(
        making make: () -> LMDBTransaction, entering enter: () throws -> Void,
        _ body: (_ transaction: LMDBTransaction, _ isOutermost: Bool) throws -> Void
    ) throws {
        let me = ThreadIdentity.current
        let (transaction, isOutermost) = try borrow(for: me, make, enter)
        guard isOutermost else {
            return try body(transaction, false)
        }
        defer { giveBack(from: me) }
        try body(transaction, true)
    }

    /// How many transactions the pool has, in use and idle.
    var count: Int { state.withLock { $0.loans.count } }

    /// How many readers wait for the end of a pause.
    var heldCount: Int { state.withLock { $0.held } }

    /// Whether any thread is inside a use.
    var isUsed: Bool { state.withLock { $0.used > 0 } }

    /// Whether the calling thread is inside a use.
    var isUsedByCurrentThread: Bool { loan(of: ThreadIdentity.current) != nil }

    /// Stops the reads that are running.
    func interrupt() {
        state.withLock { state in
            for loan in state.loans where loan.owner != 0 {
                loan.transaction.interrupt()
            }
        }
    }

    /// Lets no reader begin and waits for the running ones.
    ///
    /// - Returns: Whether no thread reads now. If not, nothing is paused: a reader has taken longer than
    ///   `patience`, or this thread itself is reading.
    func pause(patience: Duration) -> Bool {
        let me = ThreadIdentity.current
        let isPossible = state.withLock { state in
            if state.isPaused || state.loans.contains(where: { $0.owner == me }) {
                return false
            }
            state.isPaused = true
            return true
        }
        guard isPossible else { return false }
        let deadline = DispatchTime.now() + .nanoseconds(Int(patience / .nanoseconds(1)))
        // An earlier pause that was given up may have left a signal, so it looks again after each.
        while isUsed {
            if drained.wait(timeout: deadline) == .timedOut, isUsed {
                resume()
                return false
            }
        }
        return true
    }

    /// Lets readers begin again.
    func resume() {
        let held = state.withLock { state in
            state.isPaused = false
            defer { state.held = 0 }
            return state.held
        }
        for _ in 0..<held { resumed.signal() }
    }

    /// Discards every transaction that is not in use.
    func removeIdle() {
        let idle = state.withLock { state in
            let idle = state.loans.filter { $0.owner == 0 }
            state.loans.removeAll { $0.owner == 0 }
            return idle
        }
        for loan in idle { loan.transaction.discard() }
    }

    private func loan(of thread: UInt) -> LMDBTransaction? {
        state.withLock { state in
            for loan in state.loans where loan.owner == thread {
                return loan.transaction
            }
            return nil
        }
    }

    private enum Answer: Sendable {
        case lent(Loan, isOutermost: Bool)
        case isPaused, isExhausted
    }

    /// Lends the thread's own transaction, an idle one, or a new one.
    private func borrow(
        for thread: UInt, _ make: () -> LMDBTransaction, _ enter: () throws -> Void
    ) throws -> (LMDBTransaction, isOutermost: Bool) {
        while true {
            let answer = try state.withLock { try $0.lend(to: thread, limit, make, enter) }
            switch answer {
            case .lent(let loan, let isOutermost): return (loan.transaction, isOutermost)
            case .isPaused: resumed.wait()
            case .isExhausted: freed.wait()
            }
        }
    }

    private func giveBack(from thread: UInt) {
        let wake = state.withLock { $0.takeBack(from: thread) }
        if wake.reader { freed.signal() }
        if wake.pauser { drained.signal() }
    }
}
