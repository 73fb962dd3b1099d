// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

// Functions of numbers. A function of anything but a number is null. So is a result that is not
// finite: the logarithm of 0, a power that outgrows a double.
extension Function {
    // MARK: - Rounding and signs

    /// The magnitude.
    public static func abs(_ value: QueryExpression) -> QueryExpression { call(.abs, value) }
    /// The least integer that is not less.
    public static func ceil(_ value: QueryExpression) -> QueryExpression { call(.ceil, value) }
    /// The greatest integer that is not greater.
    public static func floor(_ value: QueryExpression) -> QueryExpression { call(.floor, value) }
    /// The nearest integer, halves away from zero.
    public static func round(_ value: QueryExpression) -> QueryExpression { call(.round, value) }
    /// Rounded to a number of decimal places, halves away from zero; negative ones are tens and so on.
    public static func round(_ value: QueryExpression, digits: Int) -> QueryExpression {
        call(.round, value, .int(digits))
    }
    /// The integer towards zero.
    public static func trunc(_ value: QueryExpression) -> QueryExpression { call(.trunc, value) }
    /// Cut off after a number of decimal places; negative ones are tens and so on.
    public static func trunc(_ value: QueryExpression, digits: Int) -> QueryExpression {
        call(.trunc, value, .int(digits))
    }
    /// -1, 0 or 1.
    public static func sign(_ value: QueryExpression) -> QueryExpression { call(.sign, value) }

    // MARK: - Powers and logarithms

    /// The base of the natural logarithm.
    public static func e() -> QueryExpression { call(.e) }
    /// e to the power of a number.
    public static func exp(_ value: QueryExpression) -> QueryExpression { call(.exp, value) }
    /// The natural logarithm; null unless the number is positive.
    public static func ln(_ value: QueryExpression) -> QueryExpression { call(.ln, value) }
    /// The logarithm to the base 10; null unless the number is positive.
    public static func log(_ value: QueryExpression) -> QueryExpression { call(.log, value) }
    /// A number to the power of another.
    public static func power(_ base: QueryExpression, _ exponent: QueryExpression)
        -> QueryExpression
    {
        call(.power, base, exponent)
    }
    /// The square root; null for a negative number.
    public static func sqrt(_ value: QueryExpression) -> QueryExpression { call(.sqrt, value) }

    // MARK: - Angles, in radians

    /// The ratio of a circle's circumference to its diameter.
    public static func pi() -> QueryExpression { call(.pi) }
    /// The sine.
    public static func sin(_ angle: QueryExpression) -> QueryExpression { call(.sin, angle) }
    /// The cosine.
    public static func cos(_ angle: QueryExpression) -> QueryExpression { call(.cos, angle) }
    /// The tangent.
    public static func tan(_ angle: QueryExpression) -> QueryExpression { call(.tan, angle) }
    /// The angle of a sine; null outside -1 to 1.
    public static func asin(_ value: QueryExpression) -> QueryExpression { call(.asin, value) }
    /// The angle of a cosine; null outside -1 to 1.
    public static func acos(_ value: QueryExpression) -> QueryExpression { call(.acos, value) }
    /// The angle of a tangent.
    public static func atan(_ value: QueryExpression) -> QueryExpression { call(.atan, value) }
    /// The angle of the point (x, y), from -π to π.
    public static func atan2(_ y: QueryExpression, _ x: QueryExpression) -> QueryExpression {
        call(.atan2, y, x)
    }
    /// Radians as degrees.
    public static func degrees(_ radians: QueryExpression) -> QueryExpression {
        call(.degrees, radians)
    }
    /// Degrees as radians.
    public static func radians(_ degrees: QueryExpression) -> QueryExpression {
        call(.radians, degrees)
    }
}
