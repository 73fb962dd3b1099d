// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanLogging
internal import DivanModel

/// Reads and saves the checkpoint of one run, in the order that `Checkpoint` demands.
///
/// A server that lets nobody write, and so keeps no checkpoints, is no reason to fail: the next run then compares
/// everything anew, which transfers nothing twice.
///
/// State: the checkpoint as last saved, the remote document's revision, and whether the server keeps checkpoints;
/// the actor guards them.
package actor CheckpointKeeper {
    private let id: ReplicationID
    private let local: any ReplicationPeer
    private let remote: any ReplicationPeer
    private let isPush: Bool
    private let incarnation: String
    private let runID: String
    private let now: @Sendable () -> Int64
    private var checkpoint = Checkpoint()
    private var remoteRevision: String?
    private var isKept: Bool

    /// Makes a keeper for one run.
    ///
    /// - Parameters:
    ///   - id: The replication.
    ///   - local: The database whose private UUID is in the ID.
    ///   - remote: The other end.
    ///   - isPush: Whether the local database is the source.
    ///   - incarnation: The local database's present life.
    ///   - isKept: Whether anything is read or saved at all.
    ///   - now: The time in milliseconds since 1970; only for people.
    package init(
        _ id: ReplicationID, local: any ReplicationPeer, remote: any ReplicationPeer, isPush: Bool,
        incarnation: String, isKept: Bool = true, now: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        self.isKept = isKept
        self.id = id
        self.local = local
        self.remote = remote
        self.isPush = isPush
        self.incarnation = incarnation
        self.now = now
        runID = ContentNames.random()
    }

    /// Reads both checkpoints and says where to go on; nil for the beginning, or when it is to be that.
    package func load(resetting: Bool = false) async throws -> RemoteSequence? {
        guard isKept else { return nil }
        let mine = try await local.checkpoint(id)
        let theirs = try await remote.checkpoint(id)
        remoteRevision = theirs?.revision
        let last = isPush ? try await local.information().updateSequence?.number : nil
        let common =
            resetting
            ? nil
            : Checkpoint.common(
                local: mine?.checkpoint, remote: theirs?.checkpoint, incarnation: incarnation,
                lastSequence: last)
        // Entries above the common one tell of what one side has lost; they go with the next saving.
        checkpoint = common == nil ? Checkpoint() : mine?.checkpoint ?? Checkpoint()
        if let common {
            Log.replication.verbose(
                "The replication with '\(remote.name)' goes on after \(common).")
        }
        return common
    }

    /// Saves that everything up to a sequence is safe.
    package func save(_ sequence: RemoteSequence) async throws {
        if isPush { try await remote.ensureDurable() }
        guard isKept else { return }
        let new = checkpoint.adding(
            Checkpoint.Entry(
                sessionID: ContentNames.random(), runID: runID, sequence: sequence,
                incarnation: incarnation, time: now()))
        _ = try await local.write(new, id, revision: nil)
        try await local.ensureDurable()
        // From here on this is what the local database says, whatever becomes of the remote one.
        checkpoint = new
        do {
            remoteRevision = try await remote.write(new, id, revision: remoteRevision)
        } catch let error as ReplicationError {
            if let status = error.status, [401, 403, 405, 501].contains(status) {
                isKept = false
                Log.replication.warning(
                    "'\(remote.name)' takes no checkpoint, so the next run compares everything: \(error)"
                )
                return
            }
            guard error.status == 409 else { throw error }
            // Another copy of this database, or an answer that was lost: read it and write over it.
            remoteRevision = try await remote.checkpoint(id)?.revision
            remoteRevision = try await remote.write(new, id, revision: remoteRevision)
        }
    }
}
