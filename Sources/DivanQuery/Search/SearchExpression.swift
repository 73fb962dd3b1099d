// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What a query text asks for, before its words are analyzed.
indirect enum SearchExpression: Equatable {
    /// Whether documents must, may or must not match a clause.
    enum Occurrence: Equatable { case must, should, mustNot }

    struct Clause: Equatable {
        var occurrence: Occurrence
        var expression: SearchExpression
    }

    /// The end of a range.
    struct Bound: Equatable {
        @ByBytes var text: String
        var isInclusive: Bool
    }

    /// A sign of a pattern.
    enum Sign: Equatable {
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
    case boolean([Clause])
    case boosted(SearchExpression, Double)
}
