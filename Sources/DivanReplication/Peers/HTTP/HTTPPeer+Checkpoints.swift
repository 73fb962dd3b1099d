// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

// Checkpoints, which are local documents.
extension HTTPPeer {
    /// Reads the local document of a checkpoint.
    ///
    /// - Throws: `ReplicationError`.
    package func checkpoint(_ id: ReplicationID) async throws -> StoredCheckpoint? {
        let response = try await connection.respond(
            to: WireRequest(.get, "_local/\(id.localDocumentID)"))
        if response.status == 404 {
            try await response.drain()
            return nil
        }
        guard case .object(let document) = try await object(response, "a checkpoint").jsonValue()
        else { return nil }
        return StoredCheckpoint(Checkpoint(document), revision: document["_rev"]?.string)
    }

    /// Writes the local document of a checkpoint; it throws `ReplicationError`, with status 409 when
    /// `revision` is not its last one.
    package func write(_ checkpoint: Checkpoint, _ id: ReplicationID, revision: String?)
        async throws
        -> String?
    {
        var document = checkpoint.document
        document["_id"] = .string("_local/\(id.localDocumentID)")
        document["_rev"] = revision.map { .string($0) }
        let response = try await connection.respond(
            to: WireRequest(
                .put, "_local/\(id.localDocumentID)", body: .json(.object(document))))
        return try await object(response, "a checkpoint")["rev"]?.string
    }
}
