// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// How a document stands at one moment: what a live document shows until something newer is there.
struct LiveSnapshot: Sendable {
    /// The moment.
    var mark: DatabaseMark
    /// The document's place in the changes feed; 0 when there is no such document.
    var updateSequence: SequenceNumber = 0
    var isConflicted = false
    /// The winning revision, tombstones included; nil when there is no such document.
    var contents: RevisionContents?

    /// Reads a document. Where it has not changed since `old`, what `old` has decoded is kept.
    init(
        of id: DocumentID, from reader: Snapshot, replacing old: LiveSnapshot? = nil
    ) throws {
        mark = try reader.state().mark
        guard let head = try reader.head(id) else { return }
        updateSequence = head.updateSequence
        isConflicted = head.isConflicted
        if let known = old?.contents, known.revision == head.winner.id,
            known.sequence == head.winner.sequence ?? 0
        {
            contents = known
        } else {
            contents = RevisionContents(try reader.document(id, node: head.winner))
        }
    }

    /// Whether the document, or what is known of its revisions, differs from another moment's.
    func differs(from other: LiveSnapshot?) -> Bool {
        updateSequence != other?.updateSequence || isConflicted != other?.isConflicted
            || hasOtherRevision(than: other)
    }

    /// Whether the winning revision differs from another moment's.
    ///
    /// The sequence counts, too: a document may have been purged and made anew in between.
    func hasOtherRevision(than other: LiveSnapshot?) -> Bool {
        contents?.revision != other?.contents?.revision
            || contents?.sequence != other?.contents?.sequence
    }
}
