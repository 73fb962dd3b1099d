// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Forgets the ancestors that are `depth` or more edits away from every leaf.
    ///
    /// What stays is the union, over all leaves, of the newest `depth` revisions of each branch. No
    /// leaf is ever forgotten, so the winner and the conflicts stay as they are.
    ///
    /// ```
    /// stem to 3
    ///
    /// 1-a ─ 2-b ─ 3-c ─ 4-d              ┄ 2-b ─ 3-c ─ 4-d
    ///
    /// 1-a ─┬─ 2-b ─ 3-c ─ 4-d ─ 5-e      1-a ─ 2-f ✝           2-b is 3 edits from 5-e: the long
    ///      └─ 2-f ✝                      ┄ 3-c ─ 4-d ─ 5-e     branch is cut; 1-a is near 2-f
    /// ```
    ///
    /// As the second picture shows, stemming may cut a branch off from the trunk that a shorter one
    /// still needs. Nothing breaks: winners do not look at roots. But the two have no
    /// ``commonAncestor(of:and:)`` any more, until a peer's history joins them again.
    ///
    /// - Parameter depth: How many revisions to keep of each branch, at least 1.
    /// - Returns: The rows that held bodies of forgotten revisions, in no particular order.
    @discardableResult
    public mutating func stem(to depth: Int) -> [SequenceNumber] {
        precondition(depth >= 1, "Stemming keeps at least the leaf of each branch.")
        // No branch can be longer than the tree.
        if nodes.count <= depth { return [] }
        if leafCount == 1 { return stemSingleBranch(to: depth) }
        return stemBranches(to: depth)
    }

    /// Cuts the end off a tree that is one chain.
    private mutating func stemSingleBranch(to depth: Int) -> [SequenceNumber] {
        let sequences = nodes[depth...].compactMap(\.sequence)
        nodes.removeLast(nodes.count - depth)
        nodes[depth - 1].parentIndex = -1
        return sequences
    }

    private mutating func stemBranches(to depth: Int) -> [SequenceNumber] {
        let lowest = lowestLeafGenerations()
        let isKept = nodes.indices.map { lowest[$0] - nodes[$0].id.generation < UInt64(depth) }
        if isKept.allSatisfy({ $0 }) { return [] }

        // Cut the links into what is forgotten: arranging then drops it, as no leaf leads there.
        let sequences = nodes.indices.compactMap { isKept[$0] ? nil : nodes[$0].sequence }
        for index in nodes.indices {
            if let parent = nodes[index].parent, !isKept[parent] { nodes[index].parentIndex = -1 }
        }
        arrange(leaves: leafIndices)
        return sequences
    }

    /// Returns for each node the lowest generation among the leaves that descend from it.
    ///
    /// The nearest leaf above a node is the one of lowest generation. Chains are visited last to
    /// first: a chain hangs on an earlier one, so each is complete before the one it hangs on.
    func lowestLeafGenerations() -> [UInt64] {
        var lowest = [UInt64](repeating: .max, count: nodes.count)
        var end = nodes.count
        for leaf in leafIndices.reversed() {
            var below = nodes[leaf].id.generation
            for index in leaf..<end {
                below = min(below, lowest[index])
                lowest[index] = below
            }
            if let parent = nodes[end - 1].parent { lowest[parent] = min(lowest[parent], below) }
            end = leaf
        }
        return lowest
    }
}
