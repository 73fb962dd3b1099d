// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// One drawing of a progress bar: a pure function of how far the work has come.
///
/// ```
/// Importing  [#########-----------]  45%  123,456 documents  88,200/s  0:12 left
/// Importing  123,456 documents  88,200/s  0:34
/// ```
///
/// The second form is for input of unknown length. What does not fit the terminal's width is left
/// out from the right, because a line that wraps cannot be drawn over.
struct ProgressLine: Equatable {
    var title: String
    /// How far the work has come, in the units of `total`: bytes of input, perhaps.
    var completed = 0
    /// How far it will go, if that is known.
    var total: Int?
    /// How many of what is counted are done: "documents".
    var count = 0
    var noun = ""
    var elapsed: Duration = .zero

    func text(width: Int, unicode: Bool) -> String {
        var parts = [title]
        let tail = countParts + [timePart]
        if let fraction {
            let percent = "\(Int(clamping: fraction * 100))%"
            let padded = String(repeating: " ", count: 4 - percent.count) + percent
            let others = ([title, padded] + tail).reduce(0) { $0 + $1.count + 2 }
            // The bar takes what the figures leave: 10 columns at least, 30 at most.
            let columns = min(30, width - others - 3)
            if columns >= 10 {
                parts.append(Self.bar(fraction, columns: columns, unicode: unicode))
            }
            parts.append(padded)
        }
        parts += tail
        return String(parts.joined(separator: "  ").prefix(max(0, width - 1)))
    }

    /// The closing sentence: "Imported 100,000 documents in 1.20 s (83,333/s)".
    var summaryFigures: String {
        let seconds = elapsed.inSeconds
        let figures = "\(Quantity.counted(count, noun)) in \(Quantity.fixed(seconds, 2)) s"
        return rate.map { "\(figures) (\(Quantity.grouped($0))/s)" } ?? figures
    }

    var fraction: Double? {
        guard let total, total > 0 else { return nil }
        return min(1, max(0, Double(completed) / Double(total)))
    }

    private var rate: Int? {
        let seconds = elapsed.inSeconds
        return seconds > 0.001 ? Int(clamping: Double(count) / seconds) : nil
    }

    private var countParts: [String] {
        guard !noun.isEmpty else { return [] }
        let counted = "\(Quantity.grouped(count)) \(noun)s"
        return rate.map { [counted, "\(Quantity.grouped($0))/s"] } ?? [counted]
    }

    /// The time left if the rest goes as fast as what is done; the time passed if unknown.
    private var timePart: String {
        // Before 2 % an estimate is noise.
        guard let fraction, fraction >= 0.02 else { return Quantity.clock(elapsed) }
        let left = elapsed.inSeconds * (1 - fraction) / fraction
        return "\(Quantity.clock(.seconds(left.rounded(.up)))) left"
    }

    private static func bar(_ fraction: Double, columns: Int, unicode: Bool) -> String {
        let full = unicode ? "\u{2588}" : "#"
        let empty = unicode ? "\u{2591}" : "-"
        let filled = Int(clamping: fraction * Double(columns))
        return "[" + String(repeating: full, count: filled)
            + String(repeating: empty, count: columns - filled) + "]"
    }
}
