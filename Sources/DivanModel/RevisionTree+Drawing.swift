// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Returns the tree as a drawing, one line for each leaf.
    ///
    /// ```
    /// 1-a ─┬─ 2-b ─ 3-d ✝
    ///      └─ 2-c   winner
    /// ┄ 5-e ─ 6-f
    /// ```
    ///
    /// Roots and children stand in the order of their IDs. `✝` marks a tombstone, `┄` a root whose
    /// ancestors are not known.
    ///
    /// - Parameter digestLength: How many characters of each digest to show; `nil` shows all.
    /// - Returns: The lines, without line feeds. There is none for an empty tree.
    public func drawing(digestLength: Int? = nil) -> [String] {
        var canvas = TreeCanvas(tree: self, digestLength: digestLength)
        return canvas.draw()
    }
}

/// Draws a tree line by line, without recursion: a tree can be deeper than the stack.
private struct TreeCanvas {
    /// A revision whose children are being drawn.
    private struct Fork {
        /// The column of the fork's vertical line.
        var column: Int
        /// The children still to draw, the next one last.
        var waiting: [Int]
    }

    private let tree: RevisionTree
    private let digestLength: Int?
    private var children: [[Int]]
    private var roots: [Int] = []
    private var forks: [Fork] = []
    private var lines: [String] = []
    private var line = ""
    private var width = 0

    init(tree: RevisionTree, digestLength: Int?) {
        self.tree = tree
        self.digestLength = digestLength
        children = Array(repeating: [], count: tree.nodes.count)
        for index in tree.nodes.indices.sorted(by: { tree.nodes[$0].id < tree.nodes[$1].id }) {
            if let parent = tree.nodes[index].parent {
                children[parent].append(index)
            } else {
                roots.append(index)
            }
        }
    }

    mutating func draw() -> [String] {
        for root in roots {
            if tree.nodes[root].id.generation > 1 { append("┄ ") }
            drawBranch(from: root)
            while let child = startLineAtFork() { drawBranch(from: child) }
        }
        return lines
    }

    /// Draws a node and its first descendants up to a leaf, and ends the line.
    private mutating func drawBranch(from start: Int) {
        var index = start
        append(label(of: index))
        while let first = children[index].first {
            if children[index].count == 1 {
                append(" ─ ")
            } else {
                let waiting = Array(children[index].dropFirst().reversed())
                forks.append(Fork(column: width + 2, waiting: waiting))
                append(" ─┬─ ")
            }
            index = first
            append(label(of: index))
        }
        if index == 0 { append("   winner") }
        lines.append(line)
        line = ""
        width = 0
    }

    /// Draws the verticals that lead to the next waiting child, and returns it.
    private mutating func startLineAtFork() -> Int? {
        while let fork = forks.last, fork.waiting.isEmpty { forks.removeLast() }
        guard let child = forks.last?.waiting.last else { return nil }
        for fork in forks.dropLast() {
            pad(to: fork.column)
            append(fork.waiting.isEmpty ? " " : "│")
        }
        forks[forks.count - 1].waiting.removeLast()
        let fork = forks[forks.count - 1]
        pad(to: fork.column)
        append(fork.waiting.isEmpty ? "└─ " : "├─ ")
        return child
    }

    private func label(of index: Int) -> String {
        let node = tree.nodes[index]
        var label = node.id.description
        if let digestLength {
            label = "\(node.id.generation)-\(node.id.digest.prefix(digestLength))"
        }
        return node.isTombstone ? label + " ✝" : label
    }

    private mutating func append(_ text: String) {
        line += text
        width += text.count
    }

    private mutating func pad(to column: Int) {
        append(String(repeating: " ", count: max(0, column - width)))
    }
}
