// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// A query of a view, or of all documents, as the source of a live query.
struct QueryLiveSource: LiveSource {
    let query: ViewQuery

    var core: DatabaseCore {
        switch query.source {
        case .view(let view): view.core
        case .allDocuments(let core, _): core
        }
    }

    var isClosed: Bool {
        switch query.source {
        case .view(let view): view.core.isClosed || view.registry.isClosed
        case .allDocuments(let core, let registry): core.isClosed || registry.isClosed
        }
    }

    func follow(_ changed: @escaping @Sendable () -> Void) -> [any Sendable] {
        switch query.source {
        case .view(let view):
            [view.registry.follow(view.name, changed), core.indexTouches.follow(view.indexName)]
        case .allDocuments(_, let registry): [registry.follow(nil, changed)]
        }
    }

    func fetch() throws -> LiveFetch<QueryResult> {
        switch query.source {
        case .view(let view):
            var query = query
            // A view that was deleted and named again goes on as the new one.
            let current = view.registry.current(view)
            query.source = .view(current)
            query.updateMode = .before
            let rows = try query.run()
            return LiveFetch(rows: rows, dependency: try dependency(query, current, rows))
        case .allDocuments:
            let rows = try query.run()
            return LiveFetch(
                rows: rows,
                dependency: DocumentsDependency(
                    core: core, range: try AllDocumentsRun(query: query, core: core).idRange,
                    lastPurge: rows.purge))
        }
    }

    private func dependency(_ query: ViewQuery, _ view: DatabaseView, _ rows: QueryResult) throws
        -> any LiveDependency
    {
        // An answer by scan has no place in an index.
        guard let place = rows.place else { return DependencyOnEverything() }
        let coder = try view.definition().coder
        return IndexDependency(
            view: view, place: place, ranges: QueryRanges(query: query, coder: coder).ranges,
            documentIDs: query.includeDocuments ? Set(rows.compactMap(\.documentID)) : [])
    }

    func difference(from old: QueryResult?, to new: QueryResult) -> RowDifference {
        RowDifference(from: old.map(Array.init) ?? [], to: Array(new))
    }
}

/// Depends on the rows of ranges of an index, and on the documents that came with them.
private struct IndexDependency: LiveDependency {
    let view: DatabaseView
    var place: IndexTouches.Place
    let ranges: [RowRange]
    let documentIDs: Set<DocumentID>

    mutating func isTouched(by changed: Set<DocumentID>?) throws -> Bool {
        if !documentIDs.isEmpty {
            guard let changed else { return true }
            if !changed.isDisjoint(with: documentIDs) { return true }
        }
        // Where the index cannot be brought up to date, only a scan of the documents tells.
        guard view.core.maintainsIndexes else { return true }
        try view.updateIndex()
        let name = view.indexName
        guard let now = try view.core.read({ try $0.indexRecord(name) })?.place,
            let keys = view.core.indexTouches.keys(name, from: place, to: now)
        else { return true }
        for key in keys where ranges.contains(where: { $0.contains(key) }) { return true }
        place = now
        return false
    }
}

/// Depends on the documents whose IDs are in a range, or in a list.
private struct DocumentsDependency: LiveDependency {
    let core: DatabaseCore
    let range: AllDocumentsRun.IDRange
    var lastPurge: UInt64

    mutating func isTouched(by changed: Set<DocumentID>?) throws -> Bool {
        guard let changed else { return true }
        if changed.contains(where: { range.contains($0) }) { return true }
        // Purges that were forgotten before this process read them have no IDs.
        let state = try core.read { try $0.state() }
        if state.forgottenPurge > lastPurge { return true }
        lastPurge = state.lastPurge
        return false
    }
}
