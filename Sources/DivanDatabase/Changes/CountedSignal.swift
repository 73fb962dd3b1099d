// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Signals every commit, by this process or another. A commit between two waits is not lost.
///
/// The count makes the wait free of races: a commit between reading the count and waiting on it has
/// raised the count, so the wait returns at once.
///
/// State: `state`, guarded by its mutex. Waiters are resumed outside it.
package final class CommitBell: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())
    private let token = Mutex<ListenerToken?>(nil)

    /// Signals whenever the hub has news for the follower that `follow` registers.
    init(_ follow: (@escaping ChangeHub.Handler) -> ListenerToken) {
        let token = follow { [weak self] event in
            let isClosed = if case .closed = event { true } else { false }
            self?.ring(closing: isClosed)
        }
        self.token.withLock { $0 = token }
    }

    /// Signals only by `ring`.
    package init() {}

    /// How often it has signalled.
    package var count: Int { state.withLock { $0.count } }

    /// Waits until it has signalled more than `count` times, is closed, or the task is cancelled.
    package func wait(after count: Int) async {
        let ticket = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.count > count || state.isClosed || Task.isCancelled { return true }
                    state.waiters[ticket] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: ticket) }
            waiter?.resume()
        }
    }

    /// Signals; when closing, ends all waits, also those that begin later.
    package func ring(closing: Bool = false) {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.count += 1
            if closing { state.isClosed = true }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }
}
