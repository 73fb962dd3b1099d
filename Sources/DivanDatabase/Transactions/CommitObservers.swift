// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// What a commit publishes; whoever wants more reads the database.
struct Commit: Sendable {
    var lastSequence: SequenceNumber
    var lastPurge: UInt64
    var documentIDs: [DocumentID]
}

/// The parties in this process that want to hear of commits.
///
/// Called after the commit on the committing thread, before the next writer's turn; an observer must return at
/// once and never block. One mutex guards the table.
final class CommitObservers: Sendable {
    private struct State {
        var nextToken = 0
        var handlers: [Int: @Sendable (Commit?) -> Void] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Adds an observer; it gets nil once, when the database closes.
    func add(_ handler: @escaping @Sendable (Commit?) -> Void) -> Int {
        let token: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.nextToken += 1
            state.handlers[state.nextToken] = handler
            count.store(state.handlers.count, ordering: .relaxed)
            return state.nextToken
        }
        if token == nil { handler(nil) }
        return token ?? 0
    }

    func remove(_ token: Int) {
        state.withLock { state in
            state.handlers[token] = nil
            count.store(state.handlers.count, ordering: .relaxed)
        }
    }

    func announce(_ commit: Commit) {
        guard !isEmpty else { return }
        for handler in state.withLock({ Array($0.handlers.values) }) { handler(commit) }
    }

    /// Wakes everybody without a commit: one of several handles on the database was closed.
    func wake() { announce(Commit(lastSequence: 0, lastPurge: 0, documentIDs: [])) }

    func finish() {
        let handlers = state.withLock { state in
            defer { state.handlers = [:] }
            state.isFinished = true
            return Array(state.handlers.values)
        }
        for handler in handlers { handler(nil) }
    }
}
