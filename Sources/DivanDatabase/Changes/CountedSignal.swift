// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A signal that counts how often it was sent, so that one sent between two waits is not lost.
///
/// A changes stream has one for commits, by this process or another; live queries, replications and suspended
/// tasks wait on theirs.
///
/// The count makes the wait free of races: what is sent between reading the count and waiting on it
/// has raised the count, so the wait returns at once.
///
/// State: `state`, guarded by its mutex. Waiters are resumed outside it.
package final class CountedSignal: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())
    private let token = Mutex<ListenerToken?>(nil)

    /// Sends whenever the hub has news for the follower that `follow` registers.
    init(_ follow: (@escaping ChangeHub.Handler) -> ListenerToken) {
        let token = follow { [weak self] event in
            let isClosed = if case .closed = event { true } else { false }
            self?.send(closing: isClosed)
        }
        self.token.withLock { $0 = token }
    }

    /// Is sent only by `send`.
    package init() {}

    /// How often it was sent.
    package var count: Int { state.withLock { $0.count } }

    /// Waits until it was sent more than `count` times, is closed, or the task is cancelled.
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

    /// Wakes those that wait; when closing, ends all waits, also those that begin later.
    package func send(closing: Bool = false) {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.count += 1
            if closing { state.isClosed = true }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }
}
