// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Finds what a mistyped word may have meant.
enum Suggestion {
    /// Returns " Did you mean x?" with its leading space, or nothing when no word is near.
    static func sentence(for word: String, among words: [String], _ prefix: String = "") -> String {
        guard let nearest = nearest(to: word, among: words) else { return "" }
        return " Did you mean \(prefix)\(nearest)?"
    }

    /// Returns the nearest of `words`: the only one that begins so, or one with few other letters.
    static func nearest(to word: String, among words: [String]) -> String? {
        let longer = words.filter { $0.hasBytePrefix(word) }
        if let only = longer.first, longer.count == 1, !word.isEmpty { return only }
        let ranked = words.map { (word: $0, distance: distance(word, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        // A third of the letters, two at most: "inport" is import, "rate" is not create.
        return best.distance <= max(1, min(2, word.count / 3)) ? best.word : nil
    }

    /// Returns how many letters must be added, removed, replaced, or swapped with their neighbour,
    /// to turn one word into the other.
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left)
        let right = Array(right)
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for i in left.indices {
            var current = [i + 1]
            for j in right.indices {
                let replacing = previous[j] + (left[i] == right[j] ? 0 : 1)
                var cost = min(replacing, previous[j + 1] + 1, current[j] + 1)
                let isSwap = i > 0 && j > 0 && left[i] == right[j - 1] && left[i - 1] == right[j]
                if isSwap { cost = min(cost, beforePrevious[j - 1] + 1) }
                current.append(cost)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
