// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// The changes feed as an asynchronous sequence of batches; see `Database.changeStream(since:limit:)`.
///
/// ```swift
/// for try await batch in database.changeStream() {
///     for change in batch.changes { print(change.id) }
/// }
/// ```
public struct ChangeStream: AsyncSequence, Sendable {
    /// A piece of the feed; never empty.
    public typealias Element = ChangesBatch

    let database: Database
    let since: SequenceNumber
    let limit: Int

    /// Makes an iterator that begins where the stream begins.
    public func makeAsyncIterator() -> Iterator {
        Iterator(database: database, since: since, limit: limit)
    }

    /// Reads one batch after the other and waits where there is none.
    public struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        private var since: SequenceNumber
        private let limit: Int
        private let bell: CommitBell

        init(database: Database, since: SequenceNumber, limit: Int) {
            self.database = database
            self.since = since
            self.limit = limit
            bell = CommitBell(database.core)
        }

        /// Returns the next batch; nil when the database is closed or the task is cancelled.
        public mutating func next() async throws -> ChangesBatch? {
            while true {
                // Before looking whether it is closed: closing rings, too.
                let rung = bell.count
                if database.isClosed || Task.isCancelled { return nil }
                let (start, limit) = (since, limit)
                let batch: ChangesBatch
                do {
                    batch = try await database.core.readAsync {
                        try $0.changes(since: start, limit: limit)
                    }
                } catch  where database.isClosed || Task.isCancelled {
                    return nil
                }
                since = batch.lastSequence
                if !batch.changes.isEmpty { return batch }
                await bell.wait(after: rung)
            }
        }
    }
}

/// Rings whenever somebody commits, in this process or another; forgets nothing in between.
///
/// The count makes the wait free of races: a commit between reading the count and waiting on it has
/// raised the count, so the wait returns at once.
///
/// State: `state`, guarded by its mutex. Waiters are resumed outside it.
final class CommitBell: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())
    private let core: DatabaseCore
    private let token = Mutex<Int?>(nil)
    private let watcher: DirectoryWatcher?

    init(_ core: DatabaseCore) {
        self.core = core
        watcher = core.directory.map { DirectoryWatcher(changesFile: $0.changesPath) }
        let observer = core.observers.add { [weak self] commit in self?.ring(closing: commit == nil)
        }
        token.withLock { $0 = observer }
        watcher?.start { [weak self] in self?.ring(closing: false) }
    }

    deinit {
        if let observer = token.withLock({ $0 }) { core.observers.remove(observer) }
        watcher?.stop()
    }

    /// How often it has rung.
    var count: Int { state.withLock { $0.count } }

    /// Waits until it has rung more than `count` times, is closed, or the task is cancelled.
    func wait(after count: Int) async {
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

    private func ring(closing: Bool) {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.count += 1
            if closing { state.isClosed = true }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }
}
