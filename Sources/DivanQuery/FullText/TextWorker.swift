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
    private static let largestTable = 6 << 20

    private let analyzer: TextAnalyzer
    private let vocabulary: TermVocabulary
    /// The words that it has met, as they stand in texts, with the numbers of their terms in the vocabulary.
    private var words = WordTable()
    private var occurrences: [UInt64] = []
    private var sorter = NumberSorter()
    private var ranges: [Range<Int>] = []
    private var place: UInt64 = 0

    init(_ analyzer: TextAnalyzer, _ vocabulary: TermVocabulary) {
        self.analyzer = analyzer
        self.vocabulary = vocabulary
    }

    /// About how much memory it takes.
    var size: Int { words.size + 8 * occurrences.capacity + sorter.size }

    /// Begins a document.
    mutating func begin() {
        occurrences.removeAll(keepingCapacity: true)
        place = 0
        guard words.size > Self.largestTable else { return }
        words.removeAll()
    }

    /// Adds the words of a text.
    mutating func add(_ text: Span<UInt8>) {
        ranges.removeAll(keepingCapacity: true)
        analyzer.appendWords(in: text, to: &ranges)
        for range in ranges {
            // A word that is left out keeps its place, so that phrases with it can be found.
            let term = words.value(of: range, in: text) ?? meet(range, in: text)
            if term != Self.leftOut, place < DocumentTerms.mostPlaces {
                occurrences.append(DocumentTerms.occurrence(of: term, at: place))
            }
            place += 1
        }
        place += FullTextIndex.gap
    }

    /// Finds out the term of a word that was not met before.
    private mutating func meet(_ range: Range<Int>, in text: Span<UInt8>) -> UInt32 {
        let term = analyzer.term(of: [UInt8](copying: text.extracting(range)))
        let number = term.flatMap { vocabulary.number(of: $0) } ?? Self.leftOut
        // A word that finds no room is met again.
        _ = words.add(range, in: text, number)
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
