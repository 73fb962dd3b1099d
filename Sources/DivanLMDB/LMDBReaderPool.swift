// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanStorage
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The read transactions of one environment: each is used by one thread at a time, several at once.
///
/// A transaction that has ended is kept and renewed for the next reader, since making one costs ten
/// times as much and each needs a place in LMDB's table of readers. Beyond a limit readers wait for one
/// to come back. A thread that already has one gets the same again, so a read inside a read sees the
/// same snapshot and can never wait for itself.
///
/// The pool can be *paused*: no reader begins then, and when those that run have ended, nobody looks at
/// the mapped file, so it may be mapped anew or replaced.
///
/// State and its guards: everything is in `state`, under its mutex, which is held for a few
/// instructions. `permits` counts what may still be borrowed; it is taken before the mutex.
final class LMDBReaderPool: Sendable {
    // Safe because a loan's transaction is used only by the thread that borrowed it: it is idle while
    // its owner is 0, and owners change under the mutex. `interrupt()` alone is called from others.
    private struct Loan: @unchecked Sendable {
        let transaction: LMDBTransaction
        var owner: UInt
    }

    private struct State: Sendable {
        var loans: [Loan] = []
        var isPaused = false
    }

    private let state = Mutex(State())
    private let permits: DispatchSemaphore

    /// Makes a pool; `limit` is the most transactions in use at a time.
    init(limit: Int) {
        permits = DispatchSemaphore(value: max(limit, 1))
    }

    /// Runs `body` with a transaction of the calling thread's own, which has not begun if it is the
    /// outermost use by this thread.
    func withTransaction(
        making make: () -> LMDBTransaction,
        _ body: (_ transaction: LMDBTransaction, _ isOutermost: Bool) throws -> Void
    ) throws {
        let me = ThreadIdentity.current
        if let mine = loan(of: me) {
            return try body(mine, false)
        }
        permits.wait()
        defer { permits.signal() }
        let transaction = borrow(for: me, make)
        defer { giveBack(from: me) }
        try body(transaction, true)
    }

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

    /// Lets no reader begin and waits for those that run.
    ///
    /// - Returns: Whether nobody reads now. If not, nothing is paused: somebody has read for longer than
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
        let deadline = ContinuousClock.now + patience
        while state.withLock({ $0.loans.contains { $0.owner != 0 } }) {
            if ContinuousClock.now >= deadline {
                resume()
                return false
            }
            usleep(200)
        }
        return true
    }

    /// Lets readers begin again.
    func resume() {
        state.withLock { $0.isPaused = false }
    }

    /// Lets go of every transaction that nobody uses.
    func removeIdle() {
        let idle = state.withLock { state in
            let idle = state.loans.filter { $0.owner == 0 }
            state.loans.removeAll { $0.owner == 0 }
            return idle
        }
        withExtendedLifetime(idle) {}
    }

    private func loan(of thread: UInt) -> LMDBTransaction? {
        state.withLock { state in
            for loan in state.loans where loan.owner == thread {
                return loan.transaction
            }
            return nil
        }
    }

    /// Takes an idle transaction or makes one. Called with a permit.
    private func borrow(for thread: UInt, _ make: () -> LMDBTransaction) -> LMDBTransaction {
        while true {
            let isPaused: Bool
            var found: LMDBTransaction?
            (isPaused, found) = state.withLock { state -> (Bool, LMDBTransaction?) in
                if state.isPaused {
                    return (true, nil)
                }
                for position in state.loans.indices where state.loans[position].owner == 0 {
                    state.loans[position].owner = thread
                    return (false, state.loans[position].transaction)
                }
                let made = Loan(transaction: make(), owner: thread)
                state.loans.append(made)
                return (false, made.transaction)
            }
            if let taken = found.take() {
                return taken
            }
            if isPaused {
                usleep(100)
            }
        }
    }

    private func giveBack(from thread: UInt) {
        state.withLock { state in
            guard let position = state.loans.firstIndex(where: { $0.owner == thread }) else {
                return
            }
            state.loans[position].owner = 0
        }
    }
}
