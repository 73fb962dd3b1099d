// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
package import DivanStorage

// Writing and removing single rows, and the marks that keep the feed right.
extension WriteContext {
    /// Writes a document's record and adjusts the counters.
    func writeRecord(_ id: DocumentID, old: DocumentRecord?, new: DocumentRecord) throws {
        let (writer, snapshot) = try transaction()
        try withRow {
            new.encode(into: &$0)
        } lent: { row in
            try id.text.withSpan { key in
                try writer.set(row, forKey: key, in: snapshot.core.stores.documents)
            }
        }
        count(old, by: -1)
        count(new, by: 1)
        try noteConflict(id, was: old?.tree.isConflicted ?? false, is: new.tree.isConflicted)
        touch(id)
    }

    /// Writes a document's record again when nothing of it changed that is counted: its tree forgot where
    /// bodies lie, or it has another expiration date.
    package func rewrite(_ id: DocumentID, _ record: DocumentRecord) throws {
        let (writer, snapshot) = try transaction()
        rewrites += 1
        try withRow {
            record.encode(into: &$0)
        } lent: { row in
            try id.text.withSpan { key in
                try writer.set(row, forKey: key, in: snapshot.core.stores.documents)
            }
        }
    }

    /// Keeps the list of documents in conflict; costs nothing unless that has changed.
    func noteConflict(_ id: DocumentID, was: Bool, is isConflicted: Bool) throws {
        guard was != isConflicted else { return }
        let (writer, snapshot) = try transaction()
        try id.text.withSpan { key in
            if isConflicted {
                let nothing: [UInt8] = []
                try writer.set(nothing.span, forKey: key, in: snapshot.core.stores.conflicts)
            } else {
                _ = try writer.remove(key: key, in: snapshot.core.stores.conflicts)
            }
        }
    }

    /// Adds a document's part to the counters, or subtracts it.
    func count(_ record: DocumentRecord?, by step: Int64) {
        guard let record else { return }
        func add(_ counter: inout UInt64) {
            counter = UInt64(bitPattern: Int64(bitPattern: counter) + step)
        }
        if record.tree.isDeleted { add(&state.deletedDocuments) } else { add(&state.liveDocuments) }
        if record.tree.isConflicted { add(&state.conflictedDocuments) }
    }

    func writeRevision(
        _ sequence: SequenceNumber, _ id: DocumentID, _ revision: RevisionID,
        _ content: RevisionContent, consultDocument: Bool, _ writer: any StorageWriter,
        _ core: DatabaseCore
    ) throws {
        DesignValidation.note(id, revision, content, core)
        var flags: RevisionRow.Flags = []
        if content.isDeleted { flags.insert(.tombstone) }
        if consultDocument { flags.insert(.consultDocument) }
        if !content.references.isEmpty {
            flags.insert(.attachments)
            try writeReferences(content.references, sequence, writer, core)
        }
        let length = content.body.byteCount
        let isLarge = length > RevisionRow.largestInlineBody
        if isLarge { flags.insert(.largeBody) }
        if isLarge { try writeLargeBody(sequence, content.body, writer, core) }
        try withRow { row in
            RevisionRow.appendHead(flags: flags, id: id, revision: revision, to: &row)
            if isLarge {
                Varint.append(UInt64(length), to: &row)
            } else {
                content.body.withBytes { row.append(copying: $0) }
            }
        } lent: {
            try writer.set($0, forKey: Int64(sequence), in: core.stores.revisions)
        }
    }

    private func writeLargeBody(
        _ sequence: SequenceNumber, _ body: PackedValue, _ writer: any StorageWriter,
        _ core: DatabaseCore
    ) throws {
        try body.withBytes { bytes in
            for chunk in 0..<LargeBody.chunkCount(bytes.count) {
                let start = chunk * LargeBody.chunkSize
                let end = min(start + LargeBody.chunkSize, bytes.count)
                try writer.set(
                    bytes.extracting(start..<end),
                    forKey: LargeBody.key(sequence, chunk: chunk).span,
                    in: core.stores.largeBodies)
            }
        }
    }

    /// Writes a row without a body that gives a document a new place in the feed.
    func writePointer(
        _ sequence: SequenceNumber, _ id: DocumentID, _ winner: RevisionTree.Node
    ) throws {
        let (writer, snapshot) = try transaction()
        var flags: RevisionRow.Flags = .consultDocument
        if winner.isTombstone { flags.insert(.tombstone) }
        try withRow {
            RevisionRow.appendHead(flags: flags, id: id, revision: winner.id, to: &$0)
        } lent: {
            try writer.set($0, forKey: Int64(sequence), in: snapshot.core.stores.revisions)
        }
    }

    /// Marks the rows that an edit removed from the feed.
    ///
    /// Only two can change: the new revision's parent, which stops being a leaf, and the row at the
    /// document's former place in the feed, which may be another leaf's or a pointer.
    func markSuperseded(
        _ ancestors: ArraySlice<RevisionID>, old: DocumentRecord, new: DocumentRecord,
        _ writer: any StorageWriter, _ snapshot: Snapshot
    ) throws {
        // Only an ancestor can have stopped being a leaf; a document may have 10,000 other leaves.
        var rest = ancestors
        while let ancestor = rest.popFirst() {
            guard let index = old.tree.index(of: ancestor) else { continue }
            let node = old.tree.nodes[index]
            if node.isLeaf, let sequence = node.sequence,
                new.tree.node(ancestor)?.sequence != nil
            {
                try mark(sequence, .dead, writer, snapshot)
            }
            // What it descended from before had a child before.
            rest = rest.dropFirst(old.tree.ancestorCount(ofNodeAt: index))
        }
        try vacate(old.updateSequence, in: new.tree, writer, snapshot)
    }

    /// Takes the row at a document's former place out of the feed.
    func vacate(
        _ sequence: SequenceNumber, in tree: RevisionTree, _ writer: any StorageWriter,
        _ snapshot: Snapshot
    ) throws {
        guard let node = tree.nodes.first(where: { $0.sequence == sequence }) else {
            // A pointer, or the row of a revision that was removed with its document's change.
            _ = try writer.remove(key: Int64(sequence), in: snapshot.core.stores.revisions)
            return
        }
        if node.isLeaf { try mark(sequence, .shadowed, writer, snapshot) }
    }

    func mark(
        _ sequence: SequenceNumber, _ mark: SupersededMark, _ writer: any StorageWriter,
        _ snapshot: Snapshot
    ) throws {
        let value = [mark.rawValue]
        try writer.set(value.span, forKey: Int64(sequence), in: snapshot.core.stores.superseded)
        if mark == .dead { state.deadBodies += 1 }
    }

    /// Deletes a stored revision with everything under its sequence.
    package func removeRevision(
        _ sequence: SequenceNumber, _ writer: any StorageWriter, _ snapshot: Snapshot
    ) throws {
        let stores = snapshot.core.stores
        let key = Int64(sequence)
        var largeLength = 0
        var owner: (id: DocumentID, revision: RevisionID)?
        _ = try writer.withValue(forKey: key, in: stores.revisions) { row in
            // Only the row of a large body, or of a body with attachments, must be decoded.
            let flags = row.isEmpty ? RevisionRow.Flags() : RevisionRow.Flags(rawValue: row[0])
            guard row.isEmpty || !flags.isDisjoint(with: [.largeBody, .attachments]) else { return }
            let head = try DatabaseCore.decoding(nil) { try RevisionRow(row) }
            if head.flags.contains(.largeBody) { largeLength = head.largeLength }
            if head.flags.contains(.attachments) { owner = (head.documentID, head.revisionID) }
        }
        if let owner {
            try removeReferences(sequence, owner.id, owner.revision, writer, snapshot)
        }
        for chunk in 0..<LargeBody.chunkCount(largeLength) {
            let chunkKey = LargeBody.key(sequence, chunk: chunk)
            _ = try writer.remove(key: chunkKey.span, in: stores.largeBodies)
        }
        _ = try writer.remove(key: key, in: stores.revisions)
        var wasDead = false
        let isMarked = try writer.withValue(forKey: key, in: stores.superseded) { value in
            wasDead = value.count > 0 && value[0] == SupersededMark.dead.rawValue
        }
        // A damaged file may have more marks than were counted.
        if wasDead && state.deadBodies > 0 { state.deadBodies -= 1 }
        if isMarked { _ = try writer.remove(key: key, in: stores.superseded) }
    }
}
