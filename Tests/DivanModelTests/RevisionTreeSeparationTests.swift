// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanModel

/// Trees taken apart and put together.
///
/// Soak slices: 2.
@Suite struct RevisionTreeSeparationTests {
    @Test func `what is taken apart can be put together`() throws {
        for round in Soak.rounds(test: 400, soak: 20_000) {
            var random = Soak.random(round: round, salt: 31)
            let whole = try deepTree(using: &random)
            let depth = 1 + random.below(30)
            var recent = whole
            let separation = recent.separate(depth: depth, limit: 10_000)
            try recent.checkInvariants()
            for block in separation.blocks { try block.checkInvariants() }

            let expected = Set(
                NaiveTree(whole).leaves.flatMap { whole.history(of: $0).prefix(depth) })
            let kept = recent.nodes.filter { $0.sequence != nil }.map(\.id)
            let isRight =
                recent.leaves.map(\.id) == whole.leaves.map(\.id) && Set(kept) == expected
                && separation.sequences.count == whole.nodes.count - expected.count
                && !recent.leaves.contains { leaf in
                    separation.blocks.contains { $0.isParent(leaf.id) }
                }
            var joined = recent
            joined.join(limit: 10_000) { number in
                separation.blocks.first { $0.number == number }
            }
            guard isRight, links(of: joined) == links(of: whole),
                joined.leaves.map(\.id) == recent.leaves.map(\.id)
            else {
                Issue.record("Seed \(Soak.seed), round \(round): \(whole.drawing())")
                return
            }
            try joined.checkInvariants()
        }
    }

    @Test func `a row has no more than fifteen revisions of a branch beyond its depth`() throws {
        var tree = RevisionTree()
        var blocks: [RevisionBlock] = []
        for generation in 1...UInt64(500) {
            try tree.insert(
                id(generation), parent: generation > 1 ? id(generation - 1) : nil,
                isTombstone: false, sequence: generation)
            blocks += tree.separate(depth: 20, limit: 1_000).blocks
            #expect(tree.nodes.count <= 35)
            #expect(tree.nodes.filter { $0.sequence != nil }.count == min(20, Int(generation)))
        }
        // Each was written once, when all of its revisions left the row.
        #expect(blocks.map(\.number) == Array(0..<UInt64(blocks.count)))
        #expect(blocks.allSatisfy { $0.tree.nodes.count <= 17 })
    }

    @Test func `what a limit puts out of reach is forgotten, and told as ranges of blocks`() throws
    {
        var tree = RevisionTree()
        let history = try RevisionHistory((1...100).reversed().map { id($0) })
        tree.insert(existing: history, isTombstone: false, sequence: 1)
        let blocks = tree.separate(depth: 20, limit: 50).blocks
        #expect(blocks.map(\.number).sorted() == [3, 4])
        #expect(tree.olderBlocks(limit: 50) == [3...4])
        #expect(tree.olderBlocks(limit: 1_000) == [0...4])
        #expect(tree.olderBlocks(limit: 21).isEmpty)
        #expect(RevisionTree().olderBlocks(limit: 50).isEmpty)
        tree.join(limit: 50) { number in blocks.first { $0.number == number } }
        #expect(tree.history(of: id(100)) == Array(history.ids.prefix(50)))
    }

    @Test func `a history meets a tree within it, below it or apart from it`() throws {
        var tree = RevisionTree()
        let old = try RevisionHistory((1...100).reversed().map { id($0) })
        tree.insert(existing: old, isTombstone: false, sequence: 1)
        _ = tree.separate(depth: 20, limit: 1_000)
        func meeting(_ history: [RevisionID]) throws -> RevisionTree.Meeting {
            tree.meeting(try RevisionHistory(history), limit: 1_000)
        }
        #expect(try meeting([id(101), id(100)]) == .within)
        #expect(try meeting([id(101)] + old.ids.prefix(21)) == .within)
        #expect(try meeting([id(101)] + old.ids) == .below(id(80), count: 22, last: id(1)))
        #expect(try meeting([id(7)]) == .apart)
        #expect(try meeting((5...101).reversed().map { other($0) }) == .apart)
        #expect(try meeting([other(90)]) == .within)
    }

    @Test func `blocks that say what cannot be are found out`() throws {
        func block(_ number: UInt64, _ ids: [RevisionID], _ sequence: UInt64?) throws -> Int? {
            var tree = RevisionTree()
            tree.insert(
                existing: try RevisionHistory(ids), isTombstone: false, sequence: sequence)
            do { try RevisionBlock(number: number, tree: tree).checkInvariants() } catch {
                return error.invariant
            }
            return nil
        }
        #expect(try block(0, [id(2), id(1)], nil) == nil)
        #expect(try block(0, [id(2), id(1)], 7) == 3)
        #expect(try block(1, [id(2), id(1)], nil) == 2)
        #expect(try block(0, [id(2)], nil) == 2)
        #expect(try block(0, (10...20).reversed().map { id($0) }, nil) == 2)
    }

    // MARK: - Support

    private func id(_ generation: UInt64) -> RevisionID {
        RevisionID(generation: generation, md5: (generation, 0))
    }

    private func other(_ generation: UInt64) -> RevisionID {
        RevisionID(generation: generation, md5: (generation, 1))
    }

    /// A tree of a few branches, some of them long, that begin anywhere; each node has a sequence.
    private func deepTree(using random: inout SeededRandom) throws -> RevisionTree {
        var tree = RevisionTree()
        var sequence: SequenceNumber = 0
        for branch in 0..<1 + random.below(4) {
            var parent: RevisionID? =
                tree.isEmpty || random.oneIn(6) ? nil : random.element(of: tree.nodes).id
            for _ in 0..<1 + random.below(random.oneIn(2) ? 120 : 8) {
                sequence += 1
                let next = RevisionID(
                    generation: (parent?.generation ?? 0) + 1, md5: (sequence, UInt64(branch)))
                try tree.insert(
                    next, parent: parent, isTombstone: random.oneIn(20), sequence: sequence,
                    allowConflict: true)
                parent = next
            }
        }
        return tree
    }

    private func links(of tree: RevisionTree) -> [RevisionID: RevisionID?] {
        NaiveTree(tree).revisions.mapValues(\.parent)
    }
}
