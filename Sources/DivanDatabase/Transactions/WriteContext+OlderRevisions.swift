// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

// Writing older revisions; RevisionTree+Separation says how a tree is kept in two parts.
//
// What one edit writes beyond what `WriteContext+Revisions` lists, once in 16 edits of a long branch:
//
//     olderRevisions    + a block of links    (append)
//     olderRevisions    - a block that the limit puts out of reach
//
extension WriteContext {
    /// Takes what lies beyond its limits out of a tree, and writes what is kept of that.
    ///
    /// - Returns: The rows that hold bodies which are to be deleted.
    func separate(_ tree: inout RevisionTree, of id: DocumentID) throws -> [SequenceNumber] {
        let limit = revisionLimit
        let separated = tree.separate(depth: min(revisionBodyLimit, limit), limit: limit)
        for block in separated.blocks { try add(block, to: id) }
        // A limit this low leaves no block, but there may be blocks of a time when it was higher.
        let isCut = limit <= revisionBodyLimit && tree.mayHaveOlder
        // A tree that was put together may stay so: then its blocks say what the row says, and would outlive it.
        let wasJoined = joined == id
        joined = nil
        if !separated.blocks.isEmpty || isCut || wasJoined {
            try removeOlder(of: id, besides: tree)
        }
        return separated.sequences
    }

    /// Adds the links of a block to those that are stored.
    private func add(_ block: RevisionBlock, to id: DocumentID) throws {
        let (writer, snapshot) = try transaction()
        let store = snapshot.core.stores.olderRevisions
        let key = OlderRevisionsKey(id, block.number).bytes
        // There is nearly always no block of the number yet.
        let isNew = try withRow {
            block.tree.encode(to: &$0)
        } lent: {
            try writer.insert($0, forKey: key.span, in: store)
        }
        guard !isNew, let stored = try snapshot.olderBlock(block.number, of: id) else { return }
        var union = stored
        union.formUnion(block)
        guard union != stored else { return }
        try withRow {
            union.tree.encode(to: &$0)
        } lent: {
            try writer.set($0, forKey: key.span, in: store)
        }
    }

    /// Removes the blocks that are beyond the limit of every branch of a recent tree; all of them for an empty one.
    func removeOlder(of id: DocumentID, besides tree: RevisionTree = RevisionTree()) throws {
        let (writer, snapshot) = try transaction()
        let wanted = tree.olderBlocks(limit: revisionLimit)
        for key in try snapshot.olderBlocks(of: id, outside: wanted) {
            _ = try writer.remove(key: key.bytes.span, in: snapshot.core.stores.olderRevisions)
        }
    }

    // MARK: - Histories

    /// Returns a record with its whole tree when one of some revisions is an older one, and otherwise as
    /// it is.
    func completing(
        _ record: DocumentRecord, of id: DocumentID, for revisions: [RevisionID]
    ) throws -> DocumentRecord {
        let (_, snapshot) = try transaction()
        let cut = record.tree.highestCut
        for revision in revisions where revision.generation < cut {
            guard record.tree.node(revision) == nil,
                try snapshot.isOlder(revision, record.tree, of: id)
            else { continue }
            var whole = record
            whole.tree = try join(record.tree, of: id)
            return whole
        }
        return record
    }

    /// Puts a document's tree together for a write, and has ``separate(_:of:)`` look what becomes of the blocks.
    private func join(_ tree: RevisionTree, of id: DocumentID) throws -> RevisionTree {
        joined = id
        return try transaction().snapshot.whole(tree, of: id)
    }

    /// Prepares a document's tree for a history to be merged, and the history for the tree.
    ///
    /// The older part is read only where the history meets it: a history that begins above the recent tree needs
    /// nothing of what both have, and is cut off where both continue alike.
    ///
    /// - Returns: The tree, recent or whole, and the history; nil when its revision is an older one, which the
    ///   document has already.
    func meet(_ history: RevisionHistory, _ tree: RevisionTree, of id: DocumentID) throws
        -> (tree: RevisionTree, history: RevisionHistory)?
    {
        guard tree.mayHaveOlder else { return (tree, history) }
        let (_, snapshot) = try transaction()
        if tree.node(history.newest) == nil, try snapshot.isOlder(history.newest, tree, of: id) {
            return nil
        }
        switch tree.meeting(history, limit: revisionLimit) {
        case .within: return (tree, history)
        case .apart: return (try join(tree, of: id), history)
        case .below(let root, let count, let last):
            let number = RevisionBlock.number(ofParents: root.generation - 1)
            let isCut = try snapshot.olderBlock(number, of: id)?.ancestors(of: root).isEmpty
            guard isCut == false else { return (tree, history) }
            // A history that goes back farther than the tree has ancestors that are not known here yet.
            guard try last == root || snapshot.isOlder(last, tree, of: id) else {
                return (try join(tree, of: id), history)
            }
            var shortened = history
            shortened.stem(to: count)
            return (tree, shortened)
        }
    }
}
