// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Runs blocking work on a bounded number of threads; the rest waits in order, and what would wait behind too much is
/// not taken.
///
/// State: `state`, guarded by its mutex.
final class WorkerPool: Sendable {
    fileprivate struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
        /// Where the waiting begin; those before it were taken.
        var first = 0
    }

    private let width: Int
    private let mostWaiting: Int
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// Makes a pool of at most `width` threads, for which at most so much waits.
    init(_ label: String, width: Int, mostWaiting: Int = .max) {
        self.width = max(1, width)
        self.mostWaiting = mostWaiting
        queue = DispatchQueue(label: label, attributes: .concurrent)
    }

    /// Runs work as soon as a thread is free.
    ///
    /// - Returns: false when too much waits; the work is not taken then.
    @discardableResult
    func run(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, mayStart) = state.withLock { state in
            guard state.running >= width else {
                state.running += 1
                return (true, true)
            }
            guard state.waiting.count - state.first < mostWaiting else { return (false, false) }
            state.waiting.append(work)
            return (true, false)
        }
        if mayStart { queue.async { self.work(work) } }
        return isTaken
    }

    private func work(_ first: @escaping @Sendable () -> Void) {
        var next: (@Sendable () -> Void)? = first
        while let work = next {
            work()
            next = state.withLock { $0.next() }
        }
    }
}

extension WorkerPool.State {
    /// What has waited longest; nil when nothing waits, and then the thread is given back.
    fileprivate mutating func next() -> (@Sendable () -> Void)? {
        guard first < waiting.count else {
            waiting.removeAll(keepingCapacity: waiting.count < 1_000)
            first = 0
            running -= 1
            return nil
        }
        let work = waiting[first]
        first += 1
        if first > 1_000 {
            waiting.removeFirst(first)
            first = 0
        }
        return work
    }
}
