// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import DivanDatabase
internal import Synchronization

/// Calls an app's closure with the results of a live query: one call at a time, always the newest.
///
/// State: `state`, guarded by its mutex.
final class LiveListener<Rows: Sendable>: Sendable {
    private struct State {
        var generation = 0
        /// What was delivered last, and whether it was a failure.
        var rows: Rows?
        var hasFailed = false
        var isRunning = false
        var isRemoved = false
    }

    private let queue: DispatchQueue
    private let callback: @Sendable (Result<LiveUpdate<Rows>, any Error>) -> Void
    private let state = Mutex(State())

    init(
        on queue: DispatchQueue?,
        _ callback: @escaping @Sendable (Result<LiveUpdate<Rows>, any Error>) -> Void
    ) {
        self.queue = queue ?? DispatchQueue(label: "divan.live.listener")
        self.callback = callback
    }

    func remove() { state.withLock { $0.isRemoved = true } }

    /// Has the newest result delivered.
    func wake(_ live: LiveQuery<Rows>) {
        let mustRun = state.withLock { state in
            guard !state.isRemoved else { return false }
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustRun { queue.async { [weak live] in self.run(live) } }
    }

    private func run(_ live: LiveQuery<Rows>?) {
        while let live, let (result, before, hadFailed) = next(live) {
            // Rows that changed and changed back between two looks.
            if case .success(let rows) = result, !hadFailed, live.areEqual(before, rows) {
                continue
            }
            callback(
                result.map { rows in
                    LiveUpdate(rows: rows, difference: live.difference(from: before, to: rows))
                })
        }
    }

    /// The next result, and the rows that were delivered before; nil ends the run.
    private func next(_ live: LiveQuery<Rows>) -> (
        Result<Rows, any Error>, before: Rows?, hadFailed: Bool
    )? {
        state.withLock { state in
            guard !state.isRemoved,
                case .result(let generation, let result) = live.news(after: state.generation)
            else {
                // A thread that announces a newer result after this finds that no run is going on.
                state.isRunning = false
                return nil
            }
            state.generation = generation
            let (before, hadFailed) = (state.rows, state.hasFailed)
            switch result {
            case .success(let rows): (state.rows, state.hasFailed) = (rows, false)
            case .failure: state.hasFailed = true
            }
            return (result, before, hadFailed)
        }
    }
}

extension LiveQuery {
    /// Calls a closure with the newest rows, at once and whenever they have changed.
    ///
    /// ```swift
    /// let token = live.addChangeListener { result in
    ///     if case .success(let update) = result { show(update.rows) }
    /// }
    /// ```
    ///
    /// One call at a time. A slow closure gets one call for all that happened meanwhile. It may read,
    /// write, stop the live query and remove the listener.
    ///
    /// - Parameters:
    ///   - queue: Where the closure runs, such as `.main`; nil for a queue of its own.
    ///   - listener: Receives each result, or what the query threw.
    /// - Returns: The token that keeps the listener and the live query: hold on to it.
    public func addChangeListener(
        on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Result<LiveUpdate<Rows>, any Error>) -> Void
    ) -> ListenerToken {
        let listener = LiveListener(on: queue, listener)
        let number = state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = listener
            return state.nextListener
        }
        start()
        // There may be a result already.
        listener.wake(self)
        return ListenerToken {
            listener.remove()
            _ = self.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
    }
}
