// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanModel

/// In whose name a database of this process is used as an end of a replication.
///
/// A listener has such ends: where a client names a database of its own by a URL with credentials, the replication
/// may do what that user may do over HTTP, and no more. It is asked before every step, so a password, a user or a
/// `_security` that changes counts from the next step on.
package struct PeerAccess: Sendable {
    /// What is about to be done with the database.
    package enum Step: Sendable, CaseIterable {
        /// Asking whether it is there and where it stands.
        case information
        /// Reading its feed.
        case changes
        /// Reading revisions.
        case revisions
        /// Asking which revisions it lacks.
        case comparison
        /// Storing revisions.
        case storing
        /// Storing a design document.
        case storingDesign
        /// Reading a checkpoint.
        case checkpoint
        /// Saving a checkpoint.
        case savingCheckpoint
        /// Forcing to the disk what it has stored.
        case syncing
    }

    /// The user's name. It is part of what checkpoints belong to, since another user may see or store other documents.
    package let user: String
    let check: @Sendable (Step) throws -> Void

    /// Makes an access.
    ///
    /// - Parameters:
    ///   - user: The user's name.
    ///   - check: Throws `ReplicationError` with code `.unauthorized`, `.forbidden` or `.notFound` where the user may
    ///     not do a step. It may block.
    package init(user: String, check: @escaping @Sendable (Step) throws -> Void) {
        self.user = user
        self.check = check
    }
}

/// A database of this process that is used in the name of a user.
struct GuardedPeer: ReplicationPeer {
    let peer: LocalPeer
    let access: PeerAccess

    var name: String { peer.name }

    private func check(_ step: PeerAccess.Step) async throws {
        try await peer.database.background { [access] in try access.check(step) }
    }

    func information() async throws -> PeerInformation {
        try await check(.information)
        return try await peer.information()
    }

    /// The database is there: the user who asked for it to be made was checked then.
    func create(partitioned: Bool) async throws {}

    func changes(_ request: ChangesRequest) async throws -> ChangesPage {
        try await check(.changes)
        let page = try await peer.changes(request)
        // Much may have changed while it waited.
        if request.waits { try await check(.changes) }
        return page
    }

    func missingRevisions(of offers: [PeerChange]) async throws -> [MissingRevisions] {
        try await check(.comparison)
        return try await peer.missingRevisions(of: offers)
    }

    func revisions(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        try await check(.revisions)
        return try await peer.revisions(wanted)
    }

    /// Stores what the user may store; design documents that are for administrators alone are answered as a
    /// server would.
    func put(_ documents: [WireDocument]) async throws -> [PutOutcome] {
        try await check(.storing)
        let isDesign = documents.map { $0.id?.isDesign ?? false }
        guard isDesign.contains(true) else { return try await peer.put(documents) }
        do {
            try await check(.storingDesign)
            return try await peer.put(documents)
        } catch let error as ReplicationError
            where error.code == .forbidden || error.code == .unauthorized
        {
            let stored = try await peer.put(
                zip(documents, isDesign).filter { !$0.1 }.map(\.0))
            return Self.outcomes(of: documents, isDesign, stored, error)
        }
    }

    private static func outcomes(
        of documents: [WireDocument], _ isRefused: [Bool], _ stored: [PutOutcome],
        _ error: ReplicationError
    ) -> [PutOutcome] {
        var rest = stored[...]
        return zip(documents, isRefused).map { document, isRefused in
            guard isRefused else { return rest.popFirst() ?? .failed(error) }
            var refusal = error
            refusal.documentID = document.id
            return .failed(refusal)
        }
    }

    func checkpoint(_ id: ReplicationID) async throws -> StoredCheckpoint? {
        try await check(.checkpoint)
        return try await peer.checkpoint(id)
    }

    func write(_ checkpoint: Checkpoint, _ id: ReplicationID, revision: String?) async throws
        -> String?
    {
        try await check(.savingCheckpoint)
        return try await peer.write(checkpoint, id, revision: revision)
    }

    func ensureDurable() async throws {
        try await check(.syncing)
        try await peer.ensureDurable()
    }
}
