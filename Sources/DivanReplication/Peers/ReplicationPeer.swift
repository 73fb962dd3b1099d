// SPDX-License-Identifier: Apache-2.0

/// What a source or a target of a replication can do: one end of the conversation.
///
///     source                                   target
///       │  changes(since: checkpoint)             │
///       ├──────────── IDs and leaves ────────────►│  missingRevisions(of:)
///       │◄─────────── what it lacks ──────────────┤
///       │  revisions(_:)                          │
///       ├──────────── bodies, histories ─────────►│  put(_:)
///       │                                         │  ensureDurable()
///       │◄────────── writeCheckpoint ────────────►│
///
/// A local database is one (`LocalPeer`), a database behind HTTP another (`HTTPPeer`), and the tests
/// have faulty ones. Nothing here knows a status code, a file or a socket.
///
/// Every function may be called again after it failed, and several may run at once. Each throws
/// `ReplicationError`, or `CancellationError` when its task is cancelled.
package protocol ReplicationPeer: Sendable {
    /// What logs and changes call it: its URL without credentials.
    var name: String { get }

    /// Asks whether there is a database, and where it stands.
    func information() async throws -> PeerInformation

    /// Makes the database, partitioned or not; one that exists already is fine, of whichever kind.
    func create(partitioned: Bool) async throws

    /// Reads a piece of the changes feed.
    ///
    /// With `waits` it answers when something changed, or now and then with an empty piece.
    func changes(_ request: ChangesRequest) async throws -> ChangesPage

    /// Says which of the offered revisions it lacks; documents that lack nothing are left out.
    func missingRevisions(of offers: [PeerChange]) async throws -> [MissingRevisions]

    /// Fetches revisions with their histories, and what attachments their target lacks.
    ///
    /// - Returns: At least one result; fewer than asked for when they are large. What is left out is
    ///   asked for again.
    func revisions(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision]

    /// Stores revisions; the results are in their order.
    func put(_ documents: [WireDocument]) async throws -> [PutOutcome]

    /// Reads a checkpoint; nil when there is none.
    func checkpoint(_ id: ReplicationID) async throws -> StoredCheckpoint?

    /// Writes a checkpoint over the revision that reading or writing it last gave, and returns its new
    /// one, where the peer has such.
    func write(_ checkpoint: Checkpoint, _ id: ReplicationID, revision: String?) async throws
        -> String?

    /// Makes everything it stored survive a power loss.
    func ensureDurable() async throws
}
