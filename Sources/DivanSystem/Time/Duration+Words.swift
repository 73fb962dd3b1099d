// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// The duration as a person reads it in a log or a message: "350 ms", "3.8 s", "45 s", "2 min 5 s", "1 h 30 min".
    ///
    /// It is rounded to the last unit that is written: Swift's own description of a delay gives up to eighteen digits,
    /// of which readers need one or two. What is negative is nothing.
    package var words: String {
        let (seconds, attoseconds) = max(self, .zero).components
        let milliseconds = (attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000
        if seconds == 0, milliseconds < 1_000 { return "\(milliseconds) ms" }
        let tenths = (attoseconds + 50_000_000_000_000_000) / 100_000_000_000_000_000
        if seconds < 10, tenths % 10 > 0 { return "\(seconds).\(tenths) s" }
        let rounded = seconds &+ (attoseconds < 500_000_000_000_000_000 ? 0 : 1)
        if rounded < 60 { return "\(rounded) s" }
        if rounded < 3_600 { return Self.joined(rounded, "min", "s") }
        return Self.joined(rounded / 60 + (rounded % 60 < 30 ? 0 : 1), "h", "min")
    }

    /// Writes a number of which sixty make one of the larger unit.
    private static func joined(_ count: Int64, _ large: String, _ small: String) -> String {
        let rest = count % 60
        return "\(count / 60) \(large)" + (rest == 0 ? "" : " \(rest) \(small)")
    }
}
