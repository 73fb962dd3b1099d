// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// Makes the matches of an expression: words become terms, patterns and ranges the documents that they find.
struct SearchPlan {
    let reader: SearchReader
    let analyzers: SearchAnalyzers
    let scoring: SearchScoring
    let numbers: SearchNumbers
    let service: SearchService
    /// How many terms the words of the query have become.
    private let terms = TermCount()

    /// A class, since matches of several clauses count as one.
    private final class TermCount { var count = 0 }

    init(
        reader: SearchReader, analyzers: SearchAnalyzers, scoring: SearchScoring,
        numbers: SearchNumbers, service: SearchService
    ) {
        self.reader = reader
        self.analyzers = analyzers
        self.scoring = scoring
        self.numbers = numbers
        self.service = service
    }

    /// The matches; nil for an expression that says nothing, such as one of stop words.
    func matches(_ expression: SearchExpression) throws -> (any SearchMatches)? {
        switch expression {
        case .all: try EveryDocument(reader)
        case .words(let field, let text, let isPhrase, let slop):
            isPhrase ? try phrase(field, text, slop) : try words(field, text)
        case .prefix(let field, let text):
            try collected { take in
                let start = analyzers[field].normalized(text)
                // Every term begins with nothing, but none with letters that folding removes.
                guard !start.isEmpty || text.isEmpty else { return }
                try forEachTerm(field, from: start) { term, id in
                    guard term.hasBytePrefix(start) else { return false }
                    try take(id)
                    return true
                }
            }
        case .wildcard(let field, let signs): try wildcard(field, signs)
        case .fuzzy(let field, let text, let distance): try fuzzy(field, text, distance)
        case .range(let field, let lower, let upper): try range(field, lower, upper)
        case .boolean(let clauses): try boolean(clauses)
        case .boosted(let inner, let boost): try matches(inner).map { BoostedMatches($0, boost) }
        }
    }

    private func boolean(_ clauses: [SearchExpression.Clause]) throws -> (any SearchMatches)? {
        var (required, optional, excluded):
            ([any SearchMatches], [any SearchMatches], [any SearchMatches]) =
                ([], [], [])
        var everything: [SearchExpression.Occurrence] = []
        for clause in clauses {
            if clause.expression == .all {
                // Each would read the whole index, to say the same again.
                guard !everything.contains(clause.occurrence) else { continue }
                everything.append(clause.occurrence)
            }
            guard let found = try matches(clause.expression) else { continue }
            switch clause.occurrence {
            case .must: required.append(found)
            case .should: optional.append(found)
            case .mustNot: excluded.append(found)
            }
        }
        guard !required.isEmpty || !optional.isEmpty || !excluded.isEmpty else { return nil }
        return try BooleanMatches(required: required, optional: optional, excluded: excluded)
    }

    // MARK: - Words

    /// The terms of a text. An analyzer may make many of a word, and each is a clause of its own.
    private func tokens(_ field: String, _ text: String) throws -> [SearchAnalyzer.Token] {
        let tokens = analyzers[field].tokens(of: text)
        terms.count += tokens.count
        guard terms.count <= SearchQueryParser.mostClauses else {
            throw DatabaseError(
                .invalidQuery, "The query has more than \(SearchQueryParser.mostClauses) words.")
        }
        return tokens
    }

    private func term(_ field: String, _ term: String) throws -> any SearchMatches {
        try TermMatches(reader, SearchKey.term(field, term), scoring)
    }

    /// A word, or the words that an analyzer finds in it, each of which matches; a number matches as such, too.
    private func words(_ field: String, _ text: String) throws -> (any SearchMatches)? {
        var seen: NameSet = []
        var found = try tokens(field, text).filter { seen.insert($0.term).inserted }
            .map { try term(field, $0.term) }
        if let number = numbers.number(text), number.isFinite {
            found.append(try TermMatches(reader, SearchKey.number(field, number), scoring))
        }
        guard let first = found.first else { return nil }
        return found.count == 1
            ? first : try BooleanMatches(required: [], optional: found, excluded: [])
    }

    private func phrase(_ field: String, _ text: String, _ slop: Int) throws
        -> (any SearchMatches)?
    {
        let tokens = try tokens(field, text)
        guard let first = tokens.first else { return nil }
        guard tokens.count > 1 else { return try term(field, first.term) }
        guard tokens.count <= 256 else {
            throw DatabaseError(.invalidQuery, "A phrase may have 256 words.")
        }
        guard slop == 0 || NameSet(tokens.map(\.term)).count == tokens.count else {
            throw DatabaseError(
                .invalidQuery,
                "A phrase with ~ has no word twice; leave the ~ out, or one of the words.")
        }
        return try PhraseMatches(
            reader, tokens.map { (SearchKey.term(field, $0.term), $0.position) }, slop: slop,
            scoring)
    }

    // MARK: - Patterns and ranges

    /// The documents that a closure hands over, in order and each once.
    private func collected(
        _ find: ((DocumentID) throws -> Void) throws -> Void
    ) throws -> CollectedMatches {
        var found: Set<DocumentID> = []
        var kept = 0
        try find { id in
            guard found.insert(id).inserted else { return }
            let size = id.text.utf8.count + 48
            try reader.budget.keep(size)
            kept += size
        }
        return CollectedMatches(found.sorted(), reader.budget, kept: kept)
    }

    /// Goes through the terms of a field with their documents, from a text on.
    private func forEachTerm(
        _ field: String, from start: String, _ body: (String, DocumentID) throws -> Bool
    ) throws {
        let lower =
            start.isEmpty
            ? SearchKey.beginning(field, numbers: false) : SearchKey.term(field, start)
        try reader.forEachRow(
            from: lower, true, to: SearchKey.end(field, numbers: false), false
        ) { key, id in
            guard let term = key[2]?.string else { return true }
            return try body(term, id)
        }
    }

    /// Goes through the documents of those terms that a closure lets through; it is asked once for a term.
    ///
    /// To compare a term takes time in proportion to its length and to that of the pattern, which is paid for as rows are.
    private func patterned(
        _ field: String, from start: String, length: Int, _ isMatch: (String) -> Bool
    ) throws -> CollectedMatches {
        try collected { take in
            var last: (term: String, isMatch: Bool)?
            try forEachTerm(field, from: start) { term, id in
                guard term.hasBytePrefix(start) else { return false }
                let known = last.flatMap { $0.term.hasSameBytes(as: term) ? $0.isMatch : nil }
                if known == nil {
                    try reader.budget.read(length.multipliedSaturated(by: term.utf8.count) >> 10)
                }
                let isMatching = known ?? isMatch(term)
                last = (term, isMatching)
                if isMatching { try take(id) }
                return true
            }
        }
    }

    private func wildcard(_ field: String, _ signs: [SearchExpression.Sign]) throws
        -> CollectedMatches
    {
        guard signs.count <= Self.longestPattern else {
            throw DatabaseError(
                .invalidQuery,
                "A word with wildcards may have \(Self.longestPattern) characters.")
        }
        let analyzer = analyzers[field]
        // Texts between wildcards are folded as a whole, since a character may become several.
        var folded: [SearchExpression.Sign] = []
        var text = String.UnicodeScalarView()
        var isInNoTerm = false
        func flush() {
            let part = analyzer.normalized(String(text))
            isInNoTerm = isInNoTerm || part.isEmpty && !text.isEmpty
            folded += part.unicodeScalars.map { .scalar($0) }
            text = String.UnicodeScalarView()
        }
        for sign in signs {
            if case .scalar(let scalar) = sign {
                text.append(scalar)
            } else {
                flush()
                folded.append(sign)
            }
        }
        flush()
        guard !isInNoTerm else { return try collected { _ in } }
        let pattern = SearchPattern(folded)
        return try patterned(field, from: pattern.beginning, length: folded.count) {
            pattern.matches($0)
        }
    }

    /// The most bytes of a fuzzy word, and the most signs of a pattern.
    private static let (longestFuzzy, longestPattern) = (256, 1_024)

    private func fuzzy(_ field: String, _ text: String, _ distance: Int) throws
        -> (any SearchMatches)?
    {
        let word = analyzers[field].normalized(text)
        guard !word.isEmpty || text.isEmpty else { return try collected { _ in } }
        guard distance > 0 else { return try term(field, word) }
        guard word.utf8.count <= Self.longestFuzzy else {
            throw DatabaseError(
                .invalidQuery, "A word with ~ may have \(Self.longestFuzzy) bytes.")
        }
        let pattern = FuzzyWord(word, distance: distance)
        return try patterned(field, from: "", length: word.utf8.count) { pattern.matches($0) }
    }

    private func range(
        _ field: String, _ lower: SearchExpression.Bound?, _ upper: SearchExpression.Bound?
    ) throws -> CollectedMatches {
        let (low, high) = (
            lower.flatMap { number($0) }, upper.flatMap { number($0) }
        )
        for end in [lower, upper] where service == .nouveau {
            guard let end, numbers.isTooLarge(end.text) else { continue }
            throw DatabaseError(
                .invalidQuery,
                "An end of a range is a larger number than there is; use Infinity or *.")
        }
        let isNumeric =
            (lower == nil || low != nil) && (upper == nil || high != nil)
        return try collected { take in
            if isNumeric {
                try reader.forEachRow(
                    from: low.map { Self.edge(field, $0) }
                        ?? SearchKey.beginning(field, numbers: true),
                    lower?.isInclusive ?? true,
                    to: high.map { Self.edge(field, $0) } ?? SearchKey.end(field, numbers: true),
                    upper?.isInclusive ?? true
                ) { _, id in
                    try take(id)
                    return true
                }
            }
            // A field of Nouveau is of one type, and texts may be digits, such as those of a year.
            guard !isNumeric || lower == nil && upper == nil || service == .nouveau else { return }
            let analyzer = analyzers[field]
            try reader.forEachRow(
                from: lower.map { SearchKey.term(field, analyzer.normalized($0.text)) }
                    ?? SearchKey.beginning(field, numbers: false),
                lower?.isInclusive ?? true,
                to: upper.map { SearchKey.term(field, analyzer.normalized($0.text)) }
                    ?? SearchKey.end(field, numbers: false),
                upper?.isInclusive ?? true
            ) { _, id in
                try take(id)
                return true
            }
        }
    }

    private func number(_ end: SearchExpression.Bound) -> Double? {
        end.isText ? nil : numbers.number(end.text)
    }

    /// The key of a number, or of what is beyond all.
    private static func edge(_ field: String, _ number: Double) -> JSONValue {
        if number.isFinite { return SearchKey.number(field, number) }
        return number < 0
            ? SearchKey.beginning(field, numbers: true) : SearchKey.end(field, numbers: true)
    }
}
