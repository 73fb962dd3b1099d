// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanJSON
public import DivanModel

/// A document that a search found.
public struct FullTextRow: Sendable {
    /// The document.
    public let documentID: DocumentID
    /// How well it matches, by BM25; of meaning only beside the scores of the same result.
    public let score: Double
    /// The document, where it came along.
    public let document: Document?
    let index: FullTextIndex
    let items: FullTextItems

    /// A word of the document that was looked for.
    public struct Match: Sendable, Hashable {
        /// Which of ``FullTextRow/texts`` it stands in.
        public var text: Int
        /// Where it stands there.
        public var range: Range<String.Index>
        /// Which of the words of the search it is, counted from 0 in the order of the search.
        public var term: Int
    }

    /// The row with its document, where that did not come along.
    ///
    /// - Parameter document: The document.
    /// - Returns: The row.
    package func with(_ document: Document) -> FullTextRow {
        FullTextRow(
            documentID: documentID, score: score, document: document, index: index, items: items)
    }

    /// The indexed texts of the document, in the order of the key paths; empty without the document.
    public var texts: [String] {
        document.map { DocumentTexts(index.keyPaths).texts(of: $0) } ?? []
    }

    /// Where the words of the search stand, in order.
    ///
    /// They are found in the document that came along, word by word: of a phrase, also where its words
    /// stand alone.
    public var matches: [Match] {
        texts.enumerated().flatMap { number, text in
            marked(text).compactMap { word in
                word.item.map {
                    Match(text: number, range: Self.range(word.range, in: text), term: $0)
                }
            }
        }
    }

    /// A passage of the document that shows the words of the search.
    ///
    /// ```swift
    /// row.snippet(start: "<b>", end: "</b>")      // "… slept on the <b>couch</b> all day …"
    /// ```
    ///
    /// It is the passage with the most different words of the search.
    ///
    /// - Parameters:
    ///   - start: What comes before each word of the search.
    ///   - end: What comes after it.
    ///   - words: How many words long the passage is at most.
    /// - Returns: The passage, with an ellipsis where it is cut; nil without the document, or when the
    ///   document has none of the words any more.
    public func snippet(start: String = "", end: String = "", words: Int = 16) -> String? {
        var best: (value: Int, text: String, words: ArraySlice<Marked>, count: Int)?
        for text in texts {
            let all = marked(text)
            guard let window = Self.window(all, max(1, words)) else { continue }
            let value = Self.value(window)
            if value > best?.value ?? 0 { best = (value, text, window, all.count) }
        }
        guard let best, let first = best.words.first, let last = best.words.last else { return nil }
        let bytes = Array(best.text.utf8)
        func piece(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        // At an end of the text its punctuation belongs to the passage.
        let isAtStart = best.words.startIndex == 0
        let isAtEnd = best.words.endIndex == best.count
        var snippet = isAtStart ? "" : "…"
        var place = isAtStart ? 0 : first.range.lowerBound
        for word in best.words where word.item != nil {
            snippet += piece(place..<word.range.lowerBound)
            snippet += start + piece(word.range) + end
            place = word.range.upperBound
        }
        snippet += piece(place..<(isAtEnd ? bytes.count : last.range.upperBound))
        return isAtEnd ? snippet : snippet + "…"
    }

    // MARK: - Words

    /// A word of a text, and which word of the search it is.
    private struct Marked {
        var range: Range<Int>
        var item: Int?
    }

    private func marked(_ text: String) -> [Marked] {
        index.analyzer.words(of: text).map { word in
            Marked(
                range: word.range,
                item: word.term.flatMap { items.index(of: $0) })
        }
    }

    /// The first passage of some words that is worth most; nil when no word is looked for.
    private static func window(_ words: [Marked], _ size: Int) -> ArraySlice<Marked>? {
        let size = min(size, words.count)
        var best: (value: Int, place: Int)?
        for place in words.indices where words[place].item != nil {
            let value = value(words[place..<min(place + size, words.count)])
            if value > best?.value ?? 0 { best = (value, place) }
        }
        guard let best else { return nil }
        // Some words before the first one show what it is about.
        let lead = min(best.place, size / 4)
        var start = best.place - lead
        if value(words[start..<min(start + size, words.count)]) < best.value { start = best.place }
        start = max(0, min(start, words.count - size))
        return words[start..<min(start + size, words.count)]
    }

    /// Different words of the search count most, then how many there are.
    private static func value(_ words: ArraySlice<Marked>) -> Int {
        let items = words.compactMap(\.item)
        return Set(items).count * 1_000 + min(items.count, 999)
    }

    private static func range(_ bytes: Range<Int>, in text: String) -> Range<String.Index> {
        let utf8 = text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: bytes.lowerBound)
        return start..<utf8.index(start, offsetBy: bytes.count)
    }
}

extension FullTextRow: Equatable {
    /// Rows are equal when document and score are, and the revision, where documents came along.
    public static func == (left: FullTextRow, right: FullTextRow) -> Bool {
        left.documentID == right.documentID && left.score == right.score
            && left.document == right.document
    }
}

extension FullTextRow: CustomStringConvertible {
    /// The document's ID; never text, which is content.
    public var description: String { "FullTextRow(\(documentID))" }
}

/// The words of a search, to be found in a text: each by its bytes, and beginnings one after the other.
struct FullTextItems: Sendable {
    private var words: [[UInt8]: Int] = [:]
    private var prefixes: [(number: Int, item: FullTextPlan.Item)] = []

    init(_ plan: FullTextPlan) {
        for (number, item) in plan.items.enumerated() {
            if item.isPrefix {
                prefixes.append((number, item))
            } else {
                words[Array(item.term.utf8)] = number
            }
        }
    }

    /// The first word of the search that a term of a text is.
    func index(of term: String) -> Int? {
        let prefix = prefixes.first { $0.item.matches(term) }?.number
        let word = words[Array(term.utf8)]
        return prefix.map { min($0, word ?? $0) } ?? word
    }
}
