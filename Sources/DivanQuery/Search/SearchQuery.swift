// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
package import DivanModel

/// What a search asks.
package struct SearchQuery: Sendable {
    /// A field whose numbers are counted in a range.
    package struct Range: Sendable {
        /// The field.
        package var field: String
        /// What the count is called.
        package var label: String
        /// The ends; infinite for none.
        package var lower = -Double.infinity, upper = Double.infinity
        /// Whether the ends are in the range.
        package var includesLower = true, includesUpper = true

        /// Makes a range of all numbers.
        package init(field: String, label: String) {
            self.field = field
            self.label = label
        }

        /// Reads a range as queries have it: `[0 TO 100}`, with `Infinity` or `*` for an open end.
        ///
        /// - Throws: `DatabaseError` with code `.invalidQuery`.
        package init(field: String, label: String, text: String) throws {
            self.init(field: field, label: label)
            var lexer = SearchQueryLexer(text)
            guard text.utf8.count <= 1_024, case .range(let low, let high) = try lexer.next(),
                try lexer.next() == .end
            else { throw lexer.failure("a range in brackets") }
            for (bound, isLower) in [(low, true), (high, false)] {
                guard let bound else { continue }
                guard let number = SearchNumbers.plain.number(bound.text) else {
                    throw lexer.failure("numbers as the ends of a range")
                }
                if isLower {
                    (lower, includesLower) = (number, bound.isInclusive)
                } else {
                    (upper, includesUpper) = (number, bound.isInclusive)
                }
            }
        }

        /// Whether a number is in it.
        func contains(_ number: Double) -> Bool {
            (includesLower ? number >= lower : number > lower)
                && (includesUpper ? number <= upper : number < upper)
        }
    }

    /// How hits are put together in groups.
    package struct Grouping: Sendable {
        /// The field by whose value.
        package var field: String
        /// How many groups.
        package var limit: Int
        /// In which order groups come: by their first hits in it.
        package var order: [SearchOrder]

        /// Makes a grouping.
        package init(field: String, limit: Int, order: [SearchOrder]) {
            self.field = field
            self.limit = limit
            self.order = order
        }
    }

    /// The query in the words of ``SearchQueryParser``.
    package var text: String
    /// The query where it is no text.
    package var expression: SearchExpression?
    /// The partition that is searched, in an index that is made for partitions. Everything is then found and counted in it
    /// alone; scores go by its documents, too.
    package var partition: String?
    /// How numbers are written in it.
    package var numbers = SearchNumbers.plain
    /// The most hits, of each group if there are some.
    package var limit = 25
    /// The order of hits; those that are equal come by their IDs.
    package var order = [SearchOrder.score]
    /// The fields that hits show of those that are stored; nil for all.
    package var fields: NameSet?
    /// Where the page before ended.
    package var after: SearchPosition?
    /// Whether the index is brought up to date first.
    package var updates = true
    /// Fields whose values are counted.
    package var counts: [String]?
    /// Ranges in which numbers are counted.
    package var ranges: [Range]?
    /// Fields that have one of some values.
    package var drilldown: [(field: String, values: [String])] = []
    /// The most values or ranges of a field that are told, those with the highest counts; nil for all.
    package var mostLabels: Int?
    /// How hits are put together; nil for not at all.
    package var grouping: Grouping?
    /// Which documents are in the result at all: those that a user may see, or those of a part of the database. It is asked in
    /// the snapshot of the search. Scores then tell nothing of other documents.
    package var includes: (@Sendable (DocumentID) throws -> Bool)?

    /// Makes a query.
    package init(_ text: String) { self.text = text }

    /// Makes a query of what it asks for.
    package init(_ expression: SearchExpression) {
        text = ""
        self.expression = expression
    }
}

/// One part of the order of hits.
package struct SearchOrder: Sendable, Equatable {
    /// What hits are sorted by.
    package enum Key: Sendable, Equatable {
        /// How much they match.
        case score
        /// The IDs of the documents.
        case document
        /// The values of a field: numbers, texts, or both, numbers first.
        case field(String, Kind)
    }

    /// What a field by which hits are sorted has.
    package enum Kind: Sendable, Equatable { case number, text, any }

    /// What hits are sorted by.
    package var key: Key
    /// Whether the largest comes first.
    package var isDescending: Bool

    /// Makes an order.
    package init(_ key: Key, isDescending: Bool = false) {
        self.key = key
        self.isDescending = isDescending
    }

    /// Best matches first.
    package static let score = SearchOrder(.score, isDescending: true)
}

/// What a search has found.
package struct SearchResult: Sendable {
    /// How often each value of a field, or each range, was found.
    package typealias Counts = [(field: String, labels: [(label: String, count: Int)])]

    /// How many documents match.
    package var total = 0
    /// The hits of the page.
    package var hits: [SearchHit] = []
    /// What was counted, in the order of the query; nil when nothing was to be.
    package var counts: Counts?
    /// What was counted in ranges.
    package var ranges: Counts?
    /// The groups; nil when hits are not grouped.
    package var groups: [SearchGroup]?

    /// Where the page ends; nil for a page without hits.
    package var end: SearchPosition? { hits.last.map { SearchPosition($0.order, $0.id) } }
}

/// A document that was found.
package struct SearchHit: Sendable {
    /// The document.
    package var id: DocumentID
    /// What it was sorted by; nil stands for a field that it does not have.
    package var order: [JSONValue?]
    /// The how-manieth match it is in the order of IDs.
    package var number: Int
    /// The fields that are stored with the index.
    package var fields = JSONObject()

    /// About how many bytes it takes in memory, but for its fields.
    var size: Int {
        order.reduce(id.text.utf8.count + 128) { $0 + ($1?.string?.utf8.count ?? 0) + 32 }
    }
}

/// Hits with the same value of a field.
package struct SearchGroup: Sendable {
    /// The value; nil for none.
    package var value: JSONValue?
    /// How many documents.
    package var total: Int
    /// The first of them.
    package var hits: [SearchHit] = []
}
