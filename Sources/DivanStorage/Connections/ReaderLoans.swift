// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Which thread has which reader of a pool, and which threads wait: what the pool's mutex guards.
///
/// Each function runs under the mutex, for a few instructions. The invariants are those of `ReaderPool`. This type does not
/// depend on the type of the readers: the engines are in other modules, where generic code is slow.
struct ReaderLoans: Sendable {
    /// A reader of the pool.
    // Safe because only the thread that owns its loan uses it, and owners change under the mutex. What
    // `ReaderPool.forEachLent` calls on it from other threads is made for that.
    struct Pooled: @unchecked Sendable {
        let reader: AnyObject
    }

    /// A place in the pool: a reader, and the thread that has it.
    fileprivate struct Loan: Sendable {
        /// `nil` while the owner makes it.
        var pooled: Pooled?
        /// 0 when the reader is idle.
        var owner: UInt
        var borrower: ObjectIdentifier
        /// Whether the owner was waiting for it and has not looked yet.
        var isNew = false
    }

    private struct Waiter: Sendable {
        let thread: UInt
        let borrower: ObjectIdentifier
        let turn = DispatchSemaphore(value: 0)
    }

    /// A thread that waits for the readers of a borrower to come back, or of all when it pauses the pool.
    struct Drainer: Sendable {
        let thread: UInt
        let borrower: ObjectIdentifier?
        let isDone = DispatchSemaphore(value: 0)

        fileprivate func waits(for loan: Loan) -> Bool {
            loan.owner != 0 && loan.owner != thread
                && (borrower == nil || borrower == loan.borrower)
        }
    }

    /// What a thread gets that asks for a reader.
    enum Answer: Sendable {
        case lent(Pooled, isOutermost: Bool)
        case mustMake(others: Int)
        case mustWait(DispatchSemaphore)
    }

    private let limit: Int
    private var loans: [Loan] = []
    /// The loans that have an owner.
    private(set) var used = 0
    private(set) var isPaused = false
    private var waiters: [Waiter] = []
    private var drainers: [Drainer] = []

    init(limit: Int) { self.limit = limit }

    var count: Int { loans.count }
    var waitingCount: Int { waiters.count }
    var drainingCount: Int { drainers.count }

    func isUsed(by thread: UInt) -> Bool { loans.contains { $0.owner == thread } }

    /// The readers that a borrower has.
    func readers(of borrower: ObjectIdentifier) -> [Pooled] {
        loans.filter { $0.owner != 0 && $0.borrower == borrower }.compactMap(\.pooled)
    }

    // MARK: - Lending

    mutating func lend(
        to thread: UInt, for borrower: ObjectIdentifier, _ admit: () throws -> Void
    ) throws -> Answer {
        var idle: Int?
        for position in loans.indices {
            let owner = loans[position].owner
            if owner == thread { return lendAgain(position) }
            if owner == 0, idle == nil { idle = position }
        }
        try admit()
        guard !isPaused, used < limit else {
            let waiter = Waiter(thread: thread, borrower: borrower)
            waiters.append(waiter)
            return .mustWait(waiter.turn)
        }
        used += 1
        if let idle, let pooled = loans[idle].pooled {
            loans[idle].owner = thread
            loans[idle].borrower = borrower
            return .lent(pooled, isOutermost: true)
        }
        loans.append(Loan(owner: thread, borrower: borrower))
        return .mustMake(others: loans.count - 1)
    }

    /// Lends a thread its own reader: for a read inside a read, or after the thread has waited for it.
    private mutating func lendAgain(_ position: Int) -> Answer {
        let isNew = loans[position].isNew
        loans[position].isNew = false
        guard let pooled = loans[position].pooled else {
            precondition(isNew, "A reader was borrowed by a thread that is making one.")
            return .mustMake(others: loans.count - 1)
        }
        return .lent(pooled, isOutermost: isNew)
    }

    /// Puts a reader into the place that a thread has.
    mutating func put(_ made: Pooled, inPlaceOf thread: UInt) {
        for position in loans.indices where loans[position].owner == thread {
            loans[position].pooled = made
        }
    }

    /// Returns the reader that is not kept, which is to be released outside the mutex.
    mutating func takeBack(from thread: UInt, keeping isKept: Bool) -> Pooled? {
        guard let position = loans.firstIndex(where: { $0.owner == thread }) else { return nil }
        used -= 1
        loans[position].owner = 0
        let forgotten = isKept ? nil : loans.remove(at: position).pooled
        if !waiters.isEmpty || !drainers.isEmpty { wake() }
        return forgotten
    }

    mutating func removeIdle() -> [Pooled] {
        let idle = loans.filter { $0.owner == 0 }
        loans.removeAll { $0.owner == 0 }
        return idle.compactMap(\.pooled)
    }

    /// Wakes the threads that have what they wait for.
    private mutating func wake() {
        serve()
        let loans = loans
        drainers.removeAll { drainer in
            if loans.contains(where: drainer.waits) { return false }
            drainer.isDone.signal()
            return true
        }
    }

    /// Gives free places to the threads that wait, in their order.
    private mutating func serve() {
        let served = isPaused ? 0 : min(limit - used, waiters.count)
        for waiter in waiters.prefix(served) {
            let loan = Loan(owner: waiter.thread, borrower: waiter.borrower, isNew: true)
            if let idle = loans.firstIndex(where: { $0.owner == 0 }) {
                let pooled = loans[idle].pooled
                loans[idle] = loan
                loans[idle].pooled = pooled
            } else {
                loans.append(loan)
            }
            waiter.turn.signal()
        }
        used += served
        waiters.removeFirst(served)
    }

    // MARK: - Pausing and draining

    /// Returns whether the drainer has to wait.
    mutating func drain(_ drainer: Drainer) -> Bool {
        waiters.removeAll { waiter in
            guard waiter.borrower == drainer.borrower else { return false }
            // It asks again, and is refused.
            waiter.turn.signal()
            return true
        }
        return enlist(drainer)
    }

    /// Returns whether the drainer has to wait; `nil` if it cannot pause the pool.
    mutating func pause(_ drainer: Drainer) -> Bool? {
        guard !isPaused, !isUsed(by: drainer.thread) else { return nil }
        isPaused = true
        return enlist(drainer)
    }

    private mutating func enlist(_ drainer: Drainer) -> Bool {
        guard loans.contains(where: drainer.waits) else { return false }
        drainers.append(drainer)
        return true
    }

    /// Ends a pause that has waited too long; returns false if it was woken in the same moment.
    mutating func giveUp(_ drainer: Drainer) -> Bool {
        guard let position = drainers.firstIndex(where: { $0.isDone === drainer.isDone }) else {
            return false
        }
        drainers.remove(at: position)
        resume()
        return true
    }

    mutating func resume() {
        isPaused = false
        serve()
    }

    /// Stops the program where an invariant does not hold.
    func checkInvariants() {
        let owners = loans.map(\.owner).filter { $0 != 0 }
        let threads = owners + waiters.map(\.thread)
        precondition(Set(threads).count == threads.count, "invariant 1")
        precondition(owners.count == used && loans.count <= limit, "invariant 2")
        precondition(loans.allSatisfy { $0.pooled != nil || $0.owner != 0 }, "invariant 3")
        precondition(waiters.isEmpty || isPaused || used == limit, "invariant 4")
        for drainer in drainers {
            precondition(loans.contains(where: drainer.waits), "invariant 5")
        }
        let isPausing = drainers.contains { $0.borrower == nil }
        precondition(isPausing ? isPaused : !isPaused || used == 0, "invariant 6")
    }
}
