// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanJSON
internal import Synchronization

/// The views that an app has named on one database object, and the followers to tell when one of them
/// gets another definition. One mutex guards both.
final class ViewRegistry: ModuleState {
    private struct Follower {
        /// The view it follows; nil for none, only the closing.
        var name: String?
        var changed: @Sendable () -> Void
    }

    private struct State {
        var views: NameMap<DatabaseView> = [:]
        var followers: [Int: Follower] = [:]
        var nextNumber = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Whether the database object has been closed.
    var isClosed: Bool { state.withLock(\.isClosed) }

    /// The view of a name, made when it is first asked for.
    func view(_ name: String, in core: DatabaseCore) -> DatabaseView {
        state.withLock { state in
            if let view = state.views[name] { return view }
            let view = DatabaseView(name: name, core: core, registry: self)
            state.views[name] = view
            return view
        }
    }

    func view(_ name: String) -> DatabaseView? { state.withLock { $0.views[name] } }

    /// The view that has the name of a view now.
    func current(_ view: DatabaseView) -> DatabaseView {
        view.isOneShot ? view : self.view(view.name) ?? view
    }

    func remove(_ view: DatabaseView) {
        state.withLock { state in
            if state.views[view.name] === view { state.views[view.name] = nil }
        }
    }

    /// What the indexer may bring up to date in the same pass: views that map by themselves, or those of the same
    /// group, so that a group that fails holds up no other view.
    func otherDefinitions(than view: DatabaseView) -> [IndexDefinition] {
        let group = view.groupMapper
        let others = state.withLock { state in
            state.views.values.filter {
                $0 !== view && $0.isDefined && $0.groupMapper === group
            }
        }
        return others.compactMap { try? $0.definition() }
    }

    /// Views refer to their registry, so it lets go of them when the database is closed.
    func close() {
        let followers = state.withLock { state in
            state.views = [:]
            state.isClosed = true
            defer { state.followers = [:] }
            return Array(state.followers.values)
        }
        for follower in followers { follower.changed() }
    }

    // MARK: - Following

    /// Calls `changed` when the view of a name gets other functions, is deleted or made anew, and when
    /// the database object is closed, until the token goes.
    func follow(_ name: String?, _ changed: @escaping @Sendable () -> Void) -> ListenerToken {
        let (number, isClosed) = state.withLock { state in
            state.nextNumber += 1
            if !state.isClosed {
                state.followers[state.nextNumber] = Follower(name: name, changed: changed)
            }
            return (state.nextNumber, state.isClosed)
        }
        if isClosed { changed() }
        return ListenerToken {
            // The closure is let go of outside the lock.
            let follower = self.state.withLock { $0.followers.removeValue(forKey: number) }
            _ = follower
        }
    }

    /// Tells that the view of a name has another meaning.
    func definitionChanged(_ name: String) {
        let followers = state.withLock {
            $0.followers.values.filter { $0.name.hasSameBytes(as: name) }
        }
        for follower in followers { follower.changed() }
    }
}

extension Database {
    /// The views that the app has named on this database object.
    var views: ViewRegistry { states.state(of: ViewRegistry.self) }

    /// Returns the view of a name, the same object each time; a new one has no functions yet.
    ///
    /// Nothing is stored before the view has a map function and is queried.
    public func view(named name: String) -> DatabaseView { views.view(name, in: core) }

    /// Returns the view of a name if it has a map function or a stored index; nil otherwise.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func existingView(named name: String) throws -> DatabaseView? {
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
