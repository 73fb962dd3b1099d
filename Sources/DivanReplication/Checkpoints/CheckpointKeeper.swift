// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel

/// Reads and saves the checkpoint of one run, in the order that `Checkpoint` demands.
///
/// One-shot and continuous replications of the same pair share one checkpoint. Earlier versions, and Couchbase Lite 1.4,
/// kept one for each kind: what they have left under the other ID is read, too, and counts where it is further. They kept
/// one for all users of a server: the first user who replicates takes that over, and no other.
///
/// What a run begins after is saved under its own ID at once, where it stood under another one.
///
/// A server that takes no checkpoints is no reason to fail: the next run then compares everything anew, which transfers
/// nothing twice.
///
/// State: the checkpoint as last saved, the local document's newest session, the remote document's revision, where the
/// run begins and what was counted before it, and whether the server keeps checkpoints; the actor guards them.
package actor CheckpointKeeper {
    private let id: ReplicationID
    private let earlierIDs: [ReplicationID]
    private let sharedIDs: Set<ReplicationID>
    private let local: any ReplicationPeer
    private let remote: any ReplicationPeer
    private let isPush: Bool
    private let incarnation: String
    private let runID: String
    private let now: @Sendable () -> Int64
    private let began: Int64
    private var start: RemoteSequence?
    /// What was counted before this run.
    private(set) var counted = RevisionCounts()
    private var checkpoint = Checkpoint()
    private var localSession: String?
    private var remoteRevision: String?
    private var isKept: Bool
    /// The revisions that the checkpoint passes for now.
    nonisolated let postponed = PostponedRevisions()
    /// The newest session that the other end is known to have, and when it was seen there.
    private var remoteSession: String?
    private var seen = ContinuousClock.now

    /// Makes a keeper for one run.
    ///
    /// - Parameters:
    ///   - id: The replication.
    ///   - earlierIDs: Where a checkpoint of the same replication may have been left by earlier versions.
    ///   - sharedIDs: Those of them that earlier versions had for all users.
    ///   - local: The database whose private UUID is in the ID.
    ///   - remote: The other end.
    ///   - isPush: Whether the local database is the source.
    ///   - incarnation: The local database's present life.
    ///   - isKept: Whether anything is read or saved at all.
    ///   - now: The time in milliseconds since 1970; only for people.
    package init(
        _ id: ReplicationID, alsoReading earlierIDs: [ReplicationID] = [],
        sharedByUsers sharedIDs: Set<ReplicationID> = [], local: any ReplicationPeer,
        remote: any ReplicationPeer, isPush: Bool,
        incarnation: String, isKept: Bool = true, now: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        self.earlierIDs = earlierIDs
        self.sharedIDs = sharedIDs
        self.isKept = isKept
        self.id = id
        self.local = local
        self.remote = remote
        self.isPush = isPush
        self.incarnation = incarnation
        self.now = now
        began = now()
        runID = ContentNames.random()
    }

    /// Reads both checkpoints and says where to go on; nil for the beginning.
    ///
    /// - Parameters:
    ///   - resetting: Whether to begin anew, whatever they say.
    ///   - first: Where a replication begins that has none.
    ///   - counted: What the runs before have counted; what the checkpoint tells counts where it is more.
    /// - Returns: The place in the source's feed; nil for its beginning.
    /// - Throws: What either end throws.
    package func load(
        resetting: Bool = false, otherwise first: RemoteSequence? = nil,
        counted: RevisionCounts = RevisionCounts()
    ) async throws -> RemoteSequence? {
        let entry = try await startingEntry(resetting: resetting)
        start = entry?.sequence ?? first
        self.counted = counted.orMore(entry?.account?.counts ?? counted)
        return start
    }

    private func startingEntry(resetting: Bool) async throws -> Checkpoint.Entry? {
        guard isKept else { return nil }
        let mine = try await local.checkpoint(id)
        let theirs = try await remote.checkpoint(id)
        remoteRevision = theirs?.revision
        localSession = mine?.checkpoint.history.first?.sessionID
        guard !resetting else {
            // What a run after this one would take for further is no more to be believed.
            for earlier in earlierIDs { try await forget(earlier) }
            return nil
        }
        let last = isPush ? try await local.information().updateSequence?.number : nil
        let common = Checkpoint.commonEntry(
            local: mine?.checkpoint, remote: theirs?.checkpoint, lastSequence: last)
        // Entries above the common one tell of what one side has lost, and must not be believed once both have them again.
        checkpoint = common.flatMap { mine?.checkpoint.upTo($0) } ?? Checkpoint()
        noteRemote(common?.sessionID)
        if common != nil { postponed.begin(with: mine?.checkpoint.postponed ?? []) }
        let start = try await earlier(than: common, last) ?? common
        if let start {
            Log.replication.verbose(
                "The replication with '\(remote.name)' goes on after \(start.sequence).")
        }
        return start
    }

    /// What both ends know under IDs of earlier versions, where it is further. The remote one is asked only if that may be.
    private func earlier(than common: Checkpoint.Entry?, _ last: SequenceNumber?) async throws
        -> Checkpoint.Entry?
    {
        var furthest: Checkpoint.Entry?
        for earlier in earlierIDs {
            let isShared = sharedIDs.contains(earlier)
            guard let mine = try await local.checkpoint(earlier)?.checkpoint,
                !isShared || (common == nil && !mine.isOfKnownUser),
                mine.history.first?.isFurther(than: furthest ?? common) ?? false
            else { continue }
            let entry = Checkpoint.commonEntry(
                local: mine, remote: try await remote.checkpoint(earlier)?.checkpoint,
                lastSequence: last)
            if let entry, entry.isFurther(than: furthest ?? common) { furthest = entry }
        }
        guard let furthest, common == nil, !sharedIDs.isEmpty else { return furthest }
        try await save(furthest.sequence)
        for shared in earlierIDs where sharedIDs.contains(shared) { try await forget(shared) }
        return furthest
    }

    /// Takes what an ID of an earlier version says out of the local database.
    private func forget(_ earlier: ReplicationID) async throws {
        guard let mine = try await local.checkpoint(earlier)?.checkpoint, !mine.history.isEmpty
        else { return }
        _ = try await local.write(Checkpoint(), earlier, revision: nil)
    }

    /// The checkpoint to add to: the one that this run has saved or read, unless another run of the same replication
    /// has saved since. Then that one, which has the entries of both.
    private func base() async throws -> Checkpoint {
        guard let stored = try await local.checkpoint(id)?.checkpoint,
            !(stored.history.first?.sessionID).hasSameBytes(as: localSession)
        else { return checkpoint }
        return stored
    }

    /// Saves which revisions are passed for now, where that is not what the local database has: at the end of a run, which
    /// may have no further checkpoint to save.
    func savePostponed() async throws {
        guard isKept, postponed.isUnsaved,
            var stored = try await local.checkpoint(id)?.checkpoint, !stored.history.isEmpty
        else { return }
        stored.postponed = postponed.list(with: stored.postponed)
        _ = try await local.write(stored, id, revision: nil)
        postponed.noteSaved(stored.postponed)
    }

    /// Writes the checkpoint that the target of a push has once more, which shows whether it can write.
    ///
    /// - Throws: `ReplicationError` when it cannot. One that takes no checkpoints cannot show it.
    func prove() async throws {
        guard isPush, isKept else { return }
        // What it has now: a conflict then says that another run has just written.
        let stored = try await current() ?? Checkpoint()
        do {
            remoteRevision = try await remote.write(
                stored.shared, id, revision: remoteRevision)
        } catch let error as ReplicationError {
            guard !error.isTransient, let status = error.status,
                Self.refusals.contains(status) || status == 409
            else { throw error }
        }
    }

    /// With these a server says that it takes no checkpoint.
    private static let refusals = [401, 403, 405, 501]

    /// For so long the other end is believed to have kept what was saved there.
    private static let belief = Duration.seconds(2)

    private func noteRemote(_ session: String?) {
        remoteSession = session
        seen = .now
    }

    /// Looks whether the other end still has what was saved there, before anything is removed that it is to have.
    ///
    /// - Throws: As `current()`.
    func look() async throws {
        if isKept, remoteSession != nil { _ = try await current() }
    }

    /// What the other end has now.
    ///
    /// - Throws: `ReplicationError` when it has lost what was saved there: it was made anew, or restored from a backup. The
    ///   next run then compares what came after the newest session that both still have.
    private func current() async throws -> Checkpoint? {
        let stored = try await remote.checkpoint(id)
        remoteRevision = stored?.revision
        if let remoteSession, !(stored?.checkpoint.knows(remoteSession) ?? false) {
            throw ReplicationError(
                .server,
                "'\(remote.name)' has lost the checkpoint that was saved there, so what it lacks is compared again.",
                isTransient: true)
        }
        seen = .now
        return stored?.checkpoint
    }

    /// Saves that everything up to a sequence is safe, and what this run has counted up to it.
    package func save(_ sequence: RemoteSequence, _ counts: RevisionCounts = RevisionCounts())
        async throws
    {
        if isPush { try await remote.ensureDurable() }
        guard isKept else { return }
        var theirs = Checkpoint()
        if seen.duration(to: .now) > Self.belief { theirs = try await current() ?? theirs }
        let base = try await base()
        var new = base.adding(
            Checkpoint.Entry(
                sessionID: ContentNames.random(), runID: runID, sequence: sequence,
                incarnation: incarnation, time: now(),
                account: Checkpoint.Account(
                    began: began, start: start, counts: counted + counts)))
        new.postponed = postponed.list(with: base.postponed)
        _ = try await local.write(new, id, revision: nil)
        try await local.ensureDurable()
        postponed.noteSaved(new.postponed)
        // From here on this is what the local database says, whatever becomes of the remote one.
        checkpoint = new
        localSession = new.history.first?.sessionID
        do {
            remoteRevision = try await remote.write(
                new.joined(by: theirs).shared, id, revision: remoteRevision)
        } catch let error as ReplicationError {
            if let status = error.status, Self.refusals.contains(status), !error.isTransient {
                isKept = false
                Log.replication.warning(
                    "'\(remote.name)' takes no checkpoint, so the next run compares everything: \(error.logged)"
                )
                return
            }
            guard error.status == 409 else { throw error }
            // Another copy of this database has saved, or an answer was lost.
            theirs = try await current() ?? theirs
            remoteRevision = try await remote.write(
                new.joined(by: theirs).shared, id, revision: remoteRevision)
        }
        noteRemote(localSession)
    }
}
