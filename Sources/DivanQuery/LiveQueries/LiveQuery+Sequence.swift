// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

// Results as asynchronous sequences.
extension LiveQuery: AsyncSequence {
    /// A result.
    public typealias Element = Rows

    /// Begins the live query, if need be, and makes an iterator whose first result is the newest one.
    public func makeAsyncIterator() -> Iterator {
        Iterator(live: self, run: begin())
    }

    /// Gives the newest result whenever there is another one.
    public struct Iterator: AsyncIteratorProtocol {
        let live: LiveQuery
        private let run: Int
        private var generation = 0
        private var before: Rows?

        init(live: LiveQuery, run: Int) {
            self.live = live
            self.run = run
        }

        /// Returns the next result; nil when the live query was stopped, the database closed, or the
        /// task cancelled.
        ///
        /// - Throws: what the query threw, such as `DatabaseError` with code `.invalidQuery`.
        public mutating func next() async throws -> Rows? {
            while true {
                // Before looking, so that a change that comes meanwhile is not missed.
                let seen = live.signal.count
                if Task.isCancelled { return nil }
                switch live.news(after: generation, in: run) {
                case .ended: return nil
                case .none: await live.signal.wait(after: seen)
                case .result(let generation, let result):
                    self.generation = generation
                    let rows = try result.get()
                    // Rows that changed and changed back between two looks.
                    if live.areEqual(before, rows) { continue }
                    before = rows
                    return rows
                }
            }
        }
    }

    /// Results with what changed in them, as a sequence like the live query itself.
    ///
    /// ```swift
    /// for try await update in live.updates { animate(update.difference, to: update.rows) }
    /// ```
    public var updates: LiveUpdates<Rows> { LiveUpdates(live: self) }

    /// Begins the live query, if need be, and waits for its first rows.
    ///
    /// - Returns: The newest rows; nil when it was stopped, the database closed or the task cancelled.
    /// - Throws: what the query threw.
    public func waitForRows() async throws -> Rows? {
        var iterator = makeAsyncIterator()
        return try await iterator.next()
    }
}

/// A result of a live query.
public struct LiveUpdate<Rows: Sendable>: Sendable {
    /// The rows, all of one moment.
    public var rows: Rows
    /// How they differ from those that the same loop or listener got before; at first, all rows are
    /// inserted.
    public var difference: RowDifference
}

extension LiveUpdate: Equatable where Rows: Equatable {}

/// Results of a live query with their differences; see `LiveQuery.updates`.
public struct LiveUpdates<Rows: Sendable>: AsyncSequence, Sendable {
    let live: LiveQuery<Rows>

    /// Begins the live query, if need be, and makes an iterator whose first result is the newest one.
    public func makeAsyncIterator() -> Iterator { Iterator(results: live.makeAsyncIterator()) }

    /// Gives the newest result whenever there is another one.
    public struct Iterator: AsyncIteratorProtocol {
        var results: LiveQuery<Rows>.Iterator
        private var before: Rows?

        init(results: LiveQuery<Rows>.Iterator) { self.results = results }

        /// Returns the next result; nil when the live query was stopped, the database closed, or the
        /// task cancelled.
        ///
        /// - Throws: what the query threw.
        public mutating func next() async throws -> LiveUpdate<Rows>? {
            guard let rows = try await results.next() else { return nil }
            defer { before = rows }
            return LiveUpdate(
                rows: rows, difference: results.live.difference(from: before, to: rows))
        }
    }
}
