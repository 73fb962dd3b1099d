// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import DivanDatabase
internal import Synchronization

// Queries that stay active.
extension ViewQuery {
    /// Makes a live query: see ``LiveQuery``.
    ///
    /// ```swift
    /// for try await rows in query.live() { show(rows) }
    /// ```
    ///
    /// - Parameter interval: The least time from one look at changes to the next; 0 looks at each
    ///   commit.
    /// - Returns: The live query, which has not begun.
    public func live(interval: Duration = .milliseconds(200)) -> LiveQuery<QueryResult> {
        LiveQuery(QueryLiveSource(query: self), interval: interval)
    }

    /// Calls a closure with the rows, at once and whenever they have changed: a live query of its own.
    ///
    /// - Parameters:
    ///   - interval: As in ``live(interval:)``.
    ///   - queue: Where the closure runs, such as `.main`; nil for a queue of its own.
    ///   - listener: Receives each result, or what the query threw.
    /// - Returns: The token that keeps it all: hold on to it.
    public func addChangeListener(
        interval: Duration = .milliseconds(200), on queue: DispatchQueue? = nil,
        _ listener:
            @escaping @Sendable (Result<LiveUpdate<QueryResult>, any Error>) -> Void
    ) -> ListenerToken {
        live(interval: interval).addChangeListener(on: queue, listener)
    }
}

extension LiveQuery where Rows == QueryResult {
    /// The query. Setting another one, of the same database, runs it at once; loops and listeners get
    /// its rows with the difference from the rows before.
    public var query: ViewQuery? {
        get { state.withLock { ($0.source as? QueryLiveSource)?.query } }
        set { if let newValue { replace(QueryLiveSource(query: newValue)) } }
    }
}
