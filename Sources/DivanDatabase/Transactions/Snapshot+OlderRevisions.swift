// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

// Reading older revisions. It happens only where a history, a comparison or a merge needs them: a document's
// winner and its conflicts are read without.
extension Snapshot {
    /// The block of older revisions of a number; nil when there is none.
    func olderBlock(_ number: UInt64, of id: DocumentID) throws -> RevisionBlock? {
        var block: RevisionBlock?
        let key = OlderRevisionsKey(id, number).bytes
        _ = try DatabaseCore.blaming(id) {
            try reader.withValue(forKey: key.span, in: core.stores.olderRevisions) { row in
                block = try DatabaseCore.decoding(id) { try RevisionBlock(number: number, row) }
            }
        }
        return block
    }

    /// The blocks of a document whose numbers are in none of some ranges; these are passed over, not walked through.
    func olderBlocks(of id: DocumentID, outside ranges: [ClosedRange<UInt64>]) throws
        -> [OlderRevisionsKey]
    {
        var ranges = ranges[...]
        var found: [OlderRevisionsKey] = []
        let cursor = try reader.cursor(in: core.stores.olderRevisions)
        defer { cursor.close() }
        var next = OlderRevisionsKey(id, 0)
        while try cursor.seek(toAtLeast: next.bytes.span) {
            var key: OlderRevisionsKey?
            try cursor.withKey { key = try? OlderRevisionsKey($0) }
            guard let key, key.documentID == id, key.number < .max else { break }
            while let range = ranges.first, range.upperBound < key.number { ranges.removeFirst() }
            if let range = ranges.first, range.contains(key.number) {
                next.number = range.upperBound + 1
            } else {
                found.append(key)
                next.number = key.number + 1
            }
        }
        return found
    }

    /// How many revision IDs are kept of each branch.
    func revisionLimit() throws -> Int { Int(clamping: try state().revisionLimit) }

    /// The whole tree of a document: with its older revisions, of which only the IDs are kept.
    func wholeTree(_ id: DocumentID) throws -> RevisionTree? {
        guard let tree = try record(id)?.tree else { return nil }
        return try whole(tree, of: id)
    }

    /// Adds the older revisions to a document's recent tree.
    package func whole(_ tree: RevisionTree, of id: DocumentID) throws -> RevisionTree {
        guard tree.mayHaveOlder else { return tree }
        var tree = tree
        try tree.join(limit: revisionLimit()) { try olderBlock($0, of: id) }
        return tree
    }

    /// Whether a revision that is not in the recent tree is one of the older ones.
    func isOlder(_ revision: RevisionID, _ tree: RevisionTree, of id: DocumentID) throws -> Bool {
        guard revision.generation < tree.highestCut else { return false }
        let number = RevisionBlock.number(ofParents: revision.generation)
        return try olderBlock(number, of: id)?.isParent(revision) ?? false
    }

    /// Those of some revisions that are not in the recent tree which are none of the older ones either, in their order. Each
    /// block is read once, however many revisions would be in it.
    func leavingOutOlder(_ revisions: [RevisionID], _ tree: RevisionTree, of id: DocumentID) throws
        -> [RevisionID]
    {
        var parents: [UInt64: Set<RevisionID>] = [:]
        let cut = tree.highestCut
        return try revisions.filter { revision in
            guard revision.generation < cut else { return true }
            let number = RevisionBlock.number(ofParents: revision.generation)
            let known = try parents[number] ?? olderBlock(number, of: id)?.parents ?? []
            parents[number] = known
            return !known.contains(revision)
        }
    }

    /// A revision and its ancestors, newest first, at least as far as the recent tree knows them.
    ///
    /// - Parameters:
    ///   - revision: A revision of the recent tree.
    ///   - tree: The recent tree.
    ///   - id: The document.
    ///   - known: Revisions that the reader has; the history need not go on below one of them.
    /// - Returns: The IDs; none when the revision is not in the recent tree.
    /// - Throws: `DatabaseError` with code `.corrupted` or `.io`.
    func history(
        of revision: RevisionID, _ tree: RevisionTree, _ id: DocumentID, until known: [RevisionID]
    ) throws -> [RevisionID] {
        var ids = tree.history(of: revision)
        guard var last = ids.last, last.generation > 1 else { return ids }
        let known = Set(known)
        if !known.isEmpty, ids.contains(where: known.contains) { return ids }
        let limit = try revisionLimit()
        while last.generation > 1, ids.count < limit {
            let number = RevisionBlock.number(ofParents: last.generation - 1)
            let ancestors = try olderBlock(number, of: id)?.ancestors(of: last) ?? []
            // Where branches share their past, it may be a recent revision again.
            let more = ancestors.isEmpty ? tree.history(of: last).dropFirst() : ancestors
            guard let oldest = more.last else { break }
            for ancestor in more where ids.count < limit {
                ids.append(ancestor)
                if known.contains(ancestor) { return ids }
            }
            last = oldest
        }
        return ids
    }
}
