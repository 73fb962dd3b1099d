// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// What a full-text search looks for.
///
/// ```swift
/// let expression: FullTextExpression = .all([.word("couch"), .any([.prefix("pot"), .phrase("on the sofa")])])
/// let same = try FullTextExpression(parsing: #"couch (pot* OR "on the sofa")"#)
/// ```
public indirect enum FullTextExpression: Sendable, Hashable {
    /// Documents with a word, in any of its forms where the index has a language.
    case word(String)
    /// Documents with a word that begins so. Words with stems are found by their stems.
    case prefix(String)
    /// Documents with these words one after the other. With a `*` at its end, the last of them is the
    /// beginning of a word.
    case phrase(String)
    /// Documents with these words, or phrases, close together in one text: each at most so many words from the first, where
    /// of a phrase the nearest word counts. The number is 0 or more; more than 999 counts as 999.
    case near([String], within: Int)
    /// Documents that match all of these.
    case all([FullTextExpression])
    /// Documents that match at least one of these.
    case any([FullTextExpression])
    /// Documents that match the first and not the second.
    case except(FullTextExpression, FullTextExpression)
}

extension FullTextExpression {
    /// Reads an expression as people type it.
    ///
    /// | Text | Finds |
    /// |---|---|
    /// | `couch potato` or `couch AND potato` | both words |
    /// | `couch OR sofa` | one of them |
    /// | `couch NOT potato` or `couch -potato` | the first without the second |
    /// | `"couch potato"` | the words one after the other |
    /// | `pot*`, `"couch pot*"` | words that begin so |
    /// | `couch NEAR potato`, `couch NEAR/3 potato` | at most 10, or 3, words apart |
    /// | `(sofa OR couch) potato` | grouping; without it, NEAR binds before AND and NOT, those before OR |
    ///
    /// Operators are written in capitals; in lower case they are words.
    ///
    /// - Parameter text: The text.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when an operator lacks something beside it,
    ///   or a parenthesis or quotation mark its partner.
    public init(parsing text: String) throws {
        var parser = FullTextParser(text)
        self = try parser.parse()
    }
}

extension FullTextExpression {
    /// How deep expressions may nest. What is parsed nests less.
    private static let deepest = 512

    /// Refuses what makes no sense.
    ///
    /// - Parameter levels: How many levels there may be.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for a negative nearness, or for an expression that nests
    ///   too deep.
    func check(levels: Int = deepest) throws {
        guard levels > 0 else {
            throw DatabaseError(
                .invalidQuery,
                "The expression to search for nests deeper than \(Self.deepest) levels; write it "
                    + "flatter.")
        }
        switch self {
        case .word, .prefix, .phrase: return
        case .near(_, let distance):
            guard distance < 0 else { return }
            throw DatabaseError(
                .invalidQuery,
                "A negative number of words between others makes no sense; use 0 or more.")
        case .all(let parts), .any(let parts):
            for part in parts { try part.check(levels: levels - 1) }
        case .except(let wanted, let unwanted):
            try wanted.check(levels: levels - 1)
            try unwanted.check(levels: levels - 1)
        }
    }
}

/// Reads a full-text expression by recursive descent: or, and, near, single things.
struct FullTextParser {
    private enum Token: Equatable {
        case open, close, and, or, not
        case near(Int)
        case word(String)
        case phrase(String)
    }

    private static let usualNearness = 10
    /// No app asks with deeper nesting, which would exhaust the stack.
    private static let deepest = 64

    private var tokens: [Token] = []
    private var position = 0
    private var depth = 0
    private var failure: DatabaseError?

    init(_ text: String) {
        do { tokens = try Self.tokens(of: text) } catch { failure = error }
    }

    mutating func parse() throws -> FullTextExpression {
        if let failure { throw failure }
        // Nothing is looked for, and nothing found.
        guard !tokens.isEmpty else { return .all([]) }
        let expression = try any()
        guard position == tokens.count else {
            throw Self.refusal("a parenthesis closes that was not opened")
        }
        return expression
    }

    private var next: Token? { position < tokens.count ? tokens[position] : nil }

    private mutating func any() throws -> FullTextExpression {
        var choices = [try all()]
        while next == .or {
            position += 1
            choices.append(try all())
        }
        return choices.count == 1 ? choices[0] : .any(choices)
    }

    private mutating func all() throws -> FullTextExpression {
        var parts = [try near()]
        var exceptions: [FullTextExpression] = []
        while let token = next, token != .or, token != .close {
            if token == .and || token == .not { position += 1 }
            if token == .not { exceptions.append(try near()) } else { parts.append(try near()) }
        }
        let whole = parts.count == 1 ? parts[0] : .all(parts)
        guard let first = exceptions.first else { return whole }
        // One for all: a text may have more of them than a stack has room for.
        return .except(whole, exceptions.count == 1 ? first : .any(exceptions))
    }

    private mutating func near() throws -> FullTextExpression {
        let first = try single()
        guard case .near(let distance)? = next else { return first }
        var words = [try Self.text(first)]
        var least = distance
        while case .near(let distance)? = next {
            position += 1
            least = min(least, distance)
            words.append(try Self.text(try single()))
        }
        return .near(words, within: least)
    }

    private static func text(_ expression: FullTextExpression) throws -> String {
        switch expression {
        case .word(let text), .phrase(let text): return text
        case .prefix(let text): return text + "*"
        default: throw refusal("NEAR stands between words and phrases only")
        }
    }

    private mutating func single() throws -> FullTextExpression {
        guard let token = next else { throw Self.refusal("it ends where a word is missing") }
        position += 1
        switch token {
        case .word(let text):
            return text.beforeByteSuffix("*").map { .prefix($0) } ?? .word(text)
        case .phrase(let text): return .phrase(text)
        case .open:
            depth += 1
            defer { depth -= 1 }
            guard depth <= Self.deepest else { throw Self.refusal("it is nested too deeply") }
            let inside = try any()
            guard next == .close else { throw Self.refusal("a parenthesis is not closed") }
            position += 1
            return inside
        case .close, .and, .or, .not, .near:
            throw Self.refusal("an operator has nothing before or after it")
        }
    }

    // MARK: - Tokens

    private static func tokens(of text: String) throws(DatabaseError) -> [Token] {
        var tokens: [Token] = []
        var rest = text[...]
        while let character = rest.first {
            switch character {
            case "(", ")":
                tokens.append(character == "(" ? .open : .close)
                rest.removeFirst()
            case "\"":
                rest.removeFirst()
                guard let end = rest.firstIndex(of: "\"") else {
                    throw refusal("a quotation mark is not closed")
                }
                tokens.append(.phrase(String(rest[..<end])))
                rest = rest[rest.index(after: end)...]
            case "-" where rest.dropFirst().first.map { !$0.isWhitespace } ?? false:
                tokens.append(.not)
                rest.removeFirst()
            case _ where character.isWhitespace: rest.removeFirst()
            default:
                let end =
                    rest.firstIndex { $0.isWhitespace || $0 == "(" || $0 == ")" || $0 == "\"" }
                    ?? rest.endIndex
                tokens.append(token(String(rest[..<end])))
                rest = rest[end...]
            }
        }
        return tokens
    }

    private static func token(_ word: String) -> Token {
        switch word {
        case "AND": return .and
        case "OR": return .or
        case "NOT": return .not
        case "NEAR": return .near(usualNearness)
        default:
            if let number = word.afterBytePrefix("NEAR/"), let distance = Int(number), distance > 0
            {
                return .near(distance)
            }
            return .word(word)
        }
    }

    private static func refusal(_ reason: String) -> DatabaseError {
        DatabaseError(.invalidQuery, "The text to search for makes no sense: \(reason).")
    }
}
