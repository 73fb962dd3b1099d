// SPDX-License-Identifier: Apache-2.0

import DivanModel
import Testing

/// Each invariant, broken on purpose: a check that never fails checks nothing.
@Suite struct RevisionTreeInvariantsTests {
    private func node(
        _ id: String, parent: Int32 = -1, isLeaf: Bool = false, isTombstone: Bool = false
    ) throws -> RevisionTree.Node {
        RevisionTree.Node(
            id: try RevisionID(validating: id), isTombstone: isTombstone, isLeaf: isLeaf,
            parentIndex: parent)
    }

    private func brokenInvariant(of nodes: [RevisionTree.Node]) -> Int? {
        do throws(RevisionTree.InvariantViolation) {
            try RevisionTree(unchecked: nodes).checkInvariants()
            return nil
        } catch {
            return error.invariant
        }
    }

    @Test func `a whole tree passes`() throws {
        let nodes = try [
            node("3-c", parent: 1, isLeaf: true), node("2-b", parent: 2), node("1-a"),
            node("2-d", parent: 2, isLeaf: true, isTombstone: true),
        ]
        #expect(brokenInvariant(of: nodes) == nil)
        #expect(brokenInvariant(of: []) == nil)
    }

    @Test func `1: a skipped generation, or a parent that is no node`() throws {
        #expect(
            brokenInvariant(of: try [node("3-c", parent: 1, isLeaf: true), node("1-a")]) == 1)
        #expect(brokenInvariant(of: try [node("3-c", parent: 7, isLeaf: true)]) == 1)
        #expect(brokenInvariant(of: try [node("3-c", parent: -2, isLeaf: true)]) == 1)
    }

    @Test func `2: a revision twice`() throws {
        let nodes = try [node("1-a", isLeaf: true), node("1-a", isLeaf: true)]
        #expect(brokenInvariant(of: nodes) == 2)
    }

    @Test func `3: a leaf with a child, or a childless node that is none`() throws {
        let leafWithChild = try [
            node("2-b", parent: 1, isLeaf: true), node("1-a", isLeaf: true),
        ]
        #expect(brokenInvariant(of: leafWithChild) == 3)
        #expect(brokenInvariant(of: try [node("2-b", isLeaf: true), node("1-a")]) == 3)
    }

    @Test func `4: leaves out of winner order`() throws {
        #expect(
            brokenInvariant(of: try [node("1-a", isLeaf: true), node("1-b", isLeaf: true)]) == 4)
        let tombstoneFirst = try [
            node("9-z", isLeaf: true, isTombstone: true), node("1-a", isLeaf: true),
        ]
        #expect(brokenInvariant(of: tombstoneFirst) == 4)
    }

    @Test func `5: an ancestor apart from its chain`() throws {
        // 1-a belongs to the chain of 2-c, which wins, but stands behind 2-b.
        let nodes = try [
            node("2-c", parent: 2, isLeaf: true), node("2-b", parent: 2, isLeaf: true),
            node("1-a"),
        ]
        #expect(brokenInvariant(of: nodes) == 5)
    }
}
