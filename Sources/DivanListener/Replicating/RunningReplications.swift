// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanJSON
internal import Synchronization

/// The replications that clients started and that have not ended, by their IDs.
///
/// One and the same replication runs once: a client that asks for it again joins it. They end with the
/// listener.
///
/// State: `state`, guarded by its mutex.
final class RunningReplications: Sendable {
    private struct State {
        var running: NameMap<RunningReplication> = [:]
        var isClosed = false
        var count = 0
    }

    private let state = Mutex(State())

    /// The number of the next one.
    func nextNumber() -> Int {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    /// Starts a replication, or gives the one that runs already.
    ///
    /// - Throws: `HTTPFailure` 503 when the listener has stopped.
    func start(_ new: RunningReplication) throws -> RunningReplication {
        let id = new.id
        let known = try state.withLock { state throws(HTTPFailure) in
            guard !state.isClosed else {
                throw HTTPFailure(503, "service_unavailable", "The listener is stopping.")
            }
            let known = state.running[id]
            if known == nil { state.running[id] = new }
            return known
        }
        if let known { return known }
        new.start { [weak self] in
            // Another one of the same ID may have been started since this was cancelled.
            self?.state.withLock { if $0.running[id] === new { $0.running[id] = nil } }
        }
        return new
    }

    /// Ends a replication; nil when there is none of that ID.
    func cancel(_ id: String) -> RunningReplication? {
        let known = state.withLock { $0.running.removeValue(forKey: id) }
        known?.stop()
        return known
    }

    /// Ends all, and lets no more begin.
    ///
    /// - Parameter limit: How long to wait until they have ended.
    func close(within limit: Duration) {
        let all = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for replication in all { replication.stop() }
        guard limit > .zero else { return }
        let group = DispatchGroup()
        for replication in all {
            group.enter()
            replication.whenOver { _ in group.leave() }
        }
        let milliseconds = Int(clamping: limit.components.seconds) * 1_000
        _ = group.wait(timeout: .now() + .milliseconds(milliseconds))
    }

    /// Their entries in `_scheduler/jobs`.
    var jobs: [JSONValue] {
        state.withLock { Array($0.running.values) }
            .sorted { $0.number < $1.number }.map(\.job)
    }

    /// Their entries in `_active_tasks`.
    var list: [JSONValue] {
        state.withLock { Array($0.running.values) }
            .sorted { $0.number < $1.number }.map(\.task)
    }
}
