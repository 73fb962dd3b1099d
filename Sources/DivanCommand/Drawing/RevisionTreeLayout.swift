// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// Gives every node of a revision tree its place on a grid: generations across, branches down.
///
/// ```
///          column 0   1     2     3
///   row 0      1-a ─ 2-b ─ 3-c ─ 4-d     the winner's branch, straight
///   row 1             └─── 3-e           the next best leaf's, from where it leaves a row above
/// ```
///
/// Branches come in winner order, so a picture's first line is what readers of the document see.
/// Linear in the number of nodes, and no deeper on the stack for a deeper tree.
struct RevisionTreeLayout {
    /// One place for each of the tree's nodes, in their order.
    private(set) var places: [(column: Int, row: Int)]
    private(set) var columns = 0
    private(set) var rows = 0

    init(_ tree: RevisionTree) {
        // Generations without a revision take no room: between disconnected branches there may be
        // any number of them.
        let generations = Set(tree.nodes.map(\.id.generation)).sorted()
        let columnOfGeneration = Dictionary(
            uniqueKeysWithValues: zip(generations, generations.indices))
        columns = generations.count
        places = tree.nodes.map { (columnOfGeneration[$0.id.generation] ?? 0, -1) }
        // Tree order has the leaves in winner order.
        for leaf in tree.nodes.indices where tree.nodes[leaf].isLeaf {
            var index: Int? = leaf
            while let i = index, places[i].row < 0 {
                places[i].row = rows
                index = tree.nodes[i].parent
            }
            rows += 1
        }
    }
}
