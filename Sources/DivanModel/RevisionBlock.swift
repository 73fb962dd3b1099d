// SPDX-License-Identifier: Apache-2.0

/// Some of the older revisions of one document: their IDs and parents, and nothing else.
///
/// A tree with a long past is kept in two parts. The revisions near its leaves, of which more than the ID
/// is known, are rewritten at each save. Older ones never change, so they are written once, in blocks:
///
/// ```
/// generation   …  31   32 … 47   48 … 63   64 … 69   70 … 89
///              ──────┬─────────┬─────────┬─────────────────────
///              block 1  block 2   block 3    the tree: 64 to 89
///              └ 16-a …  └ 32-c …  └ 48-e …  └ 64-g … 89-k, the leaf
///                    to 32-c   to 48-e   to 64-g
/// ```
///
/// Block n holds the links to parents of the generations 16 n to 16 n + 15: the tree of these parents and
/// their children, without bodies, tombstones or sequences. So the revision at a boundary stands on both of
/// its sides, and the parts are put together by the IDs that they share. The generation alone tells which
/// block a link belongs to; whatever its branch, there is one place to look for it.
///
/// ## Invariants
///
/// ``checkInvariants()`` tests each.
///
/// 1. The invariants of ``RevisionTree`` hold.
/// 2. Each parent's generation is one of the block's, and every node has a parent or a child.
/// 3. No node has a sequence or is a tombstone.
package struct RevisionBlock: Sendable, Equatable {
    /// The generations of one block. A save in 16 writes one, and a branch in the tree is up to 15 longer than
    /// it must be.
    package static let span: UInt64 = 16

    /// Which one it is: the generation of its parents divided by ``span``.
    package let number: UInt64

    /// Its revisions.
    package private(set) var tree: RevisionTree

    /// Makes a block of what was stored or is to be.
    ///
    /// - Parameters:
    ///   - number: Which one it is.
    ///   - tree: Its revisions, which are taken as they are.
    package init(number: UInt64, tree: RevisionTree) {
        self.number = number
        self.tree = tree
    }

    /// The number of the block that holds the links to parents of a generation.
    package static func number(ofParents generation: UInt64) -> UInt64 { generation / span }

    /// Adds the links of another block of the same number.
    ///
    /// - Parameter other: The block; the links of both must be true.
    package mutating func formUnion(_ other: RevisionBlock) { tree.merge(other.tree) }

    /// The ancestors of a revision as far as the block knows them, newest first; none for a revision that has no
    /// parent in it.
    package func ancestors(of id: RevisionID) -> ArraySlice<RevisionID> {
        tree.history(of: id).dropFirst()
    }

    /// Whether a revision is a parent in this block, so that it is no leaf of its document.
    package func isParent(_ id: RevisionID) -> Bool { tree.node(id).map { !$0.isLeaf } ?? false }

    /// The revisions that are parents in this block; see ``isParent(_:)``.
    package var parents: Set<RevisionID> { Set(tree.nodes.lazy.filter { !$0.isLeaf }.map(\.id)) }

    /// Tests every invariant listed in the description of ``RevisionBlock``.
    ///
    /// - Throws: `RevisionTree.InvariantViolation` for the first rule found broken.
    package func checkInvariants() throws(RevisionTree.InvariantViolation) {
        try tree.checkInvariants()
        if tree.isEmpty { throw .init(invariant: 2, description: "The block \(number) is empty.") }
        for node in tree.nodes {
            guard node.sequence == nil, !node.isTombstone else {
                throw .init(
                    invariant: 3, description: "\(node.id) has more than its ID in block \(number)."
                )
            }
            let isLonely = node.isLeaf && node.parent == nil
            let isElsewhere = !node.isLeaf && Self.number(ofParents: node.id.generation) != number
            if isLonely || isElsewhere {
                throw .init(
                    invariant: 2, description: "\(node.id) does not belong into block \(number).")
            }
        }
    }
}
