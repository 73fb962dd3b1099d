// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

// Comparisons and logic.
extension QueryExpression {
    private func compare(_ comparison: ExpressionNode.Comparison, _ other: QueryExpression)
        -> QueryExpression
    {
        QueryExpression(.compare(comparison, node, other.node), of: [self, other])
    }

    private func test(_ test: ExpressionNode.Test) -> QueryExpression {
        QueryExpression(.test(test, node), of: [self])
    }

    /// Whether both are equal.
    public func equalTo(_ other: QueryExpression) -> QueryExpression { compare(.equal, other) }

    /// Whether both are there and differ.
    public func notEqualTo(_ other: QueryExpression) -> QueryExpression {
        compare(.notEqual, other)
    }

    /// Whether this is less.
    public func lessThan(_ other: QueryExpression) -> QueryExpression { compare(.less, other) }

    /// Whether this is less or equal.
    public func lessThanOrEqualTo(_ other: QueryExpression) -> QueryExpression {
        compare(.lessOrEqual, other)
    }

    /// Whether this is greater.
    public func greaterThan(_ other: QueryExpression) -> QueryExpression {
        compare(.greater, other)
    }

    /// Whether this is greater or equal.
    public func greaterThanOrEqualTo(_ other: QueryExpression) -> QueryExpression {
        compare(.greaterOrEqual, other)
    }

    /// Whether this is before a date.
    public func lessThan(_ date: Date) -> QueryExpression { lessThan(.date(date)) }

    /// Whether this is after a date.
    public func greaterThan(_ date: Date) -> QueryExpression { greaterThan(.date(date)) }

    /// Whether this is neither less than the first nor greater than the second.
    public func between(_ low: QueryExpression, and high: QueryExpression) -> QueryExpression {
        QueryExpression(.between(node, low.node, high.node), of: [self, low, high])
    }

    /// Whether this equals one of a list.
    public func `in`(_ list: QueryExpression...) -> QueryExpression { `in`(list) }

    /// Whether this equals one of a list.
    public func `in`(_ list: [QueryExpression]) -> QueryExpression {
        QueryExpression(.oneOf(node, list.map(\.node)), of: [self] + list)
    }

    /// Whether a string has a form: `%` stands for any characters, `_` for one, a backslash takes the next
    /// one as it is. Letters match in their own case only.
    public func like(_ form: QueryExpression) -> QueryExpression {
        QueryExpression(.like(node, form.node), of: [self, form])
    }

    /// Whether a regular expression of ICU occurs in a string.
    public func regex(_ pattern: QueryExpression) -> QueryExpression {
        QueryExpression(.matches(node, pattern.node), of: [self, pattern])
    }

    /// Whether the property is not there.
    public func isMissing() -> QueryExpression { test(.missing) }

    /// Whether the value is null.
    public func isNull() -> QueryExpression { test(.null) }

    /// Whether there is a value other than null.
    public func isValued() -> QueryExpression { test(.valued) }

    /// Whether the value is missing or null.
    public func isNotValued() -> QueryExpression { .not(isValued()) }

    /// Whether both hold.
    public func and(_ other: QueryExpression) -> QueryExpression {
        joined(other) {
            if case .all(let terms) = $0 { terms } else { nil }
        } _: {
            .all($0)
        }
    }

    /// Whether one of both holds.
    public func or(_ other: QueryExpression) -> QueryExpression {
        joined(other) {
            if case .any(let terms) = $0 { terms } else { nil }
        } _: {
            .any($0)
        }
    }

    /// Whether a condition does not hold.
    public static func not(_ condition: QueryExpression) -> QueryExpression {
        QueryExpression(.not(condition.node), of: [condition])
    }

    /// Whether some element of an array fulfils a condition.
    ///
    /// ```swift
    /// let isTagged = QueryExpression.any(
    ///     "tag", in: .property("tags"), satisfies: .variable("tag").equalTo("swift"))
    /// ```
    ///
    /// - Parameters:
    ///   - name: What the condition calls the element.
    ///   - array: The array. Anything else has no elements.
    ///   - condition: The condition.
    /// - Returns: The expression.
    public static func any(
        _ name: String, in array: QueryExpression, satisfies condition: QueryExpression
    ) -> QueryExpression {
        quantified(.any, name, array, condition)
    }

    /// Whether every element of an array fulfils a condition; true of an empty array. See
    /// ``any(_:in:satisfies:)``.
    public static func every(
        _ name: String, in array: QueryExpression, satisfies condition: QueryExpression
    ) -> QueryExpression {
        quantified(.every, name, array, condition)
    }

    /// Whether an array has elements and every one fulfils a condition. See ``any(_:in:satisfies:)``.
    public static func anyAndEvery(
        _ name: String, in array: QueryExpression, satisfies condition: QueryExpression
    ) -> QueryExpression {
        quantified(.anyAndEvery, name, array, condition)
    }

    private static func quantified(
        _ quantifier: ExpressionNode.Quantifier, _ name: String, _ array: QueryExpression,
        _ condition: QueryExpression
    ) -> QueryExpression {
        QueryExpression(
            .quantified(quantifier, name, array.node, condition.node), of: [array, condition])
    }
}
