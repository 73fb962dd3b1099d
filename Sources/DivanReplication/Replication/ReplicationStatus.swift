// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel

/// How a replication stands at a moment.
public struct ReplicationStatus: Sendable {
    /// What a replication is doing.
    public enum Activity: String, Sendable, Hashable, CaseIterable {
        /// It was not started, has transferred everything, was stopped, or met an error for good.
        case stopped
        /// The other end cannot be reached, or refuses; it tries again by itself.
        case offline
        /// It begins, or begins again: nothing of the other end's answers is known yet.
        case connecting
        /// A continuous replication has transferred everything and waits for changes.
        case idle
        /// It transfers, or finds out what to transfer.
        case active
    }

    /// What it is doing.
    public var activity = Activity.stopped
    /// How many changes were compared with the other end since it was last idle. A document that both ends have
    /// already counts here only.
    public var examined = 0
    /// How many documents were transferred since it was last idle; never more than `total`.
    public var transferred = 0
    /// How many documents were refused since it was last idle: the target does not accept them, or the content of
    /// an attachment is not here. They are tried again when they change, and those at which an end has only failed also by
    /// each later run, and every `retry.longestDelay`.
    public var refused = 0
    /// How many documents are to be transferred in all, as far as it is known: those that were transferred since it
    /// was last idle, and those that the target is known to lack. 0 while nothing is known.
    public var total = 0
    /// How many changes are still to be examined, as far as the source tells how many there are. Each of them may
    /// turn out to be a document to transfer.
    public var pending = 0
    /// The last error, of a document or of everything; nil again after a run without one.
    public var error: ReplicationError?

    /// How long it waits before it tries again, after a failure; nil while it does not wait for that.
    public var nextTry: Duration?

    /// How many changes are not done, as far as they are known of.
    package var unfinished: Int { pending.addingSaturated(total).subtractingSaturated(transferred) }

    /// Whether there is nothing to tell those who know the other status.
    func tellsTheSame(as other: ReplicationStatus) -> Bool {
        activity == other.activity && examined == other.examined
            && transferred == other.transferred && refused == other.refused && total == other.total
            && pending == other.pending && nextTry == other.nextTry
            && (error == nil) == (other.error == nil)
    }
}

/// What became of one document's revision in a replication.
public struct ReplicatedDocument: Sendable {
    /// The document's ID.
    public var id: DocumentID
    /// The revision; nil when the other end named none.
    public var revisionID: RevisionID?
    /// Whether it is a tombstone.
    public var isDeleted: Bool
    /// Whether it says that the other end no longer lets this one see the document; see
    /// `AccessRemoval` for what becomes of it.
    public var isAccessRemoved = false
    /// Whether it went to the other end.
    public var isPush: Bool
    /// Why it was not transferred, or with `.attachmentTooLarge` not whole, or with `.conflictUnresolved` still is in
    /// conflict, which is told of besides its arrival; nil when all is well.
    public var error: ReplicationError?
}
