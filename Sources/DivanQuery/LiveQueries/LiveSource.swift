// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanModel

/// The query that a live query keeps running.
protocol LiveSource<Rows>: Sendable {
    associatedtype Rows: Sendable

    var core: DatabaseCore { get }
    /// Whether it can no longer run.
    var isClosed: Bool { get }

    /// Has `changed` called when the meaning of the query itself changes, and keeps what the
    /// dependencies need, until the tokens are released.
    func follow(_ changed: @escaping @Sendable () -> Void) -> [any Sendable]
    /// Asks.
    func fetch() throws -> LiveFetch<Rows>
    /// Whether followers need not be told of the second answer after the first.
    func areEqual(_ old: Rows, _ new: Rows) -> Bool
    /// How to get from one answer to the next; from nothing, all rows are inserted.
    func difference(from old: Rows?, to new: Rows) -> RowDifference
}

extension QueriedDatabase {
    /// Knows whether the database object has been closed.
    var registry: ViewRegistry { states.state(of: ViewRegistry.self) }

    var isClosed: Bool { core.isClosed || registry.isClosed }
}

extension LiveSource where Rows: Equatable {
    func areEqual(_ old: Rows, _ new: Rows) -> Bool { old == new }
}

/// An answer, and what it depends on.
struct LiveFetch<Rows: Sendable>: Sendable {
    var rows: Rows
    var dependency: any LiveDependency
}

/// What an answer depends on: tells whether a commit can have changed it, at a lower cost than
/// running the query again.
protocol LiveDependency: Sendable {
    /// Whether what was committed since the answer can have changed it, where `documentIDs` are the
    /// documents that changed or were purged, nil for any. If not, later calls need not look at it
    /// again.
    mutating func isTouched(by documentIDs: Set<DocumentID>?) throws -> Bool
}

/// Depends on everything.
struct DependencyOnEverything: LiveDependency {
    func isTouched(by documentIDs: Set<DocumentID>?) -> Bool { true }
}

/// What a live query has been told since it last looked.
struct LivePending: Sendable {
    /// Beyond this, all documents count as changed.
    private static let mostIDs = 10_000

    /// The documents that changed; nil for any.
    private(set) var documentIDs: Set<DocumentID>? = []
    /// Whether to run the query, whatever changed.
    var mustFetch = false
    /// Whether all changes come from other processes or replications: those come in bursts.
    private(set) var isRemote = true

    var isEmpty: Bool { documentIDs?.isEmpty == true && !mustFetch }

    mutating func add(_ change: HubChange) {
        documentIDs?.formUnion(change.documentIDs)
        if let count = documentIDs?.count, count > Self.mostIDs { documentIDs = nil }
        if change.source == .local { isRemote = false }
    }

    /// Begins with a run.
    static var everything: LivePending {
        var pending = LivePending()
        pending.mustFetch = true
        pending.isRemote = false
        return pending
    }
}
