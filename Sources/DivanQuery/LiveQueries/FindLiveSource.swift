// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import Synchronization

/// A query by selector as the source of a live query.
struct FindLiveSource: LiveSource {
    let query: FindQuery

    init(_ query: FindQuery) {
        var query = query
        query.database = query.database.unheld
        self.query = query
    }

    var core: DatabaseCore { query.database.core }
    var isClosed: Bool { query.database.isClosed }

    func follow(_ changed: @escaping @Sendable () -> Void) -> [any Sendable] {
        [query.database.registry.follow(nil, changed)]
    }

    func fetch() throws -> LiveFetch<FindResult> {
        let examined = ExaminedDocuments()
        var run = try FindRun(query)
        run.planned.examined = examined
        let tokens = try run.planned.followIndexes()
        let (rows, path) = try run.runReporting()
        let dependency = PlannedDependency(core, path, examined, tokens)
        return LiveFetch(rows: rows, dependency: dependency ?? DependencyOnEverything())
    }

    func difference(from old: FindResult?, to new: FindResult) -> RowDifference {
        RowDifference(from: old.map(Array.init) ?? [], to: Array(new), by: \.id) { _ in
            String?.none
        }
    }
}

extension FindQuery {
    /// Makes a live query: its documents at once, and again whenever they have changed.
    ///
    /// ```swift
    /// let open = try database.find(selector: ["type": "task", "done": false])
    /// for try await page in open.live() { show(page.map(\.properties)) }
    /// ```
    ///
    /// See ``LiveQuery``. Where indexes answer the query alone, a commit that touches neither a row in
    /// what was read of them nor a document that was looked at does not run it.
    ///
    /// - Parameter interval: The least time from one look at changes to the next; 0 looks at each
    ///   commit.
    /// - Returns: The live query, which has not begun.
    public func live(interval: Duration = .milliseconds(200)) -> LiveQuery<FindResult> {
        LiveQuery(FindLiveSource(self), interval: interval)
    }
}

extension LiveQuery where Rows == FindResult {
    /// The query. Setting another one, of the same database, runs it at once; loops and listeners
    /// get its documents with the difference from those before.
    public var query: FindQuery? {
        get { state.withLock { ($0.source as? FindLiveSource)?.query } }
        set { if let newValue { replace(FindLiveSource(newValue)) } }
    }
}
