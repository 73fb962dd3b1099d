// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// Parses a query text as Lucene's classic parser does.
///
///     query     clause+                          AND OR NOT && || ! stand between clauses, + and - before one
///     clause    [+ - NOT !] [field:] value
///     value     word [~1] [^2] │ "phrase" [~2] [^2] │ [a TO b] [^2] │ ( query ) [^2]
///
/// AND makes the clauses on both of its sides required, NOT the one behind it excluded. For `_search` none binds before the
/// other: `a OR b AND c` is `a +b +c`, as it is for Lucene's classic parser. For `_nouveau` AND binds first, as for Lucene's
/// flexible parser: it is `a (+b +c)`.
///
/// What is not carried, such as regular expressions and a wildcard at the beginning of a word, is an error. Text, depth and
/// clauses are bounded, so no query takes more than a moment to parse.
struct SearchQueryParser {
    /// The most bytes of a query, the deepest parentheses and the most clauses.
    static let (longest, deepest, mostClauses) = (64 << 10, 64, 1_024)
    /// The field of words that name none.
    static let defaultField = "default"

    private var lexer: SearchQueryLexer
    private var token: SearchQueryLexer.Token
    private var clauses = 0
    /// Whether AND binds before what stands around it.
    private let andBindsFirst: Bool

    /// Parses a text.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    static func parse(_ text: String, for service: SearchService = .clouseau) throws
        -> SearchExpression
    {
        guard text.utf8.count <= longest else {
            throw DatabaseError(.invalidQuery, "The query is longer than \(longest) bytes.")
        }
        var parser = try SearchQueryParser(text, andBindsFirst: service == .nouveau)
        let expression = try parser.query(field: defaultField, depth: 0)
        guard parser.token == .end else {
            throw parser.lexer.failure("an opening parenthesis before )")
        }
        return expression
    }

    private init(_ text: String, andBindsFirst: Bool) throws {
        self.andBindsFirst = andBindsFirst
        lexer = SearchQueryLexer(text)
        token = try lexer.next()
    }

    private mutating func advance() throws { token = try lexer.next() }

    private mutating func query(field: String, depth: Int) throws -> SearchExpression {
        guard depth <= Self.deepest else {
            throw DatabaseError(
                .invalidQuery, "The query has more than \(Self.deepest) parentheses in each other.")
        }
        var found: [SearchExpression.Clause] = []
        // Where clauses begin that are not joined to those before them by AND.
        var starts: [Int] = []
        while token != .end, token != .close {
            let isAnd = token == .and
            if !found.isEmpty, isAnd || token == .or { try advance() }
            let isFirst = found.isEmpty
            let occurrence = try modifier()
            clauses += 1
            guard clauses <= Self.mostClauses else {
                throw DatabaseError(
                    .invalidQuery, "The query has more than \(Self.mostClauses) clauses.")
            }
            let expression = try clause(field: field, depth: depth)
            if isAnd, !isFirst, found[found.count - 1].occurrence == .should {
                found[found.count - 1].occurrence = .must
            }
            let isRequired = isAnd && !isFirst && occurrence == .should
            if !isAnd || isFirst { starts.append(found.count) }
            found.append(.init(isRequired ? .must : occurrence, expression))
        }
        if andBindsFirst, starts.count > 1 { found = Self.bound(found, starts) }
        guard let first = found.first else { throw lexer.failure("a word or a phrase") }
        return found.count == 1 && first.occurrence != .mustNot ? first.expression : .boolean(found)
    }

    /// Makes one clause of each run of several.
    private static func bound(_ clauses: [SearchExpression.Clause], _ starts: [Int])
        -> [SearchExpression.Clause]
    {
        let ends: [Int] = Array(starts.dropFirst()) + [clauses.count]
        return zip(starts, ends).map { start, end -> SearchExpression.Clause in
            guard end - start > 1 else { return clauses[start] }
            return SearchExpression.Clause(.should, .boolean(Array(clauses[start..<end])))
        }
    }

    private mutating func modifier() throws -> SearchExpression.Occurrence {
        switch token {
        case .plus:
            try advance()
            return .must
        case .minus, .not:
            try advance()
            return .mustNot
        default: return .should
        }
    }

    private mutating func clause(field: String, depth: Int) throws -> SearchExpression {
        guard case .word(let signs) = token else { return try value(field: field, depth: depth) }
        try advance()
        guard token == .colon else { return try word(signs, field: field) }
        try advance()
        if signs == [.any] {
            guard case .word([.any]) = token else { throw lexer.failure("`*` behind `*:`") }
            try advance()
            return try boosted(.all)
        }
        guard let name = SearchQueryLexer.text(signs) else {
            throw lexer.failure("the name of a field, which has no wildcards")
        }
        return try value(field: name, depth: depth)
    }

    private mutating func value(field: String, depth: Int) throws -> SearchExpression {
        switch token {
        case .word(let signs):
            try advance()
            return try word(signs, field: field)
        case .quoted(let text):
            try advance()
            var slop = 0
            if case .fuzzy(let number) = token {
                slop = Int(min(number ?? 0, 10_000))
                try advance()
            }
            return try boosted(.words(field: field, text: text, isPhrase: true, slop: slop))
        case .range(let lower, let upper):
            try advance()
            return try boosted(.range(field: field, lower: lower, upper: upper))
        case .open:
            try advance()
            let inner = try query(field: field, depth: depth + 1)
            guard token == .close else { throw lexer.failure("a closing parenthesis") }
            try advance()
            return try boosted(inner)
        default: throw lexer.failure("a word or a phrase")
        }
    }

    private mutating func word(_ signs: [SearchExpression.Sign], field: String) throws
        -> SearchExpression
    {
        if case .fuzzy(let number) = token {
            try advance()
            guard let text = SearchQueryLexer.text(signs) else {
                throw lexer.failure("no wildcard in a word with ~")
            }
            let distance = Self.distance(number, text)
            return try boosted(.fuzzy(field: field, text: text, distance: distance))
        }
        if let text = SearchQueryLexer.text(signs) {
            return try boosted(.words(field: field, text: text, isPhrase: false, slop: 0))
        }
        if signs == [.any] { return try boosted(.range(field: field, lower: nil, upper: nil)) }
        guard case .scalar? = signs.first else {
            throw lexer.failure("a character before the first wildcard of a word")
        }
        if signs.last == .any, let text = SearchQueryLexer.text(Array(signs.dropLast())) {
            return try boosted(.prefix(field: field, text: text))
        }
        return try boosted(.wildcard(field: field, signs: signs))
    }

    /// How many edits a fuzzy word is away: 1 or more is their number, less a similarity, as in Lucene before 4.
    private static func distance(_ number: Double?, _ text: String) -> Int {
        guard let number else { return 2 }
        guard number < 1 else { return Int(min(number, 2)) }
        return min(2, Int((1 - number) * Double(text.unicodeScalars.count)))
    }

    private mutating func boosted(_ expression: SearchExpression) throws -> SearchExpression {
        guard case .boost(let number) = token else { return expression }
        try advance()
        return .boosted(expression, number)
    }
}
