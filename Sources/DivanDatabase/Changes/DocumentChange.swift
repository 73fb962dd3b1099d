// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel

/// What became of a document: a new revision, or its purging.
///
/// ```swift
/// let token = try database.addDocumentChangeListener(for: task.id) { change in
///     if change.isConflict { resolve(change.documentID) }
/// }
/// ```
///
/// When a document changed several times before a listener came to look, the listener gets the last
/// change only, so `isConflict` and the other facts describe that change, not each step.
public struct DocumentChange: Sendable, Hashable {
    /// The document's ID.
    public var documentID: DocumentID
    /// The revision that was added; nil for a purge. Where no revision was added and another one
    /// became current, as when single revisions are purged, it is that one.
    public var revisionID: RevisionID?
    /// The place of the change in the feed; nil for a purge, which has none.
    public var sequence: SequenceNumber?
    /// Whether that revision is the document's current one. False for a revision that came from
    /// elsewhere and lost to another, and for a purge.
    public var isCurrentRevision: Bool
    /// Whether the document has more than one live leaf now.
    public var isConflict: Bool
    /// Whether that revision is a tombstone.
    public var isDeletion: Bool
    /// Whether the document was removed without a trace.
    public var isPurge: Bool
    /// Where the change came from.
    public var source: ChangeSource

    /// Makes a change.
    package init(
        documentID: DocumentID, revisionID: RevisionID? = nil, sequence: SequenceNumber? = nil,
        isCurrentRevision: Bool = false, isConflict: Bool = false, isDeletion: Bool = false,
        isPurge: Bool = false, source: ChangeSource = .local
    ) {
        self.documentID = documentID
        self.revisionID = revisionID
        self.sequence = sequence
        self.isCurrentRevision = isCurrentRevision
        self.isConflict = isConflict
        self.isDeletion = isDeletion
        self.isPurge = isPurge
        self.source = source
    }
}

/// What one transaction changed, or several when the listener was busy.
///
/// Each document is in it once, purges first, the rest in the order of their last change. A document
/// that was purged and made anew comes as both.
public struct DatabaseChange: Sendable, Hashable {
    /// The changes; not empty, unless `hasForgottenPurges`. A transaction that changed more than 10,000
    /// documents comes in several pieces.
    public var changes: [DocumentChange]
    /// How far the changes feed has been told: `changes(since:)` goes on from here.
    public var lastSequence: SequenceNumber

    /// Whether there were also purges whose documents are no longer known.
    ///
    /// Compaction keeps the last 10,000 purges. A listener that falls further behind must read all
    /// documents again.
    public var hasForgottenPurges: Bool

    /// The IDs of the changed documents.
    public var documentIDs: [DocumentID] { changes.map(\.documentID) }

    /// Makes a database change.
    package init(
        changes: [DocumentChange], lastSequence: SequenceNumber, hasForgottenPurges: Bool = false
    ) {
        self.changes = changes
        self.hasForgottenPurges = hasForgottenPurges
        self.lastSequence = lastSequence
    }
}
