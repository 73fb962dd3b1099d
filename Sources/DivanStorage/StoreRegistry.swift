// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The store names that one engine has met, each with its handle.
///
/// Names are only ever added, so a handle never changes its meaning. One `Mutex` guards the list;
/// it is taken when a name is looked up, which is when a database or an index opens, and when an
/// engine meets a handle for the first time on a connection.
package final class StoreRegistry: Sendable {
    private struct Entries {
        var names: [StoreName] = []
        var handles: [StoreName: Store] = [:]
        var spellings: [String: String] = [:]
    }

    private let entries = Mutex(Entries())

    /// Makes a registry without names.
    package init() {}

    /// Returns the handle of a name, making it if the name is new.
    package func store(_ name: StoreName) -> Store {
        guard let store = storeUnlessTaken(name) else {
            preconditionFailure(
                "The store \(name) is in use with another kind of key or in another case.")
        }
        return store
    }

    /// Returns the handle of a name that was found in a file, which may be damaged.
    ///
    /// - Returns: `nil` when the name is in use with another kind of key or in another case.
    package func storeUnlessTaken(_ name: StoreName) -> Store? {
        entries.withLock { entries in
            if let known = entries.handles[name] {
                return known
            }
            let folded = name.name.lowercased()
            if entries.spellings[folded] != nil {
                return nil
            }
            let store = Store(
                index: entries.names.count, kind: name.kind, seed: ValueChecksum.seed(of: name))
            entries.spellings[folded] = name.name
            entries.names.append(name)
            entries.handles[name] = store
            return store
        }
    }

    /// Returns the name of a handle that this registry gave.
    package func name(of store: Store) -> StoreName {
        entries.withLock { entries in
            precondition(
                store.index < entries.names.count, "A store handle was used with another engine.")
            return entries.names[store.index]
        }
    }
}
