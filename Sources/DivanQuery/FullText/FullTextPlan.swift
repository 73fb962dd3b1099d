// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON

/// An expression in the terms of an index.
indirect enum FullTextPlan: Sendable {
    case terms(TermSequence)
    case all([FullTextPlan])
    case any([FullTextPlan])
    case except(FullTextPlan, FullTextPlan)

    /// Terms that must stand in a certain way.
    struct TermSequence: Sendable {
        struct Item: Sendable, Hashable {
            /// Where it stands after the first; with a nearness, of no meaning.
            var offset: Int
            @ByBytes var term: String
            /// Whether it is the beginning of a term.
            var isPrefix = false

            func matches(_ other: String) -> Bool {
                isPrefix ? other.hasBytePrefix(term) : other.hasSameBytes(as: term)
            }
        }

        var items: [Item]
        /// How far from the first the others may stand; nil when they stand at their offsets.
        var nearness: Int?

        /// For each item how often it is there.
        var occurrences: [Int] {
            let terms = items.map { [$0.isPrefix ? 1 : 0] + Array($0.term.utf8) }
            var counts: [[UInt8]: Int] = [:]
            for term in terms { counts[term, default: 0] += 1 }
            return terms.map { counts[$0] ?? 1 }
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
            var items: [TermSequence.Item] = []
            for word in words {
                guard case .terms(let sequence)? = FullTextPlan(.phrase(word), analyzer) else {
                    continue
                }
                items += sequence.items
            }
            guard !items.isEmpty else { return nil }
            self = .terms(TermSequence(items: items, nearness: distance))
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
        var items: [TermSequence.Item] = []
        for (place, word) in words.enumerated() {
            if endsInPrefix, place == words.count - 1 {
                let start = String(decoding: Array(text.utf8)[word.range], as: UTF8.self)
                let term = analyzer.prefix(of: start)
                // All terms begin with nothing.
                guard !term.isEmpty else { continue }
                items.append(TermSequence.Item(offset: place, term: term, isPrefix: true))
            } else if let term = word.term {
                items.append(TermSequence.Item(offset: place, term: term))
            }
        }
        return items.isEmpty ? nil : .terms(TermSequence(items: items))
    }

    /// All terms that are looked for, and not those that must be missing, each once.
    var items: [TermSequence.Item] {
        var found: [TermSequence.Item] = []
        var seen: Set<[UInt8]> = []
        func collect(_ plan: FullTextPlan) {
            switch plan {
            case .terms(let sequence):
                for item in sequence.items
                where seen.insert([item.isPrefix ? 1 : 0] + item.term.utf8).inserted {
                    found.append(item)
                }
            case .all(let plans), .any(let plans): plans.forEach(collect)
            case .except(let plan, _): collect(plan)
            }
        }
        collect(self)
        return found
    }
}
