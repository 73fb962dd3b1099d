// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Adds the revision that a local edit made.
    ///
    /// ```swift
    /// try tree.insert(b, parent: a, isTombstone: false, sequence: 7)
    /// ```
    ///
    /// The edit must be based on a leaf, or a new document be wanted where none is; otherwise
    /// somebody was faster and the edit is refused, unless `allowConflict` asks for a new branch.
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
