// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanSystem
internal import Synchronization

/// One resource that one thread uses at a time, such as the connection that writes.
///
/// Callers are served in the order in which they asked, whether they block or suspend. A call from
/// inside a call joins it: it runs at once, on the same thread, as a part of the outer one.
///
/// ```swift
/// let queue = ConnectionQueue(label: "writer", connection)
/// try queue.sync { connection in … }                 // blocks this thread
/// try await queue.async { connection in … }          // suspends this task
/// ```
///
///      thread A    sync ┌──────── body A ───────┐
///                              sync ┌ joins ┐
///      thread B         sync · · · · waits · · · ┌─── body B ───┐
///      task C              async · · suspended · · · · · · · · · ┌── body C ──┐
///                                                               on a thread of Dispatch's
///
/// A blocking call runs its body on the calling thread, so what belongs to the thread (its priority,
/// its thread-local values, a lock it holds) holds inside too. A suspending call runs its body on a
/// thread of Dispatch's, never on one of the few that all tasks share: a body may wait for the disk
/// or for another process, and the tasks of the app must not stand still meanwhile.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the calling thread can see of the second. `ConnectionQueueRandomTests` call it, and show the
/// others with a resource that notices two threads.
///
/// 1. At most one thread is between the beginning and the end of a body that did not join.
/// 2. `owner` is that thread's identity, and 0 when there is none.
/// 3. Only the owner reads or writes `resource`.
///
/// Invariant 3 follows from the two others: a thread finds its own identity in `owner` only if it
/// wrote it there itself and has not left its body yet. What other threads write to `owner`
/// meanwhile never equals it, so the check needs no lock and no memory ordering.
///
/// A body must not wait for another thread or task that wants the same queue: that one waits for
/// the body. `isOwnedByCurrentThread` tells whether a wait would be such a wait.
public final class ConnectionQueue<Resource>: Sendable {
    /// The turns. Serial and fair: Dispatch serves blocking and other submissions in one order.
    private let turns: DispatchQueue
    /// The identity of the thread whose turn it is; see invariant 2.
    private let owner = Atomic<UInt>(0)
    // Safe because of invariant 3: only the thread whose turn it is touches the resource, and
    // Dispatch orders one turn's memory accesses before the next one's.
    nonisolated(unsafe) private let resource: Resource

    /// Makes a queue and hands the resource over to it.
    ///
    /// - Parameters:
    ///   - label: A name for debuggers.
    ///   - resource: What the queue guards from now on.
    public init(label: String, _ resource: sending Resource) {
        turns = DispatchQueue(label: label)
        unsafe self.resource = resource
        turns.setSpecific(key: turnKey, value: ObjectIdentifier(turns))
    }

    /// Whether the calling thread is inside a body of this queue.
    public var isOwnedByCurrentThread: Bool {
        owner.load(ordering: .relaxed) == ThreadIdentity.current
    }

    /// Whether it is the calling thread's turn: it is inside a body, or in what Dispatch still releases after one.
    public var hasTurn: Bool {
        isOwnedByCurrentThread
            || DispatchQueue.getSpecific(key: turnKey) == ObjectIdentifier(turns)
    }

    /// Whether some thread is inside a body; by the time the caller knows, it may have left.
    public var isInUse: Bool { owner.load(ordering: .relaxed) != 0 }

    /// Waits for its turn and runs `body` on the calling thread; inside another body of the same
    /// thread, runs it at once.
    public func sync<T>(_ body: (Resource) throws -> T) rethrows -> T {
        if isOwnedByCurrentThread {
            return try unsafe body(resource)
        }
        // Dispatch releases what a suspending call's body held after the body, but still in its turn.
        // If that were the last reference to something that closes itself here, it would wait for itself.
        if hasTurn { return try takeTurn(body) }
        return try turns.sync { try takeTurn(body) }
    }

    /// Runs `body` on a thread of Dispatch's when its turn comes, and suspends until then.
    ///
    /// - Throws: what `body` throws; `CancellationError` when the task was cancelled before the turn
    ///   came. A body that has begun runs to its end.
    public func async<T: Sendable>(
        _ body: @escaping @Sendable (Resource) throws -> T
    ) async throws -> T {
        let isCancelled = CancellationMark()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                turns.async {
                    continuation.resume(
                        with: Result {
                            try isCancelled.check()
                            return try self.takeTurn(body)
                        })
                }
            }
        } onCancel: {
            isCancelled.set()
        }
    }

    /// Stops the program where an invariant does not hold; for tests, inside a body and outside.
    package func checkInvariants() {
        precondition(isOwnedByCurrentThread || !hasTurn, "invariant 2")
    }

    /// Runs `body` as the owner. Called with the turn.
    private func takeTurn<T>(_ body: (Resource) throws -> T) rethrows -> T {
        owner.store(ThreadIdentity.current, ordering: .relaxed)
        defer { owner.store(0, ordering: .relaxed) }
        return try unsafe body(resource)
    }
}

/// What identifies a queue of turns.
private let turnKey = DispatchSpecificKey<ObjectIdentifier>()

/// Whether a task that waits for its turn has been cancelled.
private final class CancellationMark: Sendable {
    private let isSet = Atomic(false)

    func set() {
        isSet.store(true, ordering: .relaxed)
    }

    func check() throws {
        if isSet.load(ordering: .relaxed) {
            throw CancellationError()
        }
    }
}
