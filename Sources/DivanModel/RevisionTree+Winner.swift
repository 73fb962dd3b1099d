// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// The revision that stands for the document: the first leaf in winner order.
    ///
    /// `nil` only for an empty tree. A tombstone if every leaf is one.
    public var winner: Node? { nodes.first }

    /// Whether every leaf is a tombstone. `false` for an empty tree.
    public var isDeleted: Bool { nodes.first?.isTombstone ?? false }
}

extension RevisionTree.Node {
    /// Whether this leaf wins over `other`: live over tombstone, then the higher ID.
    ///
    /// Every peer must decide alike, so this is the whole rule.
    func wins(over other: RevisionTree.Node) -> Bool {
        if isTombstone != other.isTombstone { return other.isTombstone }
        return id > other.id
    }
}
