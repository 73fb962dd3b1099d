// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// The connections that read: each is used by one thread at a time, several at once.
///
/// A connection is opened when all others are in use, up to a limit, and kept for the next reader.
/// Beyond the limit readers wait for one to come back. A thread that already has one gets the same
/// again, so a read inside a read sees the same snapshot and can never wait for itself.
///
/// State and its guards: everything is in `state`, under its mutex, which is held for a few
/// instructions and never while a connection is opened, used or closed. `permits` counts what may
/// still be borrowed; it is taken before the mutex, never under it.
final class ReaderPool: Sendable {
    // Safe because a loan's transaction is used only by the thread that borrowed it: it is idle while
    // its owner is 0, and owners change under the mutex. Only `interrupt()` is called from other threads.
    private struct Loan: @unchecked Sendable {
        let transaction: SQLiteTransaction
        var owner: UInt
    }

    private struct State: Sendable {
        var loans: [Loan] = []
        /// The connections that are being opened.
        var opening = 0
        var isClosed = false
        var isSuspended = false
    }

    private let state = Mutex(State())
    private let permits: DispatchSemaphore
    private let limit: Int
    private let open: @Sendable (_ others: Int) throws -> SQLiteTransaction

    /// Makes a pool.
    ///
    /// - Parameters:
    ///   - limit: The most connections in use at a time.
    ///   - open: Makes a connection; it is told how many others there are.
    init(limit: Int, open: @escaping @Sendable (_ others: Int) throws -> SQLiteTransaction) {
        self.limit = max(limit, 1)
        self.open = open
        permits = DispatchSemaphore(value: self.limit)
    }

    /// Runs `body` with a connection of the calling thread's own.
    ///
    /// - Parameter body: Also receives whether it is the outermost use by this thread.
    /// - Throws: what `body` and opening throw; `.closed` after `close`.
    func withTransaction(
        _ body: (_ transaction: SQLiteTransaction, _ isOutermost: Bool) throws -> Void
    ) throws {
        let me = ThreadIdentity.current
        if let mine = loan(of: me) {
            return try body(mine.transaction, false)
        }
        permits.wait()
        defer { permits.signal() }
        let loan = try borrow(for: me)
        defer { giveBack(from: me) }
        try body(loan.transaction, true)
    }

    /// Whether the calling thread is inside a use.
    var isUsedByCurrentThread: Bool { loan(of: ThreadIdentity.current) != nil }

    /// Calls `body` with every connection in use, whichever thread uses it.
    func forEachBusy(_ body: (SQLiteTransaction) -> Void) {
        state.withLock { state in
            for loan in state.loans where loan.owner != 0 {
                body(loan.transaction)
            }
        }
    }

    /// Waits until nothing is in use and closes every connection. Later uses throw `.closed`.
    ///
    /// Called from inside a use, it waits for those of other threads only, since this thread's own
    /// cannot end before `close` returns. That use goes on, as do uses inside it, and its connection
    /// closes when it ends. Only one thread may close a pool.
    func close() {
        state.withLock { $0.isClosed = true }
        dropAll()
    }

    /// Waits until nothing is in use and closes every connection. Uses throw `.suspended` until
    /// `resume()`.
    ///
    /// - Parameter interrupt: Stops what is in use, which could take long to end by itself.
    /// - Throws: `.misuse` inside a use by this thread, which would have to wait for itself.
    func suspend(interrupt: () -> Void) throws(StorageError) {
        guard !isUsedByCurrentThread else {
            throw StorageError.misuse("suspend() was called inside a read.")
        }
        state.withLock { $0.isSuspended = true }
        interrupt()
        dropAll()
    }

    /// Allows uses again after `suspend()`.
    func resume() {
        state.withLock { $0.isSuspended = false }
    }

    /// Waits for the uses of other threads and closes what they used.
    private func dropAll() {
        let others = isUsedByCurrentThread ? limit - 1 : limit
        for _ in 0..<others {
            permits.wait()
        }
        let dropped = state.withLock { state in
            let idle = state.loans.filter { $0.owner == 0 }
            state.loans.removeAll { $0.owner == 0 }
            return idle
        }
        for _ in 0..<others {
            permits.signal()
        }
        withExtendedLifetime(dropped) {}
    }

    private func loan(of thread: UInt) -> Loan? {
        state.withLock { state in
            for loan in state.loans where loan.owner == thread {
                return loan
            }
            return nil
        }
    }

    /// Takes an idle connection or opens one. Called with a permit.
    private func borrow(for thread: UInt) throws -> Loan {
        let others: Int
        switch try choose(for: thread) {
        case .idle(let loan): return loan
        case .new(let count): others = count
        }
        let transaction = Result { try open(others) }
        return try state.withLock { state in
            state.opening -= 1
            let loan = Loan(transaction: try transaction.get(), owner: thread)
            state.loans.append(loan)
            return loan
        }
    }

    private enum Choice: Sendable {
        case idle(Loan)
        case new(others: Int)
    }

    /// Takes an idle connection, or tells that one is to be opened.
    private func choose(for thread: UInt) throws -> Choice {
        try state.withLock { state in
            if state.isClosed {
                throw StorageError.closed()
            }
            if state.isSuspended {
                throw StorageError.suspended()
            }
            for position in state.loans.indices where state.loans[position].owner == 0 {
                state.loans[position].owner = thread
                return .idle(state.loans[position])
            }
            defer { state.opening += 1 }
            return .new(others: state.loans.count + state.opening)
        }
    }

    private func giveBack(from thread: UInt) {
        let dropped: Loan? = state.withLock { state in
            guard let position = state.loans.firstIndex(where: { $0.owner == thread }) else {
                return nil
            }
            if state.isClosed {
                return state.loans.remove(at: position)
            }
            state.loans[position].owner = 0
            return nil
        }
        withExtendedLifetime(dropped) {}
    }
}
