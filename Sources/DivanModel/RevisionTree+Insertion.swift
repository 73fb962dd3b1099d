// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Adds the revision that a local edit made.
    ///
    /// ```swift
    /// try tree.insert(b, parent: a, isTombstone: false, sequence: 7)
    /// ```
    ///
    /// The edit must be based on a leaf, or create a document where there is none. Otherwise
    /// another writer was faster and the edit is refused, unless `allowConflict` asks for a new branch.
    ///
    /// ```
    /// 1-a ─ 2-b        insert 3-c over 2-b     1-a ─ 2-b ─ 3-c
    ///                  insert 2-d over 1-a     conflict, or 1-a ─┬─ 2-b
    ///                                                            └─ 2-d
    /// ```
    ///
    /// A revision that the tree has already is accepted and changes nothing: the same edit, made
    /// twice, is one revision. To create a document again after its deletion, pass the winning
    /// tombstone as `parent`.
    ///
    /// - Parameters:
    ///   - id: The new revision.
    ///   - parent: The revision that was edited; `nil` to create the document.
    ///   - isTombstone: Whether the edit deletes the document.
    ///   - sequence: The row that holds the new body.
    ///   - allowConflict: Whether the edit may be based on a revision that is no leaf, or start a
    ///     second root.
    /// - Returns: `false` if the tree had the revision already, and is unchanged.
    /// - Throws: `Failure.parentNotFound` if `parent` is not in the tree, `.invalidGeneration` if
    ///   `id` is not one generation above it, and `.conflict` as described.
    @discardableResult
    public mutating func insert(
        _ id: RevisionID, parent: RevisionID?, isTombstone: Bool, sequence: SequenceNumber?,
        allowConflict: Bool = false
    ) throws(Failure) -> Bool {
        var node = Node(
            id: id, isTombstone: isTombstone, isLeaf: true, storedSequence: sequence ?? 0)

        // Find the parent. It is nearly always the winner.
        if let parent {
            guard let index = index(of: parent) else { throw .parentNotFound(parent) }
            guard id.generation == parent.generation + 1 else { throw .invalidGeneration(id) }
            node.parentIndex = Int32(index)
        } else if id.generation != 1 {
            throw .invalidGeneration(id)
        }

        if !nodes.isEmpty {
            if index(of: id) != nil { return false }
            let isBasedOnLeaf = node.parentIndex >= 0 && nodes[Int(node.parentIndex)].isLeaf
            guard isBasedOnLeaf || allowConflict else { throw .conflict }
        }
        add(node)
        return true
    }

    /// One of several edits that are added at once.
    public struct Edit: Sendable, Equatable {
        /// The new revision.
        public var id: RevisionID
        /// The revision that was edited.
        public var parent: RevisionID
        /// Whether the edit deletes its branch.
        public var isTombstone: Bool
        /// The row that holds the new body; `nil` for a revision that the tree has already.
        public var sequence: SequenceNumber?

        /// Makes an edit.
        ///
        /// - Parameters:
        ///   - id: The new revision.
        ///   - parent: The revision that was edited.
        ///   - isTombstone: Whether the edit deletes its branch.
        ///   - sequence: The row that holds the new body.
        public init(
            id: RevisionID, parent: RevisionID, isTombstone: Bool, sequence: SequenceNumber?
        ) {
            self.id = id
            self.parent = parent
            self.isTombstone = isTombstone
            self.sequence = sequence
        }
    }

    /// Adds several edits at once, as resolving a conflict does.
    ///
    /// ```
    /// 1-a ─┬─ 2-b        3-d over 2-b, 3-e ✝ over 2-c        1-a ─┬─ 2-b ─ 3-d
    ///      └─ 2-c                                                 └─ 2-c ─ 3-e ✝
    /// ```
    ///
    /// Arranges the tree once, so that 10,000 edits cost little more than one. A revision that the
    /// tree has already stays as it is, but a root learns its parent.
    ///
    /// - Parameter edits: The edits, each over a leaf, no two of the same revision.
    /// - Throws: `Failure` as the insertion of one edit; the tree is then unchanged.
    public mutating func insert(_ edits: [Edit]) throws(Failure) {
        var places: [RevisionID: Int] = [:]
        places.reserveCapacity(nodes.count + edits.count)
        for (index, node) in nodes.enumerated() { places[node.id] = index }
        for edit in edits {
            guard let parent = places[edit.parent] else { throw .parentNotFound(edit.parent) }
            guard edit.id.generation == edit.parent.generation + 1 else {
                throw .invalidGeneration(edit.id)
            }
            guard nodes[parent].isLeaf || places[edit.id] != nil else { throw .conflict }
        }

        for edit in edits {
            let parent = Int32(places[edit.parent] ?? -1)
            if let known = places[edit.id] {
                if nodes[known].parentIndex < 0 { nodes[known].parentIndex = parent }
                continue
            }
            places[edit.id] = nodes.count
            nodes.append(
                Node(
                    id: edit.id, isTombstone: edit.isTombstone, isLeaf: true, parentIndex: parent,
                    storedSequence: edit.sequence ?? 0))
        }
        arrangeFromLinks()
    }

    /// Adds a leaf that is not in the tree, linked to its parent if it has one.
    mutating func add(_ node: Node) {
        if node.parentIndex == 0 || nodes.isEmpty, staysFirst(node) {
            extendWinner(with: node)
        } else {
            nodes.append(node)
            arrange(addingLeaf: nodes.count - 1, overParents: [Int(node.parentIndex)])
        }
    }

    /// Whether a child of the first node takes its place in winner order.
    ///
    /// A live child does: it is a generation above the leaf that won over all others. A tombstone
    /// gives way to any live leaf, and to a tombstone higher up that its live parent won over.
    private func staysFirst(_ child: Node) -> Bool {
        guard child.isTombstone, let second = secondLeaf else { return true }
        return child.wins(over: second)
    }

    /// Puts a child of the winning revision before it; all else stands as it stood.
    private mutating func extendWinner(with child: Node) {
        nodes.insert(child, at: 0)
        guard nodes.count > 1 else { return }
        nodes[0].parentIndex = 1
        nodes[1].isLeaf = false
        for index in 1..<nodes.count where nodes[index].parentIndex >= 0 {
            nodes[index].parentIndex += 1
        }
    }
}
