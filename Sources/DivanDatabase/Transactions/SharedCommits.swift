// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanSystem
internal import Synchronization

/// Single writes of several threads that become durable by one commit.
///
/// Where a commit waits for the disk, that wait is nearly all that a small write costs. So of the threads
/// that each want one write, one *leads*: it alone waits for the writer's turn, does its own write, then
/// those of all threads that wait by then, and commits once. A write that finds no other one leads itself,
/// and is not kept waiting for others to come.
///
///     thread A   save: leads ┌ A ┐ commit ───────────┐
///     thread B    save: leads · · · · · · · · · · · ·┌ B C D ┐ commit ──────────┐
///     thread C      save: waits · · · · · · · · · · · · · · · · · · · · · · · · ·► returns, or throws
///     thread D        save: waits · · · · · · · · · · · · · · · · · · · · · · · ·► returns, or throws
///
/// Each write that joins has a savepoint of its own, so one that is refused is undone alone. A thread is
/// told only after the commit; when that fails, all of them get its error.
///
/// What joins are Divan's own operations on one document, which are short and do not notice the thread they
/// run on. Closures of an app run on the thread that passed them, and take as long as they like: they
/// have transactions of their own (`DatabaseCore.batch`), before or after which the shared ones come.
///
/// State: `state`, guarded by its mutex. A write is touched by its thread until it is enlisted, then by
/// the thread that leads, and by its own thread again when it has been woken.
///
/// ## Invariants
///
/// 1. At most one thread leads at a time up to its commit. Writes wait only while one does.
/// 2. A write that waits is done by the thread that leads, or its thread leads next.
/// 3. A thread that waits is woken once, and its closure is no longer referred to by then.
final class SharedCommits: Sendable {
    /// The most writes of one commit, so that the first does not wait for ever more of them.
    static let largest = 128
    /// How long the first waits for others to be done at most, but for the last one of them.
    static let longest = Duration.milliseconds(50)

    private struct State {
        var isLed = false
        var waiting = WorkQueue<JoiningWrite>()
    }

    private let state = Mutex(State())

    /// Leads, unless another thread does.
    func lead() -> Bool {
        state.withLock { state in
            guard !state.isLed else { return false }
            state.isLed = true
            return true
        }
    }

    /// Has a write wait for the thread that leads; returns true when none does, and this one leads instead.
    func leadOrEnlist(_ write: JoiningWrite) -> Bool {
        state.withLock { state in
            if state.isLed {
                state.waiting.append(write)
                return false
            }
            state.isLed = true
            return true
        }
    }

    /// The next write that waits, for the thread that leads.
    fileprivate func next() -> JoiningWrite? { state.withLock { $0.waiting.popFirst() } }

    /// Ends the lead: the first of those that still wait leads, or the next one to come.
    fileprivate func passOn() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            state.isLed = next != nil
            return next
        }
        next?.wake(.leads)
    }

    /// Whether a thread leads; for tests.
    var isLed: Bool { state.withLock { $0.isLed } }

    /// How many writes wait; for tests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }
}

/// One lead: what its thread has done for others.
struct SharedCommit {
    private let commits: SharedCommits
    private var joined: [JoiningWrite] = []
    private var isOpen = true

    /// Begins the lead that `commits` has given this thread.
    init(leading commits: SharedCommits) { self.commits = commits }

    /// Does the writes that wait, one after the other; called after the thread's own, before the commit.
    ///
    /// - Parameters:
    ///   - goesOn: Asked before each one.
    ///   - perform: Does one, in a savepoint. What it throws is that write's outcome.
    ///   - mustStop: Asked after each one.
    /// - Throws: what `mustStop` returns after one of them: the transaction must not commit.
    mutating func joinAll(
        while goesOn: () -> Bool, perform: (JoiningWrite) throws -> Void,
        mustStop: () -> (any Error)?
    ) throws {
        defer { close() }
        // The thread's own write is one of them.
        while joined.count < SharedCommits.largest - 1, goesOn(), let write = commits.next() {
            joined.append(write)
            do { try perform(write) } catch { write.error = error }
            if let error = mustStop() { throw error }
        }
    }

    /// Lets another thread lead, which waits for its turn while this one commits.
    private mutating func close() {
        guard isOpen else { return }
        isOpen = false
        commits.passOn()
    }

    /// Wakes the threads of the writes that were done, after the commit.
    ///
    /// - Parameter error: Why nothing was committed; nil after a commit.
    mutating func end(_ error: (any Error)?) {
        close()
        for write in joined {
            if let error { write.error = error }
            write.wake(.isDone)
        }
        joined = []
    }
}

/// A write that another thread may do.
// Safe because of what `SharedCommits` says of its threads; `state` orders their accesses. It is stored with
// release and loaded with acquire, which the thread sanitizer sees, unlike Swift's mutexes.
final class JoiningWrite: @unchecked Sendable {
    enum State: UInt8, AtomicRepresentable { case waits, leads, isDone }

    private let state = Atomic(State.waits)
    private let turn = DispatchSemaphore(value: 0)
    private let flag: CancellationFlag?
    private var work: ((WriteContext) throws -> Void)?
    /// Why it was refused.
    fileprivate(set) var error: (any Error)?

    /// Makes one of the calling thread's.
    init(_ work: @escaping (WriteContext) throws -> Void) {
        self.work = work
        flag = CancellationFlag.current
        state.store(.waits, ordering: .releasing)
    }

    /// Does it, on any thread.
    ///
    /// - Throws: what the work throws; `CancellationError` when its task was cancelled before.
    func perform(_ context: WriteContext) throws {
        _ = state.load(ordering: .acquiring)
        try flag?.check()
        try work?(context)
    }

    /// Waits for the outcome; returns true when its thread has to lead instead.
    func waitForOutcome() -> Bool {
        turn.wait()
        return state.load(ordering: .acquiring) == .leads
    }

    fileprivate func wake(_ outcome: State) {
        // What the work captures lies on the stack of its thread.
        work = nil
        state.store(outcome, ordering: .releasing)
        turn.signal()
    }
}
