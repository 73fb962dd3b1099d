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
    /// How many a user who is no administrator may have running, and all of them together.
    static let (mostOfUser, mostOfUsers) = (20, 200)

    private struct State {
        var running: NameMap<RunningReplication> = [:]
        /// How many requests of such users wait for an end.
        var waitingUsers = 0
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
    /// - Returns: The one that runs.
    /// - Throws: `HTTPFailure` 503 when the listener has stopped, or users have too many together, 403 when the user has too many.
    func start(_ new: RunningReplication) throws -> RunningReplication {
        let id = new.id
        let known = try state.withLock { state throws(HTTPFailure) -> RunningReplication? in
            guard !state.isClosed else {
                throw HTTPFailure(503, "service_unavailable", "The listener is stopping.")
            }
            if let known = state.running[id] { return known }
            if new.isBounded {
                let others = state.running.values.filter(\.isBounded)
                let own = others.count { $0.user.hasSameBytes(as: new.user) }
                if let refusal = Self.refusal(own: own, all: others.count) { throw refusal }
            }
            state.running[id] = new
            return nil
        }
        if let known { return known }
        new.start { [weak self] in
            // Another one of the same ID may have been started since this was cancelled.
            self?.state.withLock { if $0.running[id] === new { $0.running[id] = nil } }
        }
        return new
    }

    /// Why a user may start no further replication, where so many are running; nil where one may be started.
    static func refusal(own: Int, all: Int) -> HTTPFailure? {
        if own >= mostOfUser {
            return .forbidden(
                "\(mostOfUser) replications of this user are running: cancel one, or wait until one has ended."
            )
        }
        return all < mostOfUsers ? nil : tooManyOfUsers
    }

    private static let tooManyOfUsers = HTTPFailure(
        503, "service_unavailable",
        "Too many replications of users are running; try again when some have ended.")

    /// Does something that waits for the end of a replication in a user's name, if few others do: administrators' requests need the same
    /// threads.
    ///
    /// - Parameters:
    ///   - most: How many may wait.
    ///   - body: What waits.
    /// - Returns: What `body` returns.
    /// - Throws: `HTTPFailure` 503 when too many wait, and what `body` throws.
    func waitingAsUser<Result>(most: Int, _ body: () throws -> Result) throws -> Result {
        try state.withLock { state throws(HTTPFailure) in
            guard state.waitingUsers < most else { throw Self.tooManyOfUsers }
            state.waitingUsers += 1
        }
        defer { state.withLock { $0.waitingUsers -= 1 } }
        return try body()
    }

    /// Ends a replication; nil when there is none of that ID that may be ended.
    func cancel(
        _ id: String, where mayEnd: (RunningReplication) -> Bool = { _ in true }
    ) -> RunningReplication? {
        let known = state.withLock { state in
            guard let known = state.running[id], mayEnd(known) else {
                return nil as RunningReplication?
            }
            state.running[id] = nil
            return known
        }
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
