// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanStorage

/// Makes the terms of one document after the other.
///
/// Texts are made of few words that come again and again, so it keeps what became of each: a word that it knows is
/// neither folded nor stemmed.
struct TextWorker: Sendable {
    private static let leftOut = UInt32.max
    /// The most bytes of words that it keeps.
    private static let largestTable = 4 << 20

    private let analyzer: TextAnalyzer
    private let vocabulary: TermVocabulary
    /// The words that it has met, as they stand in texts.
    private var words = ByteTable()
    /// The terms of these words by their numbers in the vocabulary.
    private var terms: [UInt32] = []
    private var occurrences: [UInt64] = []
    private var sorter = NumberSorter()
    private var ranges: [Range<Int>] = []
    private var place: UInt64 = 0

    init(_ analyzer: TextAnalyzer, _ vocabulary: TermVocabulary) {
        self.analyzer = analyzer
        self.vocabulary = vocabulary
    }

    /// About how much memory it takes.
    var size: Int { words.size + 4 * terms.count + 8 * occurrences.capacity + sorter.size }

    /// Begins a document.
    mutating func begin() {
        occurrences.removeAll(keepingCapacity: true)
        place = 0
        guard words.size > Self.largestTable else { return }
        words.removeAll()
        terms.removeAll(keepingCapacity: true)
    }

    /// Adds the words of a text.
    mutating func add(_ text: Span<UInt8>) {
        ranges.removeAll(keepingCapacity: true)
        analyzer.appendWords(in: text, to: &ranges)
        for range in ranges {
            // A word that is left out keeps its place, so that phrases with it can be found.
            let term = term(of: text.extracting(range))
            if term != Self.leftOut, place < DocumentTerms.mostPlaces {
                occurrences.append(DocumentTerms.occurrence(of: term, at: place))
            }
            place += 1
        }
        place += FullTextIndex.gap
    }

    private mutating func term(of word: Span<UInt8>) -> UInt32 {
        if let known = words.number(of: word) { return terms[known] }
        let term = analyzer.term(of: [UInt8](copying: word))
        let number = term.flatMap { vocabulary.number(of: Array($0.utf8)) } ?? Self.leftOut
        if words.add(word) != nil { terms.append(number) }
        return number
    }

    /// Adds what the document says to a batch in which it was begun; nothing if it has no words.
    mutating func end(into batch: inout EmissionBatch) {
        guard !occurrences.isEmpty else { return }
        // Those of one term are in the order of their places already.
        sorter.sort(&occurrences, below: DocumentTerms.placeBits)
        batch.appendValue { DocumentTerms.append(occurrences, to: &$0) }
    }
}
