// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

// Arithmetic, functions and aggregates.
extension QueryExpression {
    private func arithmetic(_ operation: ExpressionNode.Arithmetic, _ other: QueryExpression)
        -> QueryExpression
    {
        QueryExpression(.arithmetic(operation, node, other.node), of: [self, other])
    }

    /// The sum. Integers stay integers unless the sum outgrows 64 bits with a sign; null for anything but numbers.
    public func add(_ other: QueryExpression) -> QueryExpression { arithmetic(.add, other) }

    /// The difference.
    public func subtract(_ other: QueryExpression) -> QueryExpression {
        arithmetic(.subtract, other)
    }

    /// The product.
    public func multiply(_ other: QueryExpression) -> QueryExpression {
        arithmetic(.multiply, other)
    }

    /// The quotient, always as a double; null when dividing by 0.
    public func divide(_ other: QueryExpression) -> QueryExpression { arithmetic(.divide, other) }

    /// The remainder of a division of integers; null when dividing by 0.
    public func modulo(_ other: QueryExpression) -> QueryExpression { arithmetic(.modulo, other) }
}

/// Functions of values, and aggregates of groups.
///
/// ```swift
/// QueryBuilder
///     .select(.property("city"), .expression(Function.count()).as("people"))
///     .from(.database(database)).groupBy(.property("city"))
/// ```
///
/// A function of a value of the wrong type is null; a function of a missing value is missing.
public enum Function {
    static func call(_ function: ExpressionFunction, _ arguments: QueryExpression...)
        -> QueryExpression
    {
        QueryExpression(.function(function, arguments.map(\.node)), of: arguments)
    }

    private static func aggregate(
        _ aggregate: ExpressionNode.Aggregate, _ value: QueryExpression
    ) -> QueryExpression {
        QueryExpression(.aggregate(aggregate, value.node), of: [value])
    }

    // MARK: - Aggregates

    /// The number of rows of the group.
    public static func count() -> QueryExpression { QueryExpression(.aggregate(.count, nil)) }

    /// The number of rows for which there is a value other than null.
    public static func count(_ value: QueryExpression) -> QueryExpression {
        aggregate(.count, value)
    }

    /// The sum of the numbers, rounded once at its end; 0 without any.
    public static func sum(_ value: QueryExpression) -> QueryExpression {
        aggregate(.sum, value)
    }

    /// The mean of the numbers, whose sum is not rounded before; null without any.
    public static func average(_ value: QueryExpression) -> QueryExpression {
        aggregate(.average, value)
    }

    /// The least value other than null, by the collation; null without any.
    public static func minimum(_ value: QueryExpression) -> QueryExpression {
        aggregate(.minimum, value)
    }

    /// The greatest value other than null, by the collation; null without any.
    public static func maximum(_ value: QueryExpression) -> QueryExpression {
        aggregate(.maximum, value)
    }

    // MARK: - Texts, arrays and dates

    /// The text in lower case.
    public static func lower(_ text: QueryExpression) -> QueryExpression { call(.lower, text) }
    /// The text in upper case.
    public static func upper(_ text: QueryExpression) -> QueryExpression { call(.upper, text) }
    /// The number of characters, as people count them.
    public static func length(_ text: QueryExpression) -> QueryExpression { call(.length, text) }
    /// Whether a text contains another one, byte for byte.
    public static func contains(_ text: QueryExpression, _ part: QueryExpression) -> QueryExpression
    {
        call(.contains, text, part)
    }
    /// The text without white space at both ends.
    public static func trim(_ text: QueryExpression) -> QueryExpression { call(.trim, text) }
    /// The text without white space at its beginning.
    public static func ltrim(_ text: QueryExpression) -> QueryExpression { call(.ltrim, text) }
    /// The text without white space at its end.
    public static func rtrim(_ text: QueryExpression) -> QueryExpression { call(.rtrim, text) }
    /// Two texts, one after the other.
    public static func concat(_ text: QueryExpression, _ other: QueryExpression) -> QueryExpression
    {
        call(.concat, text, other)
    }
    /// Whether an array has an element that equals a value.
    public static func arrayContains(_ array: QueryExpression, _ value: QueryExpression)
        -> QueryExpression
    {
        call(.arrayContains, array, value)
    }
    /// The number of elements.
    public static func arrayLength(_ array: QueryExpression) -> QueryExpression {
        call(.arrayLength, array)
    }
    /// Milliseconds since 1970 as text in ISO 8601.
    public static func millisToString(_ value: QueryExpression) -> QueryExpression {
        call(.millisToString, value)
    }
    /// Milliseconds since 1970 as text in ISO 8601, in UTC: the same as `millisToString`.
    public static func millisToUTC(_ value: QueryExpression) -> QueryExpression {
        call(.millisToUTC, value)
    }
    /// The milliseconds since 1970 of a text in ISO 8601.
    public static func stringToMillis(_ text: QueryExpression) -> QueryExpression {
        call(.stringToMillis, text)
    }
    /// A text in ISO 8601, of whatever time zone, in UTC with milliseconds.
    public static func stringToUTC(_ text: QueryExpression) -> QueryExpression {
        call(.stringToUTC, text)
    }
    /// The type: "null", "boolean", "number", "string", "array" or "object".
    public static func type(_ value: QueryExpression) -> QueryExpression { call(.type, value) }
}
