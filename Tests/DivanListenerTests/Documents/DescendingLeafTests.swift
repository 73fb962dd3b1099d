// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanModel
import DivanTestSupport
import Testing

@testable import DivanListener

/// The leaves that are sent in place of a revision.
@Suite struct DescendingLeafTests {
    /// A tree of a root, and branches above it or beside it.
    private func tree(_ branches: [[String]]) throws -> RevisionTree {
        var tree = RevisionTree()
        for (number, branch) in branches.enumerated() {
            tree.insert(
                existing: try RevisionHistory(branch.map { try RevisionID(validating: $0) }),
                isTombstone: false, sequence: SequenceNumber(number + 1))
        }
        return tree
    }

    @Test func `the leaves of a revision are those above it, in winner order`() throws {
        let tree = try tree([
            ["3-a", "2-a", "1-a"], ["3-b", "2-a", "1-a"], ["2-c", "1-a"], ["4-x", "3-x", "2-x"],
        ])
        for (revision, leaves) in [
            ("1-a", ["3-b", "3-a", "2-c"]), ("2-a", ["3-b", "3-a"]), ("3-a", ["3-a"]),
            ("2-x", ["4-x"]), ("2-b", []),
        ] as [(RevisionID, [RevisionID])] {
            #expect(Call.leaves(of: revision, in: tree) == leaves, "\(revision)")
        }
    }

    @Test func `a tree with many leaves takes time in proportion`() throws {
        let trees = try [100, 800].map { count in
            try tree((0..<count).map { ["2-\($0)", "1-a"] })
        }
        let factor = Growth.ofEightTimes(100) { count in
            let tree = trees[count > 100 ? 1 : 0]
            #expect(Call.leaves(of: "1-a", in: tree).count == count)
        }
        #expect(factor < Growth.most)
    }
}
