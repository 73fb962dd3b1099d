// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
internal import DivanStorage

/// What became of a revision that was made elsewhere.
package enum RevisionArrival {
    /// It is stored.
    case new
    /// It was here already. Of the contents that it brought the database lacked so many, and has them now.
    case known(supplied: Int)

    /// Whether it was not here.
    package var isNew: Bool { if case .new = self { true } else { false } }
}

extension Snapshot {
    /// The stored revisions that refer to a content, and which of them lack it.
    func references(to key: AttachmentKey) throws -> [(sequence: SequenceNumber, isAbsent: Bool)] {
        var references: [(sequence: SequenceNumber, isAbsent: Bool)] = []
        let cursor = try reader.cursor(in: core.stores.attachmentReferences)
        defer { cursor.close() }
        var found = try cursor.seek(toAtLeast: AttachmentReference.rowKey(key, 0).span)
        while found {
            var isOfOther = false
            try cursor.withRow { row, value in
                let decoded = try DatabaseCore.decoding(nil) { try AttachmentReference.decode(row) }
                isOfOther = decoded.key != key
                if !isOfOther {
                    references.append((decoded.sequence, AttachmentReference.isAbsent(value)))
                }
            }
            if isOfOther { break }
            found = try cursor.next()
        }
        return references
    }

    /// Whether a stored revision lacks a content that a peer may bring.
    func isAwaited(_ key: AttachmentKey) throws -> Bool {
        try references(to: key).contains { $0.isAbsent }
    }

    /// The document whose row stands under a sequence; nil when there is none.
    package func owner(of sequence: SequenceNumber) throws -> (
        id: DocumentID, revision: RevisionID
    )? {
        var owner: (id: DocumentID, revision: RevisionID)?
        _ = try DatabaseCore.blaming(nil) {
            try reader.withValue(forKey: Int64(sequence), in: core.stores.revisions) { row in
                let head = try DatabaseCore.decoding(nil) { try RevisionRow(row) }
                owner = (head.documentID, head.revisionID)
            }
        }
        return owner
    }
}

// Content that comes after the revisions that refer to it, and content that is let go of before them.
//
//     absent ── supply: the file, then the rows, in one transaction ──► here
//       ▲                                                                │
//       └─ unlink ◄── no row needs it? ◄── the log synced ◄── release ───┘
//
// Letting go takes two transactions, since the file must not go before it is on the disk that no revision
// needs it. A revision that is stored between them finds the file, needs it, and so keeps it.
extension WriteContext {
    /// Gives content to the revisions that came without it, and to their documents a new place in the
    /// feed, so that a replication that could not send them without it tries again.
    ///
    /// - Throws: `.documentNotFound` when no stored revision refers to it any more, `.io`, `.storageFull`.
    func supply(_ staged: StagedAttachment, of id: DocumentID?) throws {
        let (writer, snapshot) = try transaction()
        let references = try snapshot.references(to: staged.key)
        guard !references.isEmpty else { throw DatabaseError.attachmentUnwanted(id) }
        try staged.store.place(staged)
        hasPlacedAttachments = true
        beginWrites()
        var waiting: [DocumentID] = []
        for reference in references where reference.isAbsent {
            let row = AttachmentReference(key: staged.key, md5: staged.md5)
            try writer.set(
                row.value.span, forKey: row.rowKey(reference.sequence).span,
                in: snapshot.core.stores.attachmentReferences)
            guard let owner = try snapshot.owner(of: reference.sequence),
                waiting.last != owner.id
            else { continue }
            waiting.append(owner.id)
        }
        for id in Set(waiting) { try republish(id) }
    }

    /// Supplies contents that come along with a revision which is here already without them.
    ///
    /// The revision stays as it is: what it does not name, by the digest, is not taken.
    ///
    /// - Returns: How many contents were missing.
    /// - Throws: `.invalidDocument` when a content is another one than the revision has, `.io`, `.storageFull`.
    func supplyMissing(
        _ content: RevisionContent, of id: DocumentID, _ revision: RevisionID
    ) throws -> Int {
        guard let pending = content.pending else { return 0 }
        let (_, snapshot) = try transaction()
        guard let sequence = try snapshot.record(id)?.tree.node(revision)?.sequence,
            let body = try snapshot.body(id, sequence, expecting: revision)
        else { return 0 }
        let store = snapshot.core.attachments
        // All of them, before the first is taken.
        let staged = try pending.missing(from: store, namedBy: body).map {
            try $0.pending.stage(as: $0.digest, in: store, for: id)
        }
        for content in staged { try supply(content, of: id) }
        return staged.count
    }

    /// Marks the revisions of a document as lacking a content.
    ///
    /// - Throws: `.conflict` when another document refers to it, or a blob, whose content could not be
    ///   brought back.
    func release(_ key: AttachmentKey, of id: DocumentID) throws {
        let (writer, snapshot) = try transaction()
        let references = try snapshot.references(to: key)
        for reference in references {
            guard let owner = try snapshot.owner(of: reference.sequence), owner.id == id,
                let body = try snapshot.body(id, reference.sequence, expecting: owner.revision),
                !body.hasBlob(of: key)
            else { throw DatabaseError.attachmentShared(id) }
        }
        beginWrites()
        for reference in references where !reference.isAbsent {
            let row = AttachmentReference(key: key, isAbsent: true)
            try writer.set(
                row.value.span, forKey: row.rowKey(reference.sequence).span,
                in: snapshot.core.stores.attachmentReferences)
        }
        touch(id)
    }

    /// Removes the file of a content that was released; false when a revision needs it again.
    func removeReleased(_ key: AttachmentKey) throws -> Bool {
        let (writer, snapshot) = try transaction()
        guard try snapshot.references(to: key).allSatisfy(\.isAbsent) else { return false }
        try writer.syncEarlierCommits()
        do { try snapshot.core.attachments.remove(key) } catch { throw DatabaseError.io(error) }
        return true
    }
}

extension PackedValue {
    /// Whether a blob, at any depth, has a content.
    fileprivate func hasBlob(of key: AttachmentKey) -> Bool {
        guard mayHoldBlobs else { return false }
        var isFound = false
        forEachBlob { blob in
            if blob["digest"]?.string.flatMap(AttachmentKey.init(digest:)) == key { isFound = true }
        }
        return isFound
    }
}
