// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The views that an app has named on one database object. One mutex guards the table.
final class ViewRegistry: Sendable {
    private let views = Mutex<[String: View]>([:])

    /// The view of a name, made when it is first asked for.
    func view(_ name: String, in core: DatabaseCore) -> View {
        views.withLock { views in
            if let view = views[name] { return view }
            let view = View(name: name, core: core, registry: self)
            views[name] = view
            return view
        }
    }

    func view(_ name: String) -> View? { views.withLock { $0[name] } }

    func remove(_ view: View) {
        views.withLock { views in
            if views[view.name] === view { views[view.name] = nil }
        }
    }

    /// What the indexer may bring up to date in the same pass.
    func otherDefinitions(than view: View) -> [IndexDefinition] {
        let others = views.withLock { $0.values.filter { $0 !== view && $0.isDefined } }
        return others.compactMap { try? $0.definition() }
    }

    /// Views refer to their registry, so it lets go of them when the database is closed.
    func removeAll() { views.withLock { $0 = [:] } }
}

extension Database {
    /// Returns the view of a name, the same object each time; a new one has no functions yet.
    ///
    /// Nothing is stored before the view has a map function and is queried.
    public func view(named name: String) -> View { views.view(name, in: core) }

    /// Returns the view of a name if it has a map function or a stored index; nil otherwise.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func existingView(named name: String) throws -> View? {
        if let view = views.view(name), view.isDefined { return view }
        try checkOpen()
        let isStored = try core.read { try $0.indexRecord(IndexName(.view, name)) != nil }
        return isStored ? view(named: name) : nil
    }

    /// The names of the views that have a stored index, sorted.
    public func viewNames() throws -> [String] {
        try checkOpen()
        return try core.read { try $0.indexNames().filter { $0.kind == .view }.map(\.name) }
    }
}
