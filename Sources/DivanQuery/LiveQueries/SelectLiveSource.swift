// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import DivanDatabase
internal import DivanJSON
internal import Synchronization

/// A query of the builder as the source of a live query.
struct SelectLiveSource: LiveSource {
    let query: SelectQuery

    init(_ query: SelectQuery) {
        self.query = query.with { clauses in
            clauses.source.database = clauses.source.database.unheld
            for index in clauses.joins.indices {
                let joined = clauses.joins[index].source.database
                clauses.joins[index].source.database = joined.unheld
            }
        }
    }

    var core: DatabaseCore { query.source.database.core }
    var isClosed: Bool { query.source.database.isClosed }

    func follow(_ changed: @escaping @Sendable () -> Void) -> [any Sendable] {
        [query.source.database.registry.follow(nil, changed)]
    }

    func fetch() throws -> LiveFetch<SelectRows> {
        let examined = ExaminedDocuments()
        let run = try SelectRun(query, examined: examined)
        let tokens = try run.followIndexes()
        let (rows, path) = try run.runReporting()
        let dependency = PlannedDependency(core, path, examined, tokens)
        return LiveFetch(rows: rows, dependency: dependency ?? DependencyOnEverything())
    }

    func difference(from old: SelectRows?, to new: SelectRows) -> RowDifference {
        let names = new.identifying
        return RowDifference(
            from: old.map(Array.init) ?? [], to: Array(new), by: { $0.values.map(\.debugText) },
            orBy: { row in names.isEmpty ? nil : names.map { row[$0].value.debugText } })
    }
}

extension JSONValue? {
    /// A text that differs for values that differ, a missing one included.
    fileprivate var debugText: String { map { "=" + $0.description } ?? "" }
}

extension SelectQuery {
    /// Makes a live query: its rows at once, and again whenever they have changed.
    ///
    /// ```swift
    /// for try await rows in query.live() { show(rows) }
    /// ```
    ///
    /// See ``LiveQuery``. Where indexes answer the query alone, a commit that touches neither a row in
    /// what was read of them nor a document that was looked at does not run it. A commit that only
    /// sets when a document expires does not run it.
    ///
    /// - Parameter interval: The least time from one look at changes to the next; 0 looks at each
    ///   commit.
    /// - Returns: The live query, which has not begun.
    public func live(interval: Duration = .milliseconds(200)) -> LiveQuery<SelectRows> {
        LiveQuery(SelectLiveSource(self), interval: interval)
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
            @escaping @Sendable (Result<LiveUpdate<SelectRows>, any Error>) -> Void
    ) -> ListenerToken {
        live(interval: interval).addChangeListener(on: queue, listener)
    }
}

extension LiveQuery where Rows == SelectRows {
    /// The query. Setting another one, of the same database, runs it at once; loops and listeners get
    /// its rows with the difference from the rows before.
    public var query: SelectQuery? {
        get { state.withLock { ($0.source as? SelectLiveSource)?.query } }
        set { if let newValue { replace(SelectLiveSource(newValue)) } }
    }
}
