// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

/// Soak slices: 4.
@Suite struct RevisionTreePropertyTests {
    @Test func `random edits give what the naive tree gives`() throws {
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 1)
            var pair = TreePair(family: RevisionFamily(count: 14, using: &random))
            for _ in 0..<20 { try pair.step(using: &random) }
            guard pair.agree() else {
                Issue.record("Seed \(Soak.seed), round \(round): \(pair.tree.drawing())")
                return
            }
        }
    }

    @Test func `several edits at once give what they give one after the other`() throws {
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 7)
            let family = RevisionFamily(count: 12, using: &random)
            let tree = try family.randomTree(using: &random)
            let parents = tree.leaves.filter { _ in random.oneIn(2) }.map(\.id)
            var edits = parents.map { parent in
                RevisionTree.Edit(
                    id: RevisionFamily.randomID(generation: parent.generation + 1, using: &random),
                    parent: parent, isTombstone: random.oneIn(2), sequence: 100)
            }
            // Now and then one that is there already: its parent may not be known.
            if let root = tree.nodes.first(where: { $0.parent == nil && $0.id.generation > 1 }),
                let place = edits.firstIndex(where: {
                    $0.id.generation == root.id.generation
                })
            {
                edits[place].id = root.id
            }
            guard Set(edits.map(\.id)).count == edits.count else { continue }
            var expected = tree
            for edit in edits {
                expected.insert(
                    existing: try RevisionHistory([edit.id, edit.parent]),
                    isTombstone: edit.isTombstone, sequence: edit.sequence)
            }
            var edited = tree
            try edited.insert(edits)
            guard edited == expected else {
                Issue.record("Seed \(Soak.seed), round \(round): \(tree.drawing())")
                return
            }
            try checkWhole(edited)
        }
    }

    @Test func `the ancestor of all live leaves is what pairs of them say`() throws {
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 8)
            let family = RevisionFamily(count: 12, using: &random)
            let tree = try family.randomTree(using: &random)
            let live = tree.leaves.filter { !$0.isTombstone }.map(\.id)
            var expected = live.first
            for leaf in live.dropFirst() {
                expected = expected.flatMap { tree.commonAncestor(of: $0, and: leaf) }
            }
            guard tree.commonAncestorOfLiveLeaves?.id == expected else {
                Issue.record("Seed \(Soak.seed), round \(round): \(tree.drawing())")
                return
            }
        }
    }

    @Test func `merge is commutative, associative and idempotent`() throws {
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 2)
            let family = RevisionFamily(count: 12, using: &random)
            let a = try family.randomTree(using: &random)
            let b = try family.randomTree(using: &random)
            let c = try family.randomTree(using: &random)

            let ab = merged(a, b)
            let isSound =
                ab == merged(b, a) && merged(ab, c) == merged(a, merged(b, c))
                && merged(a, a) == a && merged(ab, b) == ab
            var naive = NaiveTree(a)
            naive.merge(NaiveTree(b))
            guard isSound, NaiveTree(ab) == naive else {
                Issue.record("Seed \(Soak.seed), round \(round)")
                return
            }
            try checkWhole(merged(ab, c))
        }
    }

    @Test func `the order in which histories arrive does not matter`() throws {
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 3)
            let family = RevisionFamily(count: 12, using: &random)
            var arrivals: [(member: Int, length: Int)] = []
            for _ in 0..<10 {
                arrivals.append((random.below(12), random.oneIn(2) ? .max : 1 + random.below(4)))
            }
            let first = try tree(of: arrivals, in: family)
            let second = try tree(of: arrivals.shuffled(using: &random), in: family)
            // Which body an ancestor has depends on whether it came on its own, so leave that out.
            guard first.leaves.map(\.id) == second.leaves.map(\.id),
                first.winner?.isTombstone == second.winner?.isTombstone,
                links(of: first) == links(of: second)
            else {
                Issue.record("Seed \(Soak.seed), round \(round)")
                return
            }
        }
    }

    private func merged(_ left: RevisionTree, _ right: RevisionTree) -> RevisionTree {
        var tree = left
        tree.merge(right)
        return tree
    }

    private func tree(
        of arrivals: [(member: Int, length: Int)], in family: RevisionFamily
    ) throws -> RevisionTree {
        var tree = RevisionTree()
        for (member, length) in arrivals {
            tree.insert(
                existing: try RevisionHistory(family.history(of: member, length: length)),
                isTombstone: family.members[member].isTombstone, sequence: 1)
        }
        try checkWhole(tree)
        return tree
    }

    private func links(of tree: RevisionTree) -> [RevisionID: RevisionID?] {
        NaiveTree(tree).revisions.mapValues(\.parent)
    }
}

/// A tree and its naive twin, to which the same things are done.
private struct TreePair {
    let family: RevisionFamily
    var tree = RevisionTree()
    var naive = NaiveTree()
    var sequence: SequenceNumber = 0
    var isEqual = true

    init(family: RevisionFamily) { self.family = family }

    mutating func step(using random: inout SeededRandom) throws {
        sequence += 1 + UInt64(random.below(300))
        switch random.below(10) {
        case 0..<4: edit(using: &random)
        case 4..<8: try replicate(using: &random)
        case 8:
            let depth = 1 + random.below(6)
            expect(Set(tree.stem(to: depth)) == naive.stem(to: depth))
        default:
            guard random.oneIn(3), !tree.isEmpty else { return }
            let ids = (0..<2).map { _ in random.element(of: tree.nodes).id }
            expect(Set(tree.purge(leaves: ids).sequences) == naive.purge(ids))
        }
        try checkWhole(tree)
        expect(agree())
    }

    private mutating func edit(using random: inout SeededRandom) {
        let member = random.element(of: family.members)
        let parent = member.parent.map { family.members[$0].id }
        let allowConflict = random.oneIn(2)
        let isNew = Result { () throws(RevisionTree.Failure) in
            try tree.insert(
                member.id, parent: parent, isTombstone: member.isTombstone, sequence: sequence,
                allowConflict: allowConflict)
        }
        let isNaiveNew = Result { () throws(RevisionTree.Failure) in
            try naive.insert(
                member.id, parent: parent, isTombstone: member.isTombstone, sequence: sequence,
                allowConflict: allowConflict)
        }
        expect(isNew == isNaiveNew)
    }

    private mutating func replicate(using random: inout SeededRandom) throws {
        let member = random.below(family.members.count)
        var ids = family.history(of: member, length: random.oneIn(2) ? .max : 1 + random.below(5))
        // Now and then a history tells a lie about an old ancestor.
        if random.oneIn(20), let last = ids.popLast() {
            ids.append(RevisionID(generation: last.generation, md5: (random.next(), 0)))
        }
        let isTombstone = family.members[member].isTombstone
        let isNew = tree.insert(
            existing: try RevisionHistory(ids), isTombstone: isTombstone, sequence: sequence)
        expect(
            isNew == naive.insert(existing: ids, isTombstone: isTombstone, sequence: sequence))
    }

    private mutating func expect(_ condition: Bool) {
        isEqual = isEqual && condition
    }

    func agree() -> Bool {
        isEqual && NaiveTree(tree) == naive && tree.leaves.map(\.id) == naive.leaves
            && tree.winner?.id == naive.leaves.first
            && tree.nodes.allSatisfy { tree.history(of: $0.id) == naive.history(of: $0.id) }
            && tree.conflicts.map(\.id)
                == naive.leaves.dropFirst().filter { naive.revisions[$0]?.isTombstone == false }
            && tree.isConflicted == !tree.conflicts.isEmpty
    }
}
