// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// The leaves in winner order: the winning revision, then the conflicts, then tombstones.
    public var leaves: [Node] { nodes.filter(\.isLeaf) }

    /// The live leaves that lost, in winner order.
    ///
    /// A tombstone beside a live leaf is no conflict, and neither are two tombstones: nothing is
    /// left to choose.
    public var conflicts: [Node] {
        nodes.dropFirst().filter { $0.isLeaf && !$0.isTombstone }
    }

    /// Whether two or more leaves are live.
    public var isConflicted: Bool {
        // Live leaves stand before tombstones, so the second leaf decides.
        secondLeaf.map { !$0.isTombstone } ?? false
    }

    /// The leaf that would win if there were no winner.
    var secondLeaf: Node? { nodes.dropFirst().first { $0.isLeaf } }

    /// The number of leaves.
    var leafCount: Int { nodes.reduce(0) { $1.isLeaf ? $0 + 1 : $0 } }

    /// The places of the leaves, in winner order.
    var leafIndices: [Int] { nodes.indices.filter { nodes[$0].isLeaf } }
}
