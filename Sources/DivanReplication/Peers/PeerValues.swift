// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanModel

/// What a peer tells of itself.
package struct PeerInformation: Sendable {
    /// Whether there is a database.
    package var exists: Bool
    /// The place of its last change, as far as it tells.
    package var updateSequence: RemoteSequence?

    /// Makes a description.
    package init(exists: Bool, updateSequence: RemoteSequence? = nil) {
        self.exists = exists
        self.updateSequence = updateSequence
    }
}

/// What is wanted of a changes feed.
package struct ChangesRequest: Sendable {
    /// Where the last reading ended; nil for the beginning.
    package var since: RemoteSequence?
    /// How many changes at most.
    package var limit = 1_000
    /// Whether to wait for a change when there is none.
    package var waits = false
    /// Whether documents that are deleted may be left out, as for a target that is empty.
    package var isActiveOnly = false

    /// Makes a request.
    package init(since: RemoteSequence?) { self.since = since }
}

/// A document in a peer's feed.
package struct PeerChange: Sendable {
    /// The document.
    package var id: DocumentID
    /// Its leaf revisions.
    package var revisions: [RevisionID]
    /// Whether its winning revision is a tombstone.
    package var isDeleted = false

    /// Makes a change.
    package init(id: DocumentID, revisions: [RevisionID], isDeleted: Bool = false) {
        self.id = id
        self.revisions = revisions
        self.isDeleted = isDeleted
    }
}

/// A piece of a peer's feed.
package struct ChangesPage: Sendable {
    /// The changes in their order.
    package var changes: [PeerChange]
    /// Where the next reading begins.
    package var lastSequence: RemoteSequence
    /// Whether the feed's end was reached.
    package var isAtEnd: Bool
    /// How many changes come after these, where the peer tells.
    package var pending: Int?
    /// Rows that make no sense, and documents of which it cannot be told whether they are wanted, each with a sentence.
    package var failures: [ReplicationError] = []

    /// Makes a piece.
    package init(
        changes: [PeerChange], lastSequence: RemoteSequence, isAtEnd: Bool, pending: Int? = nil
    ) {
        self.changes = changes
        self.lastSequence = lastSequence
        self.isAtEnd = isAtEnd
        self.pending = pending
    }
}

/// Revisions of a document that a target lacks.
package struct MissingRevisions: Sendable {
    /// The document.
    package var id: DocumentID
    /// The revisions.
    package var revisions: [RevisionID]
    /// Revisions that the target has, whole, and that the missing ones may descend from.
    package var possibleAncestors: [RevisionID]

    /// Makes a list.
    package init(id: DocumentID, revisions: [RevisionID], possibleAncestors: [RevisionID] = []) {
        self.id = id
        self.revisions = revisions
        self.possibleAncestors = possibleAncestors
    }
}

/// A revision on its way from a source to a target.
package struct FetchedRevision: Sendable {
    /// What came of asking for it.
    package enum Outcome: Sendable {
        /// The revision, with the content of attachments that the target lacks.
        case document(WireDocument)
        /// The source does not have it any more, or does not show it: no longer a part of the feed.
        case gone
        /// The source has told of it, and has never had it, as far as the one knows that was asked: it may have it soon.
        case absent
        /// It could not be fetched.
        case failed(ReplicationError)
    }

    /// The document.
    package var id: DocumentID
    /// The revision that was asked for.
    package var revision: RevisionID
    /// What came of asking for it.
    package var outcome: Outcome

    /// Makes a result.
    package init(id: DocumentID, revision: RevisionID, _ outcome: Outcome) {
        self.id = id
        self.revision = revision
        self.outcome = outcome
    }

    /// The same, with a body of `_removed` taken for the word of the source.
    var believingRemoval: FetchedRevision {
        guard case .document(var document) = outcome, document.saysRemoved else { return self }
        document.isRemoved = true
        return FetchedRevision(id: id, revision: revision, .document(document))
    }
}

/// What a target made of a revision.
package enum PutOutcome: Sendable {
    /// It has it now, or had it before.
    case stored
    /// It has it now, but for attachments that the error names.
    case storedWithout(ReplicationError)
    /// It lacks content that the revision only names: the whole content is needed.
    case needsAttachments
    /// It refused it, or could not take it; the error says whether that lasts.
    case failed(ReplicationError)
}

/// A checkpoint document as a peer keeps it.
package struct StoredCheckpoint: Sendable {
    /// The document.
    package var checkpoint: Checkpoint
    /// The peer's revision of the local document, which an update names; nil where it needs none.
    package var revision: String?

    /// Makes a stored checkpoint.
    package init(_ checkpoint: Checkpoint, revision: String? = nil) {
        self.checkpoint = checkpoint
        self.revision = revision
    }
}
