// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanSystem
internal import Synchronization

/// The readers of one database file, such as connections or read transactions. Each is lent to one thread at a time, and
/// several threads read at once.
///
/// The pool makes a reader when all others are in use, up to a limit, and keeps it for the next thread. Beyond the limit
/// threads wait, and are served in the order in which they asked. A thread that already has a reader gets the same again,
/// so a read inside a read sees the same snapshot and never waits for itself.
///
/// ```swift
/// let (reader, isOutermost) = try pool.borrow(
///     for: ObjectIdentifier(engine), admitting: checkOpen, making: open)
/// guard isOutermost else { return try body(reader) }
/// defer { pool.giveBack(keeping: true) }
/// try body(reader)
/// ```
///
///      limit 2
///      thread 1   ┌────── reads ──────┐
///                    ┌ same reader ┐
///      thread 2   ┌─────────────── reads ────────────────┐
///      thread 3   · · · · waits · · · ┌── reads ──┐
///      thread 4          pause · · · · · · · · · · · · · ·│ alone │ resume
///      thread 5              · · · · · waits · · · · · · · · · · ·┌── reads ──┐
///
/// ## Who may begin to read
///
/// The file has one gate, and each engine that borrows has another:
///
/// - The pool is *paused* by a thread that needs the file alone, to map it anew or to replace it. Readers that come wait
///   until `resume()`.
/// - An engine that is closed or suspended *refuses*: its `admitting` closure throws. The engine first sets what the
///   closure looks at, then calls `drain(_:)`, which waits for its readers. Other engines on the same file read on.
///
/// The pool does not know what a reader is. The engine makes one, has it take a snapshot and end it, and puts away those
/// that `removeIdle()` returns.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of each. `ReaderPoolRandomTests` compare the pool with a model, step by
/// step, and then with nothing but these while threads run freely.
///
/// 1. A thread has at most one reader, and waits for a reader only while it has none.
/// 2. At most `limit` readers exist, and `used` of them have a thread.
/// 3. Only the thread that makes a reader has a place without one.
/// 4. Threads wait for a reader only while the pool is paused or `limit` readers are in use, each in its order.
/// 5. A thread that pauses or drains sleeps only while a reader that it waits for is in use.
/// 6. From the return of `pause(patience:)` to `resume()`, no reader is in use.
/// 7. Only `admitting` runs under the mutex: a slow or failing maker holds up no other thread.
///
/// State and its guard: everything is in `loans`, under its mutex. One taking of it lends a reader, another takes it back.
/// A thread that waits sleeps on a semaphore of its own, so a thread that is woken has what it waited for.
package final class ReaderPool<Reader: AnyObject>: Sendable {
    let loans: Mutex<ReaderLoans>

    /// Makes a pool.
    ///
    /// - Parameter limit: The most readers at a time, at least 1.
    package init(limit: Int) {
        loans = Mutex(ReaderLoans(limit: max(limit, 1)))
    }

    // MARK: - Borrowing

    /// Lends the calling thread a reader: its own, an idle one, or a new one. Waits while that is not possible.
    ///
    /// A thread that gets `isOutermost` calls `giveBack(keeping:)` when it is done.
    ///
    /// - Parameters:
    ///   - borrower: The engine that reads.
    ///   - admit: Throws if the engine refuses. It runs under the mutex, and not for a read inside a read. A
    ///     thread that has waited for its turn is not asked again; `drain(_:)` refuses those that still wait.
    ///   - make: Makes a reader; it is told how many others there are. It must not borrow one itself.
    /// - Returns: The reader, and whether this is the outermost use by this thread.
    /// - Throws: what `admit` and `make` throw. Nothing is lent then.
    package func borrow(
        for borrower: ObjectIdentifier, admitting admit: () throws -> Void,
        making make: (_ others: Int) throws -> Reader
    ) throws -> (reader: Reader, isOutermost: Bool) {
        let thread = ThreadIdentity.current
        while true {
            switch try loans.withLock({ try $0.lend(to: thread, for: borrower, admit) }) {
            case .lent(let pooled, let isOutermost): return (reader(pooled), isOutermost)
            case .mustMake(let others): return (try makeReader(others, for: thread, make), true)
            case .mustWait(let turn): turn.wait()
            }
        }
    }

    /// Makes a reader for the place that the thread has.
    private func makeReader(
        _ others: Int, for thread: UInt, _ make: (_ others: Int) throws -> Reader
    ) throws -> Reader {
        do {
            let made = ReaderLoans.Pooled(reader: try make(others))
            loans.withLock { $0.put(made, inPlaceOf: thread) }
            return reader(made)
        } catch {
            giveBack(keeping: false)
            throw error
        }
    }

    /// Takes back the reader of the calling thread, at the end of the outermost use.
    ///
    /// - Parameter isKept: Whether the next thread may use the reader; if not, the pool forgets it.
    package func giveBack(keeping isKept: Bool) {
        let thread = ThreadIdentity.current
        let forgotten = loans.withLock { $0.takeBack(from: thread, keeping: isKept) }
        withExtendedLifetime(forgotten) {}
    }

    /// Forgets the readers that no thread uses, and returns them to be put away.
    @discardableResult
    package func removeIdle() -> [Reader] {
        loans.withLock { $0.removeIdle() }.map(reader)
    }

    /// Calls `body` with each reader that a borrower uses, under the mutex and whichever thread uses it.
    package func forEachLent(to borrower: ObjectIdentifier, _ body: (Reader) -> Void) {
        loans.withLock { loans in
            for pooled in loans.readers(of: borrower) { body(reader(pooled)) }
        }
    }

    private func reader(_ pooled: ReaderLoans.Pooled) -> Reader {
        // SAFETY: only `makeReader` puts objects into the loans, and they are of this type.
        unsafe unsafeDowncast(pooled.reader, to: Reader.self)
    }

    // MARK: - State

    /// Whether the calling thread has a reader.
    package var isUsedByCurrentThread: Bool {
        let thread = ThreadIdentity.current
        return loans.withLock { $0.isUsed(by: thread) }
    }

    /// Whether any thread has a reader.
    package var isUsed: Bool { loans.withLock { $0.used > 0 } }

    /// How many readers there are, in use and idle.
    package var count: Int { loans.withLock { $0.count } }

    /// How many threads wait for a reader.
    package var waitingCount: Int { loans.withLock { $0.waitingCount } }

    // MARK: - Waiting for readers

    /// Waits until no other thread uses a reader for `borrower`, which refuses new ones by now. Those of its threads that
    /// wait for a reader are refused at once.
    ///
    /// Called inside a read, it does not wait for that one, which goes on to its end.
    package func drain(_ borrower: ObjectIdentifier) {
        let drainer = ReaderLoans.Drainer(thread: ThreadIdentity.current, borrower: borrower)
        if loans.withLock({ $0.drain(drainer) }) { drainer.isDone.wait() }
    }

    /// Lets no reader begin and waits for those that run.
    ///
    /// - Parameter patience: How long it waits.
    /// - Returns: Whether no thread reads now. If not, nothing is paused: a reader has taken longer, this thread itself is
    ///   reading, or the pool was paused already.
    package func pause(patience: Duration) -> Bool {
        let drainer = ReaderLoans.Drainer(thread: ThreadIdentity.current, borrower: nil)
        guard let mustWait = loans.withLock({ $0.pause(drainer) }) else { return false }
        let deadline = DispatchTime.now() + .nanoseconds(Int(patience / .nanoseconds(1)))
        guard mustWait, drainer.isDone.wait(timeout: deadline) == .timedOut else { return true }
        return loans.withLock { !$0.giveUp(drainer) }
    }

    /// Lets readers begin again, those that wait first.
    package func resume() {
        loans.withLock { $0.resume() }
    }

    /// Stops the program where an invariant does not hold; for tests.
    package func checkInvariants() {
        loans.withLock { $0.checkInvariants() }
    }
}
