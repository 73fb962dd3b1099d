// SPDX-License-Identifier: Apache-2.0

/// Lines up columns of text for a terminal.
struct TextTable {
    enum Alignment { case left, right }

    private let alignments: [Alignment]
    private var rows: [[String]] = []

    init(_ alignments: [Alignment]) {
        self.alignments = alignments
    }

    mutating func add(_ cells: String...) {
        rows.append(cells)
    }

    /// The rows, two spaces between columns, nothing after the last.
    var lines: [String] {
        var widths = alignments.map { _ in 0 }
        for row in rows {
            for (i, cell) in row.enumerated() { widths[i] = max(widths[i], cell.count) }
        }
        return rows.map { row in
            var line = ""
            for (i, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[i] - cell.count)
                if i > 0 { line += "  " }
                switch alignments[i] {
                case .right: line += padding + cell
                case .left: line += i == row.count - 1 ? cell : cell + padding
                }
            }
            return line
        }
    }
}
