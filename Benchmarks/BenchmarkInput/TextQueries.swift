// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the rows on full text look for: words that the texts have, which all runners read from one file.
///
/// The file `INPUT.queries` has one search on a line, the name of its kind first:
///
///     phrase couch potato sofa
///     prefix pot
///
/// Words are taken at random places of random documents, so common ones come more often, as people ask for
/// them. They have four lower-case letters or more and are no stop words, which only some engines leave out.
public struct TextQueries {
    /// A kind of search.
    public enum Kind: String, CaseIterable, Sendable {
        /// Three words one after the other.
        case phrase
        /// All of three words.
        case and
        /// At least one of three words.
        case or
        /// Words that begin with three letters.
        case prefix
        /// A word that occurs at most 20 times.
        case rare

        /// How many different searches there are.
        var count: Int { self == .rare ? 200 : 20 }
    }

    private var lines: [String] = []

    /// Where the searches in the texts of an input file stand.
    public static func path(beside input: String) -> String { input + ".queries" }

    /// Reads the searches of a kind that stand beside an input file, each as its words.
    public static func read(_ kind: Kind, beside path: String) throws -> [[String]] {
        try String(contentsOfFile: self.path(beside: path), encoding: .utf8)
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            .filter { $0.first == kind.rawValue }.map { Array($0.dropFirst()) }
    }

    /// Chooses searches for the texts of an input file.
    public init(of input: InputFile) throws {
        var chooser = try WordChooser(input)
        for kind in Kind.allCases {
            var found: Set<[String]> = []
            // Texts of few words have fewer searches, and no rare words.
            for _ in 0..<200 * kind.count where found.count < kind.count {
                guard let words = try chooser.words(for: kind), found.insert(words).inserted
                else { continue }
                lines.append(([kind.rawValue] + words).joined(separator: " "))
            }
        }
    }

    /// Writes them beside the input file.
    public func write(beside path: String) throws {
        let text = lines.map { $0 + "\n" }.joined()
        try text.write(toFile: Self.path(beside: path), atomically: true, encoding: .utf8)
    }
}

/// Takes words from the texts of an input file.
private struct WordChooser {
    private struct Document: Decodable { var bio: String }

    private let input: InputFile
    private var numbers = SeededNumbers(seed: 28)
    private var occurrences: [Substring: Int] = [:]

    init(_ input: InputFile) throws {
        self.input = input
        for index in 0..<input.count {
            for word in try words(of: index) where Self.isAskedFor(word) {
                occurrences[word, default: 0] += 1
            }
        }
    }

    /// The words of a search; nil where the chosen place has none.
    mutating func words(for kind: TextQueries.Kind) throws -> [String]? {
        let words = try words(of: numbers.next(below: input.count))
        let usable = words.filter(Self.isAskedFor)
        guard usable.count >= 3 else { return nil }
        switch kind {
        case .phrase:
            let start = numbers.next(below: words.count - 2)
            let phrase = words[start..<start + 3]
            return phrase.allSatisfy(Self.isAskedFor) ? phrase.map(String.init) : nil
        case .and, .or:
            let chosen = Set((0..<3).map { _ in usable[numbers.next(below: usable.count)] })
            return chosen.count == 3 ? chosen.sorted().map(String.init) : nil
        case .prefix:
            let word = usable[numbers.next(below: usable.count)]
            // Some stemmers cut a letter off these.
            return "sedgyi".contains(word.prefix(3).last ?? " ") ? nil : [String(word.prefix(3))]
        case .rare:
            let word = usable[numbers.next(below: usable.count)]
            return occurrences[word, default: 0] <= 20 ? [String(word)] : nil
        }
    }

    /// What stands between spaces, without the last, which may be cut.
    private func words(of index: Int) throws -> ArraySlice<Substring> {
        let document = try input.withText(index) { text in
            try text.withUnsafeBufferPointer {
                try JSONDecoder().decode(Document.self, from: Data($0))
            }
        }
        return document.bio.split(whereSeparator: \.isWhitespace).dropLast()[...]
    }

    private static func isAskedFor(_ word: Substring) -> Bool {
        word.utf8.count >= 4 && word.utf8.allSatisfy { (0x61...0x7A).contains($0) }
            && !stopWords.contains(word)
    }

    /// The stop words of English that have four letters or more.
    private static let stopWords: Set<Substring> = [
        "about", "been", "could", "does", "from", "have", "into", "should", "than", "that", "their",
        "them", "then", "there", "these", "they", "this", "those", "were", "what", "when", "where",
        "which", "will", "with", "would", "your",
    ]
}
