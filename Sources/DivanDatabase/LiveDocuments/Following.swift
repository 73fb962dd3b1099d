// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// What a registry is told of its database as long as there are live documents.
///
/// It is told of each commit of this process twice: on the committing thread, where it only notes
/// what is out of date, and on the hub's queue, where it tells observers. Only the hub tells it of
/// other processes' commits.
struct Following: Sendable {
    private let core: DatabaseCore
    private let registry: ObjectIdentifier
    private let token: ListenerToken

    init(_ registry: LiveDocumentRegistry, _ core: DatabaseCore) {
        self.core = core
        self.registry = ObjectIdentifier(registry)
        core.live.add(registry)
        let queue = core.hub.queue
        token = core.hub.follow { [weak registry] event in
            guard case .changed(let change) = event,
                change.isOfAnyDocument || !change.documentIDs.isEmpty
            else { return }
            registry?.announce(change, on: queue)
        }
    }

    func end() {
        core.live.remove(registry)
        token.remove()
    }
}
