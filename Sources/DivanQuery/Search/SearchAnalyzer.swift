// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// Turns the text of a field into the terms that a search index keeps, by one of the analyzers that CouchDB's search indexes name.
///
///     "The cat's e-mail: Ann@example.org, N2-7"
///     keyword       The cat's e-mail: Ann@example.org, N2-7
///     whitespace    The | cat's | e-mail: | Ann@example.org, | N2-7
///     simple        the | cat | s | e | mail | ann | example | org | n
///     standard      cat's | e | mail | ann@example.org | n2 | 7
///     classic       cat | e | mail | ann@example.org | n2-7
///     english       cat | e | mail | ann@example.org | n2 | 7
///
/// A stop word is left out, and its position stays counted, so that phrases with it are found.
package struct SearchAnalyzer: Sendable, Equatable {
    /// How a text is cut, and what becomes of a word.
    enum Kind: Sendable, Equatable {
        case keyword, whitespace, standard, email, classic
        case simple(folding: Bool)
        /// Words as of `standard`, cut down to their stems by the Snowball algorithm of this name; none for a language without
        /// stems.
        case language(String)
    }

    /// A term with its place among the words of the text.
    package struct Token: Sendable, Equatable {
        /// What the index keeps.
        package var term: String
        /// How many words stand before it.
        package var position: Int
    }

    let kind: Kind
    let stopWords: NameSet

    init(_ kind: Kind, stopWords: NameSet = []) {
        self.kind = kind
        self.stopWords = stopWords
    }

    /// What terms depend on beside the analyzer.
    package static var version: String { "search 3 \(TextAnalyzer.version)" }

    /// The terms of a text in order.
    package func tokens(of text: String) -> [Token] {
        let words = self.words(of: text)
        var tokens: [Token] = []
        for (position, word) in words.enumerated() {
            if let term = term(of: word) { tokens.append(Token(term: term, position: position)) }
        }
        return tokens
    }

    /// The beginning of a word, or a word with wildcards, in the letters that terms have: nothing is left out or cut down.
    ///
    /// It is empty for a text of letters that folding removes, such as the Hangul filler: no term has them.
    func normalized(_ text: String) -> String {
        switch kind {
        case .keyword, .whitespace: text
        case .simple(let folding): folding ? Self.plain.prefix(of: text) : Self.folded(text)
        case .standard, .email, .classic, .language: Self.folded(text)
        }
    }

    /// What becomes of a word; nil when it is left out.
    private func term(of word: String) -> String? {
        var term = normalized(word)
        if !stopWords.isEmpty, stopWords.contains(term) { return nil }
        switch kind {
        case .classic:
            for end in ["'s", "’s"] where term.hasByteSuffix(end) {
                term = String(term.utf8.dropLast(end.utf8.count)) ?? term
            }
        case .language(let name):
            if let stemmer = TextStemmers.stemmer(name) {
                term = String(decoding: stemmer.stem(of: Array(term.utf8)), as: UTF8.self)
            }
        default: break
        }
        return term.isEmpty ? nil : Self.cut(term)
    }

    /// What is cut out of a text.
    private func words(of text: String) -> [String] {
        switch kind {
        case .keyword: return text.isEmpty ? [] : [text]
        case .whitespace:
            return text.unicodeScalars.split { $0.properties.isWhitespace }.map(String.init)
        case .simple:
            return text.unicodeScalars.split { !$0.properties.isAlphabetic }.map(String.init)
        case .standard, .language: return Self.segments(text)
        case .email:
            return text.unicodeScalars.split { $0.properties.isWhitespace }.flatMap { piece in
                let piece = String(piece)
                return AddressText.address(in: piece).map { [$0] } ?? Self.segments(piece)
            }
        case .classic:
            return text.unicodeScalars.split { $0.properties.isWhitespace }.flatMap { piece in
                let piece = String(piece)
                return AddressText.address(in: piece).map { [$0] } ?? ClassicWords.words(of: piece)
            }
        }
    }

    private static let plain = TextAnalyzer(FullTextOptions())

    /// Words by Unicode's rules.
    private static func segments(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        var ranges: [Range<Int>] = []
        plain.appendWords(in: bytes.span, to: &ranges)
        return ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    private static func folded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var folded: [UInt8] = []
        ICUWordSegmenter.shared.appendFolding(of: bytes.span, decomposing: false, to: &folded)
        return String(decoding: folded, as: UTF8.self)
    }

    /// The beginning of a text that is longer than it may be, up to the end of a character.
    static func cut(_ text: String, to longest: Int = longestTerm) -> String {
        guard text.utf8.count > longest else { return text }
        let bytes = Array(text.utf8)
        var end = longest
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// The most bytes of a term, as in Lucene.
    static let longestTerm = 32_766
}
