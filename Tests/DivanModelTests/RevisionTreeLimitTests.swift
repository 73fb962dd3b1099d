// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

/// Trees of a size that only peers with ill will, or bad luck, bring about.
@Suite struct RevisionTreeLimitTests {
    private func id(_ generation: Int, _ digest: Int = 0) -> RevisionID {
        RevisionID(generation: UInt64(generation), md5: (UInt64(digest), 1))
    }

    @Test func `a document can have 10,000 conflicting leaves`() throws {
        var tree = RevisionTree()
        try tree.insert(id(1), parent: nil, isTombstone: false, sequence: 1)
        // Merging in one go keeps this test short in debug builds; then each way to add one more.
        var others = RevisionTree()
        for block in 0..<100 {
            var part = RevisionTree()
            for index in 0..<100 {
                part.insert(
                    existing: try RevisionHistory([id(2, block * 100 + index), id(1)]),
                    isTombstone: false, sequence: UInt64(block * 100 + index + 2))
            }
            others.merge(part)
        }
        tree.merge(others)
        #expect(tree.leaves.count == 10_000)
        #expect(tree.winner?.id == id(2, 9_999))

        let clock = ContinuousClock()
        let took = try clock.measure {
            tree.insert(
                existing: try RevisionHistory([id(2, 20_000), id(1)]), isTombstone: true,
                sequence: 20_000)
            try tree.insert(id(3), parent: id(2, 5_000), isTombstone: false, sequence: 20_001)
        }
        // 2 ms each in a release build; a debug build on a busy machine takes longer.
        #expect(took < .seconds(2))
        try checkWhole(tree)
        #expect(tree.winner?.id == id(3))
        #expect(tree.conflicts.count == 9_999)
        #expect(tree.stem(to: 1) == [5_002, 1] || tree.nodes.count == 10_001)
    }

    @Test func `a history can be 10,000 deep`() throws {
        var tree = RevisionTree()
        let history = try RevisionHistory((1...10_000).reversed().map { id($0) })
        tree.insert(existing: history, isTombstone: false, sequence: 1)
        try tree.insert(id(10_001), parent: id(10_000), isTombstone: false, sequence: 2)
        tree.insert(
            existing: try RevisionHistory([id(5_001, 7), id(5_000)]), isTombstone: false,
            sequence: 3)
        try checkWhole(tree)
        #expect(tree.history(of: id(10_001)).count == 10_001)
        #expect(tree.commonAncestor(of: id(10_001), and: id(5_001, 7)) == id(5_000))
        #expect(tree.drawing().count == 2)
        tree.stem(to: 20)
        #expect(tree.nodes.count == 40)
    }

    @Test func `branches off branches are drawn and stemmed without recursion`() throws {
        // A comb: every revision of the trunk has a second child.
        var tree = RevisionTree()
        for generation in 1...500 {
            try tree.insert(
                id(generation), parent: generation == 1 ? nil : id(generation - 1),
                isTombstone: false, sequence: nil, allowConflict: true)
            try tree.insert(
                id(generation, 9), parent: generation == 1 ? nil : id(generation - 1),
                isTombstone: false, sequence: nil, allowConflict: true)
        }
        try checkWhole(tree)
        #expect(tree.drawing().count == tree.leaves.count)
        tree.stem(to: 2)
        try checkWhole(tree)
        #expect(tree.leaves.count == 501)
    }

    @Test func `the highest generation can be stored but not edited`() throws {
        let highest = RevisionID(generation: RevisionID.maximumGeneration, md5: (1, 1))
        var tree = RevisionTree()
        tree.insert(existing: RevisionHistory(highest), isTombstone: false, sequence: 1)
        try checkWhole(tree)
        let child = RevisionID(generation: RevisionID.maximumGeneration, md5: (2, 2))
        #expect(throws: RevisionTree.Failure.invalidGeneration(child)) {
            try tree.insert(child, parent: highest, isTombstone: false, sequence: 2)
        }
    }
}
