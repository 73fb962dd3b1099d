// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a search asks for, before its words are analyzed: what a query text says, or what a selector comes to.
package indirect enum SearchExpression: Equatable, Sendable {
    /// Whether documents must, may or must not match a clause.
    package enum Occurrence: Equatable, Sendable { case must, should, mustNot }

    /// A part of a combination.
    package struct Clause: Equatable, Sendable {
        var occurrence: Occurrence
        var expression: SearchExpression

        /// Makes a clause.
        package init(_ occurrence: Occurrence, _ expression: SearchExpression) {
            self.occurrence = occurrence
            self.expression = expression
        }
    }

    /// The end of a range.
    package struct Bound: Equatable, Sendable {
        @ByBytes var text: String
        var isInclusive: Bool
        /// Whether it is a text also where it looks like a number.
        var isText = false

        /// Makes an end.
        package init(_ text: String, isInclusive: Bool, isText: Bool = false) {
            self.text = text
            self.isInclusive = isInclusive
            self.isText = isText
        }
    }

    /// A sign of a pattern.
    package enum Sign: Equatable, Sendable {
        /// A character.
        case scalar(Unicode.Scalar)
        /// Any one character.
        case one
        /// Any characters.
        case any
    }

    /// `*:*`
    case all
    /// `word`, and `"some words"~2`
    case words(field: String, text: String, isPhrase: Bool, slop: Int)
    /// `beg*`
    case prefix(field: String, text: String)
    /// `w?l*d`
    case wildcard(field: String, signs: [Sign])
    /// `wrod~1`
    case fuzzy(field: String, text: String, distance: Int)
    /// `[a TO b}`; an end that is nil is open.
    case range(field: String, lower: Bound?, upper: Bound?)
    /// Clauses, which `+`, `-` or nothing stands before.
    case boolean([Clause])
    /// `(a b)^2`
    case boosted(SearchExpression, Double)
}

extension SearchExpression {
    /// What all of some say; those that say nothing are left out.
    package static func all(of parts: [SearchExpression]) -> SearchExpression {
        let parts = parts.filter { $0 != .all }
        guard let first = parts.first else { return .all }
        return parts.count == 1 ? first : .boolean(parts.map { Clause(.must, $0) })
    }

    /// What one of some says.
    package static func any(of parts: [SearchExpression]) -> SearchExpression {
        if parts.contains(.all) { return .all }
        guard let first = parts.first, parts.count == 1 else {
            return .boolean(parts.map { Clause(.should, $0) })
        }
        return first
    }

    /// What an expression does not say.
    package static func not(_ expression: SearchExpression) -> SearchExpression {
        .boolean([Clause(.must, .all), Clause(.mustNot, expression)])
    }

    /// How many words, patterns and ranges it has.
    package var size: Int {
        switch self {
        case .boolean(let clauses): clauses.reduce(1) { $0 + $1.expression.size }
        case .boosted(let inner, _): inner.size
        default: 1
        }
    }
}

extension SearchExpression: CustomStringConvertible {
    /// The expression as a query is written.
    package var description: String {
        switch self {
        case .all: "*:*"
        case .words(let field, let text, let isPhrase, let slop):
            isPhrase
                ? "\(Self.escaped(field)):\"\(Self.escaped(text))\"" + (slop > 0 ? "~\(slop)" : "")
                : "\(Self.escaped(field)):\(Self.escaped(text))"
        case .prefix(let field, let text): "\(Self.escaped(field)):\(Self.escaped(text))*"
        case .wildcard(let field, let signs):
            "\(Self.escaped(field)):" + signs.map(Self.text).joined()
        case .fuzzy(let field, let text, let distance):
            "\(Self.escaped(field)):\(Self.escaped(text))~\(distance)"
        case .range(let field, let lower, let upper):
            "\(Self.escaped(field)):" + (lower?.isInclusive ?? true ? "[" : "{")
                + "\(Self.text(lower)) TO \(Self.text(upper))"
                + (upper?.isInclusive ?? true ? "]" : "}")
        case .boolean(let clauses):
            "("
                + clauses.map { Self.sign($0.occurrence) + "\($0.expression)" }
                .joined(separator: " ") + ")"
        case .boosted(let inner, let boost): "\(inner)^\(boost)"
        }
    }

    private static func text(_ bound: Bound?) -> String {
        bound.map { $0.isText ? "\"\(escaped($0.text))\"" : escaped($0.text) } ?? "*"
    }

    private static func text(_ sign: Sign) -> String {
        switch sign {
        case .scalar(let scalar): escaped(String(scalar))
        case .one: "?"
        case .any: "*"
        }
    }

    private static func sign(_ occurrence: Occurrence) -> String {
        switch occurrence {
        case .must: "+"
        case .should: ""
        case .mustNot: "-"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            if "+-!(){}[]^\"~*?:\\/&| ".unicodeScalars.contains(scalar) { escaped += "\\" }
            escaped.unicodeScalars.append(scalar)
        }
    }
}
