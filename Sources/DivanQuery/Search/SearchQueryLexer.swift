// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// Cuts a query text into tokens, by the rules of Lucene's classic query parser.
struct SearchQueryLexer {
    enum Token: Equatable {
        case and, or, not, plus, minus, open, close, colon
        /// `^2`
        case boost(Double)
        /// `~`, `~2`, `~0.5`
        case fuzzy(Double?)
        /// A word; its signs are text but for wildcards that are not escaped.
        case word([SearchExpression.Sign])
        /// The text between quotation marks.
        case quoted(String)
        case range(lower: SearchExpression.Bound?, upper: SearchExpression.Bound?)
        case end
    }

    private let scalars: [Unicode.Scalar]
    private var place = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    /// The next token.
    mutating func next() throws -> Token {
        while place < scalars.count, Self.isSpace(scalars[place]) { place += 1 }
        guard place < scalars.count else { return .end }
        let scalar = scalars[place]
        place += 1
        switch scalar {
        case "(": return .open
        case ")": return .close
        case ":": return .colon
        case "+": return .plus
        case "-": return .minus
        case "!": return .not
        case "^":
            guard let number = number() else { throw failure("a number behind ^") }
            guard number >= 0, number <= 1e6 else { throw failure("a boost from 0 to 1000000") }
            return .boost(number)
        case "~": return .fuzzy(number())
        case "\"": return .quoted(try quoted())
        case "[", "{": return try range(isInclusive: scalar == "[")
        case "]", "}": throw failure("a range to begin with [ or {")
        case "/":
            throw failure("no regular expression: they are not served, and a slash is written \\/")
        default:
            place -= 1
            return try word()
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case " ", "\t", "\n", "\r", "\u{3000}": true
        default: false
        }
    }

    /// Signs that end a word.
    private static func isSpecial(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "!", "(", ")", ":", "^", "[", "]", "\"", "{", "}", "~", "/": true
        default: isSpace(scalar)
        }
    }

    private mutating func word() throws -> Token {
        var signs: [SearchExpression.Sign] = []
        var isEscaped = false
        while place < scalars.count, !Self.isSpecial(scalars[place]) {
            let scalar = scalars[place]
            place += 1
            switch scalar {
            case "\\":
                signs.append(.scalar(try escaped()))
                isEscaped = true
            case "*": signs.append(.any)
            case "?": signs.append(.one)
            default: signs.append(.scalar(scalar))
            }
        }
        guard !isEscaped else { return .word(signs) }
        switch Self.text(signs) {
        case "AND", "&&": return .and
        case "OR", "||": return .or
        case "NOT": return .not
        default: return .word(signs)
        }
    }

    /// What stands behind a backslash.
    private mutating func escaped() throws -> Unicode.Scalar {
        guard place < scalars.count else { throw failure("a character behind the last \\") }
        place += 1
        return scalars[place - 1]
    }

    private mutating func quoted() throws -> String {
        var text = String.UnicodeScalarView()
        while place < scalars.count {
            let scalar = scalars[place]
            place += 1
            if scalar == "\"" { return String(text) }
            text.append(scalar == "\\" ? try escaped() : scalar)
        }
        throw failure("a quotation mark at the end of the phrase")
    }

    /// A number that stands here; nil when there is none.
    private mutating func number() -> Double? {
        let start = place
        while place < scalars.count, place - start < 32,
            scalars[place] == "." || ("0"..."9").contains(scalars[place])
        { place += 1 }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[start..<place])
        guard let number = Double(String(text)), number.isFinite else {
            place = start
            return nil
        }
        return number
    }

    private mutating func range(isInclusive: Bool) throws -> Token {
        let lower = try end()
        guard case .word(let to)? = try rangeWord(), Self.text(to) == "TO" else {
            throw failure("`TO` between the ends of a range")
        }
        let upper = try end()
        while place < scalars.count, Self.isSpace(scalars[place]) { place += 1 }
        guard place < scalars.count, scalars[place] == "]" || scalars[place] == "}" else {
            throw failure("] or } at the end of a range")
        }
        place += 1
        let isUpperInclusive = scalars[place - 1] == "]"
        return .range(
            lower: lower.map { SearchExpression.Bound($0, isInclusive: isInclusive) },
            upper: upper.map { SearchExpression.Bound($0, isInclusive: isUpperInclusive) })
    }

    /// One end of a range; nil for `*`.
    private mutating func end() throws -> String? {
        while place < scalars.count, Self.isSpace(scalars[place]) { place += 1 }
        if place < scalars.count, scalars[place] == "\"" {
            place += 1
            return try quoted()
        }
        guard case .word(let signs)? = try rangeWord() else {
            throw failure("both ends of a range")
        }
        if signs == [.any] { return nil }
        return Self.text(signs, keepsWildcards: true)
    }

    /// A word inside a range, where most signs are text.
    private mutating func rangeWord() throws -> Token? {
        while place < scalars.count, Self.isSpace(scalars[place]) { place += 1 }
        var signs: [SearchExpression.Sign] = []
        while place < scalars.count, !Self.isSpace(scalars[place]), scalars[place] != "]",
            scalars[place] != "}"
        {
            let scalar = scalars[place]
            place += 1
            switch scalar {
            case "\\": signs.append(.scalar(try escaped()))
            case "*": signs.append(.any)
            default: signs.append(.scalar(scalar))
            }
        }
        return signs.isEmpty ? nil : .word(signs)
    }

    /// Signs as text; nil when there are wildcards among them.
    static func text(_ signs: [SearchExpression.Sign], keepsWildcards: Bool = false) -> String? {
        var text = String.UnicodeScalarView()
        for sign in signs {
            switch sign {
            case .scalar(let scalar): text.append(scalar)
            case .any where keepsWildcards: text.append("*")
            case .one where keepsWildcards: text.append("?")
            case .one, .any: return nil
            }
        }
        return String(text)
    }

    /// The refusal of a query; it has nothing of the text but a place.
    func failure(_ expected: String) -> DatabaseError {
        DatabaseError(
            .invalidQuery, "Cannot parse the query at character \(place): expected \(expected).")
    }
}
