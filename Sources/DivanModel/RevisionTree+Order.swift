// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Puts the nodes into tree order, and drops those that no leaf descends from.
    ///
    /// Every facet that changes the shape of a tree does it in two steps: change nodes and links
    /// with no regard to order, then arrange. To remove a branch is to leave its leaf out; to cut a
    /// branch is to clear a link.
    ///
    /// ```
    /// leaves 4-d, 3-e:     walk 4-d → 3-c → 2-b → 1-a → no parent       [4-d 3-c 2-b 1-a]
    ///                      walk 3-e → (2-b stands already: link to it)  [4-d 3-c 2-b 1-a 3-e]
    /// ```
    ///
    /// - Parameter leaves: The places of all leaves that stay, in winner order.
    /// - Returns: The sequences of the dropped nodes, in no particular order.
    @discardableResult
    mutating func arrange(leaves: [Int]) -> [SequenceNumber] {
        var arranged: [Node] = []
        // One more: the next edit often follows at once.
        arranged.reserveCapacity(nodes.count + 1)
        var places = [Int32](repeating: -1, count: nodes.count)

        for leaf in leaves {
            var index = Int32(leaf)
            while index >= 0, places[Int(index)] < 0 {
                var node = nodes[Int(index)]
                places[Int(index)] = Int32(arranged.count)
                index = node.parentIndex
                node.isLeaf = false
                node.parentIndex = Int32(arranged.count + 1)
                arranged.append(node)
            }
            arranged[Int(places[leaf])].isLeaf = true
            arranged[arranged.count - 1].parentIndex = index < 0 ? -1 : places[Int(index)]
        }

        var dropped: [SequenceNumber] = []
        if arranged.count < nodes.count {
            for index in nodes.indices where places[index] < 0 {
                if let sequence = nodes[index].sequence { dropped.append(sequence) }
            }
        }
        nodes = arranged
        return dropped
    }

    /// Arranges nodes of which only the links are known.
    mutating func arrangeFromLinks() {
        var hasChild = [Bool](repeating: false, count: nodes.count)
        for node in nodes where node.parentIndex >= 0 {
            hasChild[Int(node.parentIndex)] = true
        }
        let leaves = nodes.indices.filter { !hasChild[$0] }
        arrange(leaves: leaves.sorted { nodes[$0].wins(over: nodes[$1]) })
    }

    /// Arranges a tree in order to which nodes were appended, of which one is the only new leaf.
    ///
    /// The other leaves are in winner order already, so the new one only needs its place among
    /// them. This keeps an insert linear when a document has thousands of conflicts.
    ///
    /// - Parameters:
    ///   - leaf: The place of the new leaf.
    ///   - parents: The places of old leaves that have become parents.
    mutating func arrange(addingLeaf leaf: Int, overParents parents: [Int]) {
        var leaves: [Int] = []
        var isPlaced = false
        for index in 0..<nodes.count where nodes[index].isLeaf && index != leaf {
            if parents.contains(index) { continue }
            if !isPlaced, nodes[leaf].wins(over: nodes[index]) {
                leaves.append(leaf)
                isPlaced = true
            }
            leaves.append(index)
        }
        if !isPlaced { leaves.append(leaf) }
        arrange(leaves: leaves)
    }
}
