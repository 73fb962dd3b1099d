// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanPlatform
internal import Synchronization

/// Turns a text into the terms that an index keeps, and a query's words into the same.
///
///     "The cafés' cats"     words      The, cafés', cats
///                           folded     the, cafés, cats
///                           stems      (left out), café, cat
///                           terms      (left out), cafe, cat
struct TextAnalyzer: Sendable {
    /// A word of a text.
    struct Word: Sendable {
        /// Where it lies, in bytes.
        var range: Range<Int>
        /// What the index keeps of it; nil for a word that is left out.
        var term: String?
    }

    private let segmenter: any WordSegmenter = ICUWordSegmenter.shared
    private let stemmer: (any WordStemmer)?
    private let stopWords: WordTable
    private let ignoresAccents: Bool

    /// What terms depend on beside the options.
    static var version: String { "2 \(ICUWordSegmenter.shared.version)" }

    init(_ options: FullTextOptions) {
        stemmer = options.language.flatMap { TextStemmers.stemmer($0.name) }
        stopWords = options.language == .english ? StopWords.english : WordTable()
        ignoresAccents = options.ignoresAccents
    }

    /// The words of a text in order.
    func words(of text: String) -> [Word] {
        let bytes = Array(text.utf8)
        var ranges: [Range<Int>] = []
        appendWords(in: bytes.span, to: &ranges)
        return ranges.map { range in
            let term = term(of: Array(bytes[range]))
            return Word(range: range, term: term.map { String(decoding: $0, as: UTF8.self) })
        }
    }

    /// Appends where the words of a text lie.
    func appendWords(in text: Span<UInt8>, to words: inout [Range<Int>]) {
        let count = words.count
        if ASCIIWords.shared.append(in: text, to: &words) { return }
        words.removeLast(words.count - count)
        words += segmenter.words(in: text)
    }

    /// What a word becomes; nil when it is left out.
    func term(of word: [UInt8]) -> [UInt8]? {
        var folded = fold(word, decomposing: false)
        guard stopWords.value(of: 0..<folded.count, in: folded.span) == nil else { return nil }
        if let stemmer { folded = stemmer.stem(of: folded) }
        // Of invisible letters nothing is left: a term has bytes, as every key of an index.
        let term = finished(folded)
        return term.isEmpty ? nil : term
    }

    /// What the beginning of a word becomes: it has no stem. Empty where nothing of it is looked for.
    func prefix(of word: String) -> String {
        String(decoding: finished(fold(Array(word.utf8), decomposing: false)), as: UTF8.self)
    }

    /// The most bytes of a word that count: a text may be one word, and a term is a key.
    static let longestWord = 1_024

    /// The beginning of a word that is longer, up to the end of a character.
    private static func cut(_ word: [UInt8]) -> [UInt8] {
        guard word.count > longestWord else { return word }
        var end = longestWord
        while end > 0, word[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(word[..<end])
    }

    private func fold(_ word: [UInt8], decomposing: Bool) -> [UInt8] {
        let word = Self.cut(word)
        var folded: [UInt8] = []
        segmenter.appendFolding(of: word.span, decomposing: decomposing, to: &folded)
        return Self.withPlainApostrophes(folded)
    }

    private func finished(_ folded: [UInt8]) -> [UInt8] {
        guard ignoresAccents, folded.contains(where: { $0 >= 0x80 }) else { return folded }
        // What is composed cannot be told from its mark, so it is taken apart first.
        let text = String(decoding: fold(folded, decomposing: true), as: UTF8.self)
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !Self.isAccent(scalar) { plain.append(scalar) }
        return Array(String(plain).utf8)
    }

    /// Marks that a reader may leave out. Others, such as the vowel signs of Indian scripts, are as
    /// good as letters.
    private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0300...0x036F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF: true
        // Points of Hebrew and Arabic.
        case 0x0591...0x05BD, 0x05BF...0x05C7, 0x0610...0x061A, 0x064B...0x065F, 0x0670: true
        default: false
        }
    }

    /// The typographic apostrophe of `don’t` as the plain one.
    private static func withPlainApostrophes(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(0xE2) else { return bytes }
        var plain: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index...].starts(with: [0xE2, 0x80, 0x99]) {
                plain.append(UInt8(ascii: "'"))
                index += 3
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return plain
    }
}

/// The stemmers of this process, made when they are first needed and kept.
enum TextStemmers {
    private static let stemmers = Mutex<NameMap<SnowballStemmer>>([:])

    static func stemmer(_ language: String) -> SnowballStemmer? {
        stemmers.withLock { stemmers in
            if let stemmer = stemmers[language] { return stemmer }
            let stemmer = SnowballStemmer(language: language)
            stemmers[language] = stemmer
            return stemmer
        }
    }
}

/// Words so common that finding them tells nothing.
enum StopWords {
    static let english = table(
        """
        a about an and are as at be been but by can could did do does for from had has have he her
        him his how i if in into is it its me my no nor not of on or our out she so than that the
        their them then there these they this those to too us was we were what when where which who
        why will with would you your
        """)

    private static func table(_ text: String) -> WordTable {
        let bytes = Array(text.utf8)
        var words = WordTable()
        for word in bytes.split(whereSeparator: { $0 <= UInt8(ascii: " ") }) {
            _ = words.add(word.startIndex..<word.endIndex, in: bytes.span, 0)
        }
        return words
    }
}
