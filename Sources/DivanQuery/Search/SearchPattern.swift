// SPDX-License-Identifier: Apache-2.0

/// A word with wildcards.
struct SearchPattern {
    private let signs: [SearchExpression.Sign]
    /// What all that match begin with.
    let beginning: String

    init(_ signs: [SearchExpression.Sign]) {
        self.signs = signs
        var text = String.UnicodeScalarView()
        for sign in signs {
            guard case .scalar(let scalar) = sign else { break }
            text.append(scalar)
        }
        beginning = String(text)
    }

    /// Whether a text matches. It takes time in proportion to the product of both lengths at most.
    func matches(_ text: String) -> Bool {
        let scalars = Array(text.unicodeScalars)
        var (place, sign) = (0, 0)
        // Where to go on when the last `*` takes one more character.
        var again: (sign: Int, place: Int)?
        while place < scalars.count {
            if sign < signs.count, signs[sign] == .any {
                again = (sign + 1, place)
                sign += 1
            } else if sign < signs.count,
                signs[sign] == .one || signs[sign] == .scalar(scalars[place])
            {
                sign += 1
                place += 1
            } else if let back = again {
                again = (back.sign, back.place + 1)
                (sign, place) = (back.sign, back.place + 1)
            } else {
                return false
            }
        }
        return signs[sign...].allSatisfy { $0 == .any }
    }
}

/// A word that others may differ from by a few edits: characters put in, left out, replaced, or two swapped.
struct FuzzyWord {
    private let word: [Unicode.Scalar]
    private let distance: Int

    init(_ word: String, distance: Int) {
        self.word = Array(word.unicodeScalars)
        self.distance = distance
    }

    /// Whether a text is so near.
    func matches(_ text: String) -> Bool {
        // A character takes four bytes at most, so most texts are refused by their length.
        guard text.utf8.count <= 4 * (word.count + distance) else { return false }
        let other = Array(text.unicodeScalars)
        guard abs(other.count - word.count) <= distance else { return false }
        var before: [Int] = []
        var last = Array(0...word.count)
        for (row, scalar) in other.enumerated() {
            var next = [row + 1]
            for column in word.indices {
                let cost = word[column] == scalar ? 0 : 1
                var best = min(last[column] + cost, last[column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, word[column] == other[row - 1], word[column - 1] == scalar {
                    best = min(best, before[column - 1] + 1)
                }
                next.append(best)
            }
            if (next.min() ?? 0) > distance { return false }
            (before, last) = (last, next)
        }
        return (last.last ?? 0) <= distance
    }
}
