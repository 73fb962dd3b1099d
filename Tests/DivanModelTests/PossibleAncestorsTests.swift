// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

/// The ancestors that many missing revisions may have.
@Suite struct PossibleAncestorsTests {
    @Test func `the ancestors of many are those of each together`() throws {
        for round in Soak.rounds(test: 500, soak: 20_000) {
            var random = Soak.random(round: round, salt: 0xA9C)
            let family = RevisionFamily(count: 12, using: &random)
            let tree = try family.randomTree(using: &random)
            let missing = (0..<random.below(5)).map { _ in
                RevisionFamily.randomID(
                    generation: UInt64(1 + random.below(10)), using: &random)
            }
            var expected: Set<RevisionID> = []
            for id in missing { expected.formUnion(tree.possibleAncestors(of: id)) }
            guard tree.possibleAncestors(ofAny: missing) == expected else {
                Issue.record("Seed \(Soak.seed), round \(round): \(tree.drawing()) \(missing)")
                return
            }
        }
        #expect(RevisionTree().possibleAncestors(ofAny: ["1-a"]).isEmpty)
    }

    @Test func `many missing revisions of a large tree take time in proportion`() throws {
        let factor = try Growth.ofEightTimes(250) { count in
            let ids = try (1...count).reversed().map {
                try RevisionID(validating: "\($0)-a")
            }
            var tree = RevisionTree()
            tree.insert(existing: try RevisionHistory(ids), isTombstone: false, sequence: 1)
            let missing = try (1...count).map { try RevisionID(validating: "\($0)-b") }
            #expect(tree.possibleAncestors(ofAny: missing).count == count - 1)
        }
        #expect(factor < Growth.most)
    }
}
