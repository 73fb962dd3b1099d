// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A drawing of how the engines compare: for each workload, how many times SQLite's speed LMDB has.
///
/// Bars go right from 1 where LMDB is faster and left where it is slower, on a scale of powers of two.
/// Made of the rows that were measured; the numbers stand beside the bars.
struct Plot {
    private static let rowHeight = 22.0
    private static let left = 190.0
    private static let right = 70.0
    private static let width = 760.0
    private static let top = 52.0
    /// The powers of two that the scale shows.
    private static let powers = -3...4

    private let bars: [(work: String, ratio: Double)]

    /// Takes what both engines have; nil when there is nothing to compare.
    init?(_ rows: [Row]) {
        var bars: [(work: String, ratio: Double)] = []
        for row in rows where row.engine == Engine.divanOnLMDB {
            let other = rows.first { $0.work == row.work && $0.engine == Engine.divan }
            guard let mine = row.perCPUSecond, let other = other?.perCPUSecond, other > 0 else {
                continue
            }
            bars.append((row.work, mine / other))
        }
        guard !bars.isEmpty else { return nil }
        self.bars = bars
    }

    /// The drawing as SVG.
    var svg: String {
        let height = Self.top + Double(bars.count) * Self.rowHeight + 16
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width))" \
            height="\(Int(height))" font-family="sans-serif" font-size="12" role="img" \
            aria-label="LMDB's speed as a multiple of SQLite's, by workload">
            """,
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
            text(16, 22, "LMDB / SQLite, operations for each second of CPU time", size: 14),
        ]
        for power in Self.powers {
            let x = Self.x(pow(2, Double(power)))
            let name = power < 0 ? "1/\(1 << -power)" : "\(1 << power)"
            lines.append(
                """
                <line x1="\(f(x))" x2="\(f(x))" y1="\(f(Self.top - 6))" y2="\(f(height - 12))" \
                stroke="\(power == 0 ? "#444444" : "#dddddd")"/>
                """)
            lines.append(text(x, Self.top - 12, "\(name)×", anchor: "middle", colour: "#666666"))
        }
        for (number, bar) in bars.enumerated() {
            lines += self.lines(of: bar, at: Self.top + Double(number) * Self.rowHeight)
        }
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private func lines(of bar: (work: String, ratio: Double), at y: Double) -> [String] {
        let (one, end) = (Self.x(1), Self.x(bar.ratio))
        let colour = bar.ratio >= 1 ? "#2a7f9e" : "#c0653a"
        return [
            text(Self.left - 10, y + 14, bar.work, anchor: "end"),
            """
            <rect x="\(f(min(one, end)))" y="\(f(y + 3))" width="\(f(max(abs(end - one), 1)))" \
            height="\(f(Self.rowHeight - 8))" fill="\(colour)"/>
            """,
            text(
                max(one, end) + 6, y + 14, String(format: "%.2f", bar.ratio), colour: "#333333"),
        ]
    }

    private func text(
        _ x: Double, _ y: Double, _ words: String, anchor: String = "start",
        colour: String = "#111111", size: Int = 12
    ) -> String {
        """
        <text x="\(f(x))" y="\(f(y))" text-anchor="\(anchor)" fill="\(colour)" \
        font-size="\(size)">\(words)</text>
        """
    }

    private static func x(_ ratio: Double) -> Double {
        let (low, high) = (Double(powers.lowerBound), Double(powers.upperBound))
        let place = (min(max(log2(ratio), low), high) - low) / (high - low)
        return left + place * (width - left - right)
    }

    private func f(_ number: Double) -> String { String(format: "%.1f", number) }
}
