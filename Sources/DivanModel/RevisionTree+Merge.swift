// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Adds a revision that a peer made, with what the peer said of its ancestors.
    ///
    /// This is never refused: it may make a conflict, which an app or a user resolves later.
    /// Ancestors that the tree lacks are added without bodies.
    ///
    /// ```
    /// the tree             the history              becomes
    ///
    /// 1-a ─ 2-b            3-d 2-c 1-a              1-a ─┬─ 2-b              a second branch
    ///                                                    └─ 2-c ─ 3-d
    ///
    /// 1-a ─ 2-b            7-g 6-f                  1-a ─ 2-b                nothing in common:
    ///                                               ┄ 6-f ─ 7-g              a second root
    ///
    /// 1-a ─ 2-b            5-e 4-d 3-c 2-b          1-a ─ 2-b ─ 3-c ─ 4-d ─┬─ 5-e
    /// ┄ 4-d ─ 5-f                                                          └─ 5-f
    ///                                               the history joins what stemming had parted
    /// ```
    ///
    /// A revision that is in the tree already stays as it is, its parent too; only a root can learn
    /// its parent. So a history that says otherwise about an ancestor, which no digest that covers
    /// the parent allows, cannot turn an ancestor into a leaf.
    ///
    /// - Parameters:
    ///   - history: The revision and its known ancestors.
    ///   - isTombstone: Whether the revision deletes the document.
    ///   - sequence: The row that holds the revision's body.
    /// - Returns: Whether the revision was added, and its sequence is in use. `false` if the tree
    ///   had it already; even then a root may have learned its ancestors.
    @discardableResult
    public mutating func insert(
        existing history: RevisionHistory, isTombstone: Bool, sequence: SequenceNumber?
    ) -> Bool {
        let tip = Node(
            id: history.newest, isTombstone: isTombstone, isLeaf: true,
            storedSequence: sequence ?? 0)

        // Nearly always the revision is a document's first or the winner's child.
        if nodes.isEmpty, history.ids.count == 1 {
            nodes.append(tip)
            return true
        }
        if extendsWinner(history) {
            var child = tip
            child.parentIndex = 0
            add(child)
            return true
        }
        return graft(history, tip: tip)
    }

    /// Whether a history adds a child to the winning revision, and nothing else.
    private func extendsWinner(_ history: RevisionHistory) -> Bool {
        guard let winner = nodes.first, history.ids.count > 1, history.ids[1] == winner.id,
            index(of: history.newest) == nil
        else { return false }
        // The oldest revision that is known of the winner's branch ends the first chain. If the
        // history goes further back, that one learns its ancestors.
        let root = nodes.first { $0.parentIndex < 0 } ?? winner
        return root.id.generation <= history.oldest.generation
    }

    /// Adds what the tree lacks of a history, and links it.
    private mutating func graft(_ history: RevisionHistory, tip: Node) -> Bool {
        let known = places(of: history)
        let oldCount = nodes.count
        var parents: [Int] = []
        var hasNewLink = false
        var child: Int?

        // Go from the newest revision to the oldest. `child` is the node that wants a parent.
        for (position, id) in history.ids.enumerated() {
            let index = known[position] ?? nodes.count
            if index == nodes.count {
                nodes.append(position == 0 ? tip : Node(id: id))
            }
            if let child {
                nodes[child].parentIndex = Int32(index)
                hasNewLink = true
                if nodes[index].isLeaf { parents.append(index) }
            }
            child = index
            guard let parent = nodes[index].parent else { continue }

            // A known revision with a known parent: go on only if the history agrees about it.
            let isAgreed =
                position + 1 < history.ids.count && known[position + 1] == parent
            if !isAgreed { break }
            child = nil
        }

        if known[0] == nil {
            arrange(addingLeaf: oldCount, overParents: parents)
        } else if hasNewLink {
            arrange(leaves: leafIndices.filter { !parents.contains($0) })
        }
        return known[0] == nil
    }

    /// Returns for each revision of a history its place in the tree.
    ///
    /// The generations of a history descend one by one, so a node can only be the one entry with
    /// its generation: one pass over the nodes finds all, without hashing.
    func places(of history: RevisionHistory) -> [Int?] {
        var places = [Int?](repeating: nil, count: history.ids.count)
        let newest = history.newest.generation
        for (index, node) in nodes.enumerated() where node.id.generation <= newest {
            let distance = newest - node.id.generation
            guard distance < UInt64(places.count) else { continue }
            let position = Int(distance)
            if history.ids[position] == node.id { places[position] = index }
        }
        return places
    }

    /// Adds everything that another tree knows.
    ///
    /// The result does not depend on the order in which trees are merged, and merging again changes
    /// nothing: the operation is commutative, associative and idempotent. A tombstone stays one,
    /// and of two sequences the higher is kept; merge trees of one database, or ignore the
    /// sequences. Where two trees disagree about a parent, which no digest that covers the parent
    /// allows, the higher parent is kept.
    ///
    /// - Parameter other: The tree to add.
    public mutating func merge(_ other: RevisionTree) {
        var places: [RevisionID: Int32] = [:]
        for (index, node) in nodes.enumerated() { places[node.id] = Int32(index) }

        // First the revisions, then the links: a parent may come after its child.
        for node in other.nodes {
            if let place = places[node.id] {
                let index = Int(place)
                nodes[index].isTombstone = nodes[index].isTombstone || node.isTombstone
                nodes[index].storedSequence = max(nodes[index].storedSequence, node.storedSequence)
            } else {
                places[node.id] = Int32(nodes.count)
                var copy = node
                copy.parentIndex = -1
                nodes.append(copy)
            }
        }
        for node in other.nodes {
            guard let parent = node.parent, let place = places[node.id],
                let parentPlace = places[other.nodes[parent].id]
            else { continue }
            let known = nodes[Int(place)].parent
            if known.map({ nodes[$0].id < other.nodes[parent].id }) ?? true {
                nodes[Int(place)].parentIndex = parentPlace
            }
        }
        arrangeFromLinks()
    }
}
