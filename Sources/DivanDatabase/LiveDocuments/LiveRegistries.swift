// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The registries of a core's handles that have live documents, told of each commit at once.
///
/// Called on the committing thread, before the commit returns to its caller and before any listener
/// is notified, so that no thread that knows of a commit is shown what was before. Costs one atomic
/// load while there are no live documents.
///
/// State: `registries`, under its mutex; they are called outside it.
final class LiveRegistries: Sendable {
    private struct Member {
        weak var registry: LiveDocumentRegistry?
    }

    private let members = Mutex<[ObjectIdentifier: Member]>([:])
    private let count = Atomic<Int>(0)

    func add(_ registry: LiveDocumentRegistry) {
        members.withLock { members in
            members[ObjectIdentifier(registry)] = Member(registry: registry)
            count.store(members.count, ordering: .releasing)
        }
    }

    func remove(_ registry: ObjectIdentifier) {
        members.withLock { members in
            members[registry] = nil
            count.store(members.count, ordering: .releasing)
        }
    }

    /// Says that a transaction has been committed.
    func committed(_ commit: Commit) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        let registries = members.withLock { $0.values.compactMap(\.registry) }
        for registry in registries { registry.require(commit.end, of: commit.documentIDs) }
    }
}
