// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// Draws a revision tree as an SVG picture: a pure function of the tree.
///
/// The picture stands alone: its style is inside it, it follows the reader's light or dark colours,
/// and each revision's full ID is its tooltip.
enum RevisionTreeSVG {
    private static let columnWidth = 112
    private static let rowHeight = 56
    private static let margin = 44
    private static let radius = 7

    static func draw(_ tree: RevisionTree, title: String) -> String {
        let layout = RevisionTreeLayout(tree)
        let width = max(1, layout.columns - 1) * columnWidth + 2 * margin
        let height = max(0, layout.rows - 1) * rowHeight + 2 * margin
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
            viewBox="0 0 \(width) \(height)" role="img">
            """,
            "<title>\(escaped(title))</title>",
            style,
        ]
        // Edges first: nodes cover their ends.
        for (i, node) in tree.nodes.enumerated() {
            guard let parent = node.parent else { continue }
            lines.append(edge(from: point(layout.places[parent]), to: point(layout.places[i])))
        }
        let winner = tree.winner?.id
        for (i, node) in tree.nodes.enumerated() {
            let place = point(layout.places[i])
            lines.append(drawing(of: node, at: place, isWinner: node.id == winner))
        }
        lines.append("</svg>")
        return lines.joined(separator: "\n") + "\n"
    }

    private static let style = """
        <style>
        .edge { fill: none; stroke: #8c959f; stroke-width: 2 }
        circle { fill: #8c959f; stroke: #57606a; stroke-width: 2 }
        .leaf circle { fill: #d4a72c; stroke: #9a6700 }
        .winner circle { fill: #2da44e; stroke: #116329 }
        .tombstone circle { fill: none; stroke-dasharray: 3 2 }
        .tombstone text { text-decoration: line-through }
        .winner text { font-weight: bold }
        text { font: 12px ui-monospace, monospace; text-anchor: middle; fill: #24292f }
        @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
        </style>
        """

    private static func point(_ place: (column: Int, row: Int)) -> (x: Int, y: Int) {
        (margin + place.column * columnWidth, margin + place.row * rowHeight)
    }

    /// A straight line within a row; from another row, down at the parent and round the corner.
    private static func edge(from: (x: Int, y: Int), to: (x: Int, y: Int)) -> String {
        guard from.y != to.y else {
            return #"<path class="edge" d="M\#(from.x) \#(from.y)H\#(to.x)"/>"#
        }
        let corner = "V\(to.y - 14)Q\(from.x) \(to.y) \(from.x + 14) \(to.y)"
        return #"<path class="edge" d="M\#(from.x) \#(from.y)\#(corner)H\#(to.x)"/>"#
    }

    private static func drawing(
        of node: RevisionTree.Node, at point: (x: Int, y: Int), isWinner: Bool
    ) -> String {
        var classes = ["revision"]
        if isWinner { classes.append("winner") } else if node.isLeaf { classes.append("leaf") }
        if node.isTombstone { classes.append("tombstone") }
        let name = "\(node.id)"
        let facts = (isWinner ? ", winning" : "") + (node.isTombstone ? ", deleted" : "")
        return """
            <g class="\(classes.joined(separator: " "))">\
            <title>\(escaped(name + facts))</title>\
            <circle cx="\(point.x)" cy="\(point.y)" r="\(radius)"/>\
            <text x="\(point.x)" y="\(point.y - radius - 6)">\(escaped(shortName(node.id)))</text></g>
            """
    }

    /// The generation and as much of the digest as fits a column.
    private static func shortName(_ id: RevisionID) -> String {
        "\(id.generation)-\(id.digest.prefix(8))"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            // XML 1.0 has no way to write most control characters, not even as references.
            case let scalar
            where scalar.value < 0x20 || scalar.value == 0xFFFE
                || scalar.value == 0xFFFF:
                result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
