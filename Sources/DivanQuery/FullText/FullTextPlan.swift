// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// An expression in the terms of an index.
indirect enum FullTextPlan: Sendable {
    /// Terms that stand at their offsets: one, or those of a phrase.
    case phrase([Item])
    /// Phrases of which each stands at most so many words from the first.
    case near([[Item]], within: Int)
    case all([FullTextPlan])
    case any([FullTextPlan])
    case except(FullTextPlan, FullTextPlan)

    struct Item: Sendable, Hashable {
        /// Where it stands in its phrase.
        var offset: Int
        @ByBytes var term: String
        /// Whether it is the beginning of a term.
        var isPrefix = false

        func matches(_ other: String) -> Bool {
            isPrefix ? other.hasBytePrefix(term) : other.hasSameBytes(as: term)
        }
    }

    /// Translates an expression; nil when nothing of it is looked for, as all words are left out.
    init?(_ expression: FullTextExpression, _ analyzer: TextAnalyzer) {
        switch expression {
        case .word(let text):
            guard let plan = Self.sequence(text, analyzer, endsInPrefix: false) else { return nil }
            self = plan
        case .prefix(let text):
            guard let plan = Self.sequence(text, analyzer, endsInPrefix: true) else { return nil }
            self = plan
        case .phrase(let text):
            let start = text.beforeByteSuffix("*")
            guard
                let plan = Self.sequence(start ?? text, analyzer, endsInPrefix: start != nil)
            else {
                return nil
            }
            self = plan
        case .near(let words, let distance):
            var phrases: [[Item]] = []
            for word in words {
                guard case .phrase(let items)? = FullTextPlan(.phrase(word), analyzer) else {
                    continue
                }
                phrases.append(items)
            }
            guard let first = phrases.first else { return nil }
            self = phrases.count == 1 ? .phrase(first) : .near(phrases, within: distance)
        case .all(let parts):
            let plans = parts.compactMap { FullTextPlan($0, analyzer) }
            guard !plans.isEmpty else { return nil }
            self = plans.count == 1 ? plans[0] : .all(plans)
        case .any(let parts):
            let plans = parts.compactMap { FullTextPlan($0, analyzer) }
            guard !plans.isEmpty else { return nil }
            self = plans.count == 1 ? plans[0] : .any(plans)
        case .except(let wanted, let unwanted):
            guard let plan = FullTextPlan(wanted, analyzer) else { return nil }
            self = FullTextPlan(unwanted, analyzer).map { .except(plan, $0) } ?? plan
        }
    }

    private static func sequence(
        _ text: String, _ analyzer: TextAnalyzer, endsInPrefix: Bool
    ) -> FullTextPlan? {
        let words = analyzer.words(of: text)
        var items: [Item] = []
        for (place, word) in words.enumerated() {
            if endsInPrefix, place == words.count - 1 {
                let start = String(decoding: Array(text.utf8)[word.range], as: UTF8.self)
                let term = analyzer.prefix(of: start)
                // All terms begin with nothing.
                guard !term.isEmpty else { continue }
                items.append(Item(offset: place, term: term, isPrefix: true))
            } else if let term = word.term {
                items.append(Item(offset: place, term: term))
            }
        }
        return items.isEmpty ? nil : .phrase(items)
    }

    /// All terms that are looked for, and not those that must be missing, each once.
    var items: [Item] {
        var found: [Item] = []
        var seen: Set<[UInt8]> = []
        forEachItem(isWhole: false) { item in
            if seen.insert([item.isPrefix ? 1 : 0] + item.term.utf8).inserted {
                found.append(item)
            }
        }
        return found
    }

    /// Goes through the terms; of the whole also those that must be missing.
    private func forEachItem(isWhole: Bool, _ body: (Item) -> Void) {
        switch self {
        case .phrase(let items): items.forEach(body)
        case .near(let phrases, _): phrases.joined().forEach(body)
        case .all(let plans), .any(let plans):
            for plan in plans { plan.forEachItem(isWhole: isWhole, body) }
        case .except(let wanted, let unwanted):
            wanted.forEachItem(isWhole: isWhole, body)
            if isWhole { unwanted.forEachItem(isWhole: isWhole, body) }
        }
    }

    // MARK: - Bounds

    /// Each word has a list that is read, of which a block is in memory, and no phrase is as long as the gap between texts.
    static let mostWords = 1_000
    /// The beginning of a word has many lists, of which parts are in memory.
    static let mostPrefixes = 16

    /// How many beginnings of words are looked for.
    var prefixCount: Int {
        var count = 0
        forEachItem(isWhole: true) { count += $0.isPrefix ? 1 : 0 }
        return count
    }

    /// Refuses a search of more words than one may have.
    func check() throws {
        var (count, longest) = (0, 0)
        forEachItem(isWhole: true) { item in
            count += 1
            longest = max(longest, item.offset)
        }
        guard count <= Self.mostWords, longest < Self.mostWords else {
            throw DatabaseError(
                .invalidQuery,
                "A search has at most \(Self.mostWords) words; search for fewer at once.")
        }
        guard prefixCount <= Self.mostPrefixes else {
            throw DatabaseError(
                .invalidQuery,
                "A search has at most \(Self.mostPrefixes) beginnings of words; write some as whole "
                    + "words.")
        }
    }
}
