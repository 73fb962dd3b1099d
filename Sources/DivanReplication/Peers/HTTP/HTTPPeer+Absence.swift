// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanModel

// Whether a revision that the server does not give is gone, or not there yet.
//
//     feed: 2-b   _bulk_get: missing   _revs_diff: known   ► gone: a newer one has taken its place, and is in the feed
//                                      _revs_diff: missing ► absent: purged meanwhile, or not yet at the node that was asked
//
// A cluster tells of a change as soon as one node has it, and may ask others for the document.
extension HTTPPeer {
    /// Takes revisions that the server has never had, as far as it knows, for absent.
    ///
    /// - Parameter fetched: What came of asking for revisions.
    /// - Returns: The same, with those that are absent.
    /// - Throws: `ReplicationError` when the server cannot be reached.
    func confirmed(_ fetched: [FetchedRevision]) async throws -> [FetchedRevision] {
        var gone: [DocumentID: [RevisionID]] = [:]
        for one in fetched {
            if case .gone = one.outcome { gone[one.id, default: []].append(one.revision) }
        }
        guard !gone.isEmpty else { return fetched }
        let offers = gone.sorted { $0.key < $1.key }.map {
            PeerChange(id: $0.key, revisions: $0.value)
        }
        let missing: [MissingRevisions]
        do { missing = try await missingRevisions(of: offers) } catch let error as ReplicationError
            where !error.isTransient || error.status == 500 || error.status == 501
        {
            // It does not compare, at least not for readers.
            return fetched
        }
        let absent = Dictionary(missing.map { ($0.id, Set($0.revisions)) }) { $0.union($1) }
        return fetched.map { one in
            guard case .gone = one.outcome, absent[one.id]?.contains(one.revision) ?? false else {
                return one
            }
            return FetchedRevision(id: one.id, revision: one.revision, .absent)
        }
    }
}
