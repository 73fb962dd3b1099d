// SPDX-License-Identifier: Apache-2.0

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
    /// How many changes are done since it was last idle; never more than `total`.
    public var completed = 0
    /// How many changes are known of since it was last idle; 0 while nothing is known.
    public var total = 0
    /// How many more there are, where the source has told.
    public var pending = 0
    /// The last error, of a document or of everything; nil again after a run without one.
    public var error: ReplicationError?
}

/// What became of one document's revision in a replication.
public struct ReplicatedDocument: Sendable {
    /// The document's ID.
    public var id: String
    /// The revision; nil when the other end named none.
    public var revisionID: String?
    /// Whether it is a tombstone.
    public var isDeleted: Bool
    /// Whether it says that the other end no longer lets this one see the document; see
    /// `AccessRemoval` for what becomes of it.
    public var isAccessRemoved = false
    /// Whether it went to the other end.
    public var isPush: Bool
    /// Why it was not transferred, or with `.attachmentTooLarge` not whole; nil when it was.
    public var error: ReplicationError?
}

/// Keeps a replication's listener: it is called until `remove()`, or until nobody holds the token.
public final class ReplicationToken: Sendable {
    private let removal: @Sendable () -> Void

    init(_ removal: @escaping @Sendable () -> Void) { self.removal = removal }

    deinit { removal() }

    /// Ends the listening; twice is fine.
    public func remove() { removal() }
}
