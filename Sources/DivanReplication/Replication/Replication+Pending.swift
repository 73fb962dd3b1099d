// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
public import DivanModel

// What a push has not brought over yet.
extension Replication {
    /// The documents with changes that are not yet safe at the other end; a pull has none.
    ///
    /// It is read from the database each time, by the checkpoint, also while the other end cannot be
    /// reached. Documents that the filter does not let through, and those that the other end refused for
    /// good, are not pending; those at which it has only failed are.
    ///
    /// It reads all changes since the checkpoint, page by page, without blocking the calling thread. A task that
    /// is cancelled reads no further page.
    ///
    /// - Throws: `DatabaseError` as reading does, `ReplicationError` when the filter is not registered,
    ///   `CancellationError`.
    public func pendingDocumentIDs() async throws -> Set<DocumentID> {
        guard direction == .push else { return [] }
        let filter = try SourceFilter(settings, database)
        var peer = LocalPeer(database)
        peer.filter = filter.function
        var since = try await start(of: peer)
        var pending = try await postponedIDs(of: peer)
        while true {
            let page = try await peer.changes(ChangesRequest(since: since))
            for change in page.changes { pending.insert(change.id) }
            since = page.lastSequence
            if page.isAtEnd { return pending }
        }
    }

    /// Whether a document has changes that are not yet safe at the other end.
    ///
    /// It costs as much as `pendingDocumentIDs()`: ask that once for several documents.
    ///
    /// - Throws: As `pendingDocumentIDs()`.
    public func isDocumentPending(_ id: DocumentID) async throws -> Bool {
        try await pendingDocumentIDs().contains(id)
    }

    /// How many changes of the database lie behind those that are known to be safe at the other end; of a pull none.
    ///
    /// It costs little, and counts also what the filter leaves out, or what the other end has by another way.
    package func pendingChangeCount() async throws -> Int {
        guard direction == .push else { return 0 }
        let since = try await start(of: LocalPeer(database))?.value.uint64 ?? 0
        return Int(clamping: try database.lastSequence.subtractingSaturated(since))
    }

    /// The documents that the checkpoint passes for now.
    private func postponedIDs(of peer: LocalPeer) async throws -> Set<DocumentID> {
        Set(try await peer.checkpoint(Ends.id(self))?.checkpoint.postponed.map(\.id) ?? [])
    }

    /// How far everything is safe: what the run knows, else what the last one noted.
    private func start(of peer: LocalPeer) async throws -> RemoteSequence? {
        if let safe = report.safe { return safe }
        try settings.checkNesting()
        var newest: Checkpoint.Entry?
        for id in [Ends.id(self)] + Ends.earlierIDs(self) {
            let entry = try await peer.checkpoint(id)?.checkpoint.history.first
            if let entry, entry.isFurther(than: newest) { newest = entry }
        }
        return newest?.sequence
    }
}
