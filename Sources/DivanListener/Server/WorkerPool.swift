// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanSystem
internal import Synchronization

/// Runs blocking work on a bounded number of threads; the rest waits in order.
///
/// The threads are its own. The concurrent queues of Dispatch share theirs, of which no more are at work than there are
/// processors, so one pool with much to do would keep every other one, and every task, from beginning anything. A serial
/// queue gets a thread of its own while it has work.
///
/// State: `state`, guarded by its mutex.
final class WorkerPool: Sendable {
    private struct State {
        /// The places in `threads` that have nothing to do.
        var idle: [Int]
        var waiting = WorkQueue<@Sendable () -> Void>()
    }

    private let threads: [DispatchQueue]
    private let state: Mutex<State>

    /// Makes a pool of at most `width` threads.
    init(_ label: String, width: Int) {
        threads = (0..<max(1, width)).map { _ in DispatchQueue(label: label) }
        state = Mutex(State(idle: Array(threads.indices)))
    }

    /// Runs work as soon as a thread is free.
    func run(_ work: @escaping @Sendable () -> Void) {
        let thread: Int? = state.withLock { state in
            if let thread = state.idle.popLast() { return thread }
            state.waiting.append(work)
            return nil
        }
        if let thread { threads[thread].async { self.work(work, on: thread) } }
    }

    private func work(_ first: @escaping @Sendable () -> Void, on thread: Int) {
        var next: (@Sendable () -> Void)? = first
        while let work = next {
            work()
            next = state.withLock { state in
                let work = state.waiting.popFirst()
                if work == nil { state.idle.append(thread) }
                return work
            }
        }
    }
}
