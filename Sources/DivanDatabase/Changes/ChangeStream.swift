// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

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
        private let signal: CountedSignal

        init(database: Database, since: SequenceNumber, limit: Int) {
            self.database = database
            self.since = since
            self.limit = limit
            signal = CountedSignal { database.core.hub.follow($0) }
        }

        /// Returns the next batch, and waits for a commit where there is none yet; no thread is held meanwhile.
        ///
        /// - Returns: The batch; nil, and no error, when the database is closed or the task is cancelled.
        /// - Throws: `DatabaseError` as `Database.changes(since:limit:)`. The next call reads the same place again.
        public mutating func next() async throws -> ChangesBatch? {
            while true {
                // Before looking whether it is closed: closing rings, too.
                let seen = signal.count
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
                await signal.wait(after: seen)
            }
        }
    }
}
