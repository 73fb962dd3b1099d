// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

/// The documents that a run of a planned query looked at, found or not: a change of one of them may
/// change the result though no row of an index does.
///
/// State: `ids`, guarded by its mutex.
final class ExaminedDocuments: Sendable {
    /// Beyond this, the result is taken to depend on every document.
    private static let mostIDs = 10_000

    /// nil when they are too many.
    private let ids = Mutex<Set<DocumentID>?>([])

    func add(_ id: DocumentID) {
        ids.withLock { ids in
            guard let count = ids?.count else { return }
            if count < Self.mostIDs { ids?.insert(id) } else { ids = nil }
        }
    }

    /// Begins anew.
    func removeAll() { ids.withLock { $0 = [] } }

    /// The documents; nil when they are too many.
    var all: Set<DocumentID>? { ids.withLock(\.self) }
}
