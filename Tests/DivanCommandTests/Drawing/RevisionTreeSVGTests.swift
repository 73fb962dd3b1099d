// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanCommand

@Suite struct RevisionTreeSVGTests {
    private func tree(_ histories: [String]..., tombstones: Set<String> = []) throws -> RevisionTree
    {
        var tree = RevisionTree()
        for (i, history) in histories.enumerated() {
            let ids = try history.map { try RevisionID(validating: $0) }
            let isTombstone = tombstones.contains(history[0])
            tree.insert(
                existing: try RevisionHistory(ids), isTombstone: isTombstone,
                sequence: SequenceNumber(i + 1))
        }
        return tree
    }

    private func count(_ part: String, in text: String) -> Int {
        text.split(separator: part, omittingEmptySubsequences: false).count - 1
    }

    @Test func `the winner's branch is the first row and others begin where they leave it`() throws
    {
        let tree = try tree(["3-c", "2-b", "1-a"], ["3-b", "2-x", "1-a"])
        let layout = RevisionTreeLayout(tree)
        var places: [String: [Int]] = [:]
        for (node, place) in zip(tree.nodes, layout.places) {
            places["\(node.id)"] = [place.column, place.row]
        }
        #expect(
            places == [
                "3-c": [2, 0], "2-b": [1, 0], "1-a": [0, 0], "3-b": [2, 1], "2-x": [1, 1],
            ])
        #expect(layout.columns == 3)
        #expect(layout.rows == 2)
    }

    @Test func `every revision is drawn, marked and joined to its parent`() throws {
        let tree = try tree(["2-b", "1-a"], ["3-d", "2-c", "1-a"], tombstones: ["3-d"])
        let svg = RevisionTreeSVG.draw(tree, title: "notes")
        #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
        #expect(svg.hasSuffix("</svg>\n"))
        #expect(count("<circle", in: svg) == 4)
        #expect(count("<path class=\"edge\"", in: svg) == 3)
        #expect(svg.contains("<title>2-b, winning</title>"))
        #expect(svg.contains("<title>3-d, deleted</title>"))
    }

    @Test func `text from outside cannot break out of the picture`() throws {
        let tree = try tree(["1-<b>&\""])
        let svg = RevisionTreeSVG.draw(tree, title: "</title><script>\u{1}")
        #expect(!svg.contains("<script>"))
        #expect(!svg.contains("<b>"))
        #expect(svg.contains("&lt;/title&gt;&lt;script&gt;\u{FFFD}"))
    }

    @Test func `branches far apart in generation take no more room than they have revisions`()
        throws
    {
        let tree = try tree(["1-a"], ["9007199254740992-z"])
        #expect(RevisionTreeLayout(tree).columns == 2)
    }

    @Test func `an empty tree is an empty picture`() {
        let svg = RevisionTreeSVG.draw(RevisionTree(), title: "")
        #expect(count("<circle", in: svg) == 0)
    }

    @Test func `a thousand conflicting leaves are drawn`() throws {
        var tree = RevisionTree()
        let root = RevisionID("1-a")
        for i in 0..<1_000 {
            let leaf = RevisionID("2-\(i)")
            tree.insert(
                existing: try RevisionHistory([leaf, root]), isTombstone: false, sequence: nil)
        }
        #expect(RevisionTreeLayout(tree).rows == 1_000)
    }
}
