// SPDX-License-Identifier: Apache-2.0

/// Makes the JSON text of a document of 50 to 400 made-up words. The word of rank n comes with a probability
/// in proportion to 1/n, as words of natural texts nearly do.
///
/// The words consist of syllables that no stemmer changes, so that engines with different ones index the
/// same terms.
public struct ZipfDocument {
    private static let words = 50_000

    private var numbers: SeededNumbers
    private let vocabulary: [String]
    private let ranks: ZipfRanks

    /// Starts the series of documents of a seed.
    public init(seed: UInt64) {
        numbers = SeededNumbers(seed: seed)
        ranks = ZipfRanks(count: Self.words, exponent: 1)
        vocabulary = Self.makeVocabulary()
    }

    /// Returns the next document's JSON text.
    public mutating func next() -> String {
        let count = 50 + numbers.next(below: 351)
        let text = (0..<count).map { _ in word() }.joined(separator: " ")
        return "{\"type\":\"zipf\",\"bio\":\"\(text)\"}"
    }

    private mutating func word() -> String { vocabulary[ranks.next(&numbers)] }

    /// Different words of two to four syllables: the common ones are short.
    private static func makeVocabulary() -> [String] {
        var numbers = SeededNumbers(seed: 50)
        func pick(_ letters: String) -> Character {
            let letters = Array(letters)
            return letters[numbers.next(below: letters.count)]
        }
        var words: [String] = []
        var known: Set<String> = []
        while words.count < Self.words {
            let syllables = words.count < 200 ? 2 : words.count < 20_000 ? 3 : 4
            var word = ""
            for _ in 0..<syllables {
                word.append(pick("bdfgkmnprvz"))
                word.append(pick("aou"))
            }
            word.append(pick("bknmpr"))
            if known.insert(word).inserted { words.append(word) }
        }
        return words
    }
}
