// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

// The store `olderRevisions`: RevisionTree+Separation numbers what must hold.
extension Verification {
    /// Checks the older part of a document against its record.
    func checkOlder(_ id: DocumentID, _ tree: RevisionTree, _ snapshot: Snapshot) throws {
        // Where a former release put a tree together, blocks may have stayed that say the same.
        guard tree.mayHaveOlder || tree.nodes.count > 1 else { return }
        let cursor = try snapshot.reader.cursor(in: core.stores.olderRevisions)
        defer { cursor.close() }
        let start = OlderRevisionsKey(id, 0).bytes
        var found = try attempt(id) { try cursor.seek(toAtLeast: start.span) } ?? false
        while found {
            var key: OlderRevisionsKey?
            var block: RevisionBlock?
            try cursor.withKey { key = try? OlderRevisionsKey($0) }
            guard let key, key.documentID == id else { return }
            withOlder.insert(id)
            try attempt(id) {
                try cursor.withValue { row in
                    block = try DatabaseCore.decoding(id) {
                        try RevisionBlock(number: key.number, row)
                    }
                }
            }
            if let block { check(block, of: id, tree) }
            found = try attempt(id) { try cursor.next() } ?? false
        }
    }

    private func check(_ block: RevisionBlock, of id: DocumentID, _ tree: RevisionTree) {
        do { try block.checkInvariants() } catch {
            add("The older revisions of document '\(id)': \(error)", id)
        }
        for node in tree.nodes {
            let generation = node.id.generation
            if node.isLeaf, RevisionBlock.number(ofParents: generation) == block.number,
                block.isParent(node.id)
            {
                add("The leaf \(node.id) of document '\(id)' has a child among the older ones.", id)
            }
            guard let parent = node.parent,
                RevisionBlock.number(ofParents: generation - 1) == block.number,
                let older = block.ancestors(of: node.id).first, older != tree.nodes[parent].id
            else { continue }
            add("The revision \(node.id) of document '\(id)' has two parents.", id)
        }
    }

    /// Looks for rows of `olderRevisions` that belong to no document with older revisions.
    func checkOlderRevisions(_ snapshot: Snapshot) throws {
        try forEachRow(of: core.stores.olderRevisions, snapshot) { cursor in
            var key: OlderRevisionsKey?
            try cursor.withRow { bytes, _ in
                key = try DatabaseCore.decoding(nil) { try OlderRevisionsKey(bytes) }
            }
            guard let id = key?.documentID, !withOlder.contains(id) else { return }
            add("Older revisions of document '\(id)' are stored, but it has none.", id)
        }
    }
}
