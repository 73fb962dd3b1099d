// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// A rule of ``RevisionTree`` that a tree breaks: a defect of Divan, or damage.
    public struct InvariantViolation: Error, Sendable, Equatable, CustomStringConvertible {
        /// The number of the invariant in the description of ``RevisionTree``.
        public var invariant: Int

        /// One sentence that says which revision breaks it, and how.
        public var description: String
    }

    /// Tests every invariant listed in the description of ``RevisionTree``.
    ///
    /// Takes O(n) time, so a save does not call it; tests call it after each step, and `divan
    /// verify` for each document.
    ///
    /// - Throws: `InvariantViolation` for the first rule found broken.
    public func checkInvariants() throws(InvariantViolation) {
        try checkLinks()
        try checkIDs()
        try checkLeaves()
        try checkChains()
        for node in nodes
        where !node.id.isValid || node.id.generation > RevisionID.maximumGeneration {
            throw .init(
                invariant: 1, description: "\(node.id) has a generation that none can have.")
        }
    }

    /// Invariant 1.
    private func checkLinks() throws(InvariantViolation) {
        for node in nodes where node.parentIndex != -1 {
            guard nodes.indices.contains(Int(node.parentIndex)) else {
                throw .init(invariant: 1, description: "The parent of \(node.id) is no node.")
            }
            let parent = nodes[Int(node.parentIndex)].id
            if node.id.generation != parent.generation + 1 {
                throw .init(
                    invariant: 1,
                    description: "\(node.id) is not one generation above its parent \(parent).")
            }
        }
    }

    /// Invariant 2.
    private func checkIDs() throws(InvariantViolation) {
        var seen: Set<RevisionID> = []
        for node in nodes where !seen.insert(node.id).inserted {
            throw .init(invariant: 2, description: "\(node.id) occurs twice.")
        }
    }

    /// Invariants 3 and 4.
    private func checkLeaves() throws(InvariantViolation) {
        var hasChild = [Bool](repeating: false, count: nodes.count)
        for node in nodes {
            if let parent = node.parent { hasChild[parent] = true }
        }
        var previous: Node?
        for (index, node) in nodes.enumerated() {
            if node.isLeaf == hasChild[index] {
                let claim = node.isLeaf ? "a leaf but has a child" : "no leaf but has no child"
                throw .init(invariant: 3, description: "\(node.id) is marked as \(claim).")
            }
            guard node.isLeaf else { continue }
            if let previous, !previous.wins(over: node) {
                throw .init(
                    invariant: 4,
                    description: "The leaf \(previous.id) stands before \(node.id), which wins.")
            }
            previous = node
        }
        if let first = nodes.first, !first.isLeaf {
            throw .init(invariant: 4, description: "The first node \(first.id) is no leaf.")
        }
    }

    /// Invariant 5.
    private func checkChains() throws(InvariantViolation) {
        for (index, node) in nodes.enumerated() where !node.isLeaf {
            if nodes[index - 1].parent != index {
                throw .init(
                    invariant: 5, description: "\(node.id) does not stand behind a child of its.")
            }
        }
        for (index, node) in nodes.enumerated() {
            if let parent = node.parent, parent > index + 1 {
                throw .init(
                    invariant: 5,
                    description: "\(node.id) stands before its parent's chain.")
            }
        }
    }
}
