// SPDX-License-Identifier: Apache-2.0

/// A double as the few decimal digits that people write: `±mantissa × 10^exponent`.
///
/// ```
///   19.99   mantissa 1999, exponent -2
///   1e20    mantissa 1,    exponent 20
///   -0.0    mantissa 0,    exponent 0, negative
/// ```
///
/// ## Invariants
///
/// `checkInvariants()` tests both.
///
/// 1. `mantissa < 2^48`, `-22 <= exponent <= 22`, and the mantissa does not end in a zero unless
///    the exponent is 22, or all of it is zero; then the exponent is 0. Damaged bytes keep the bounds only.
///    Below 2^53 a mantissa, and up to 10^22 a power of ten, are exact doubles, so one
///    multiplication or division rounds once: `double` is the double nearest to the decimal.
/// 2. The digits are the double's shortest: decimals of up to 15 digits are all different
///    doubles, and 2^48 has 15.
struct CompactDecimal: Equatable {
    static let mantissaLimit: UInt64 = 1 << 48
    private(set) var mantissa: UInt64
    private(set) var exponent: Int
    private(set) var isNegative: Bool

    /// Normalises a decimal; `nil` if it is outside of the bounds.
    @inline(__always)
    init?(mantissa: UInt64, exponent: Int, isNegative: Bool) {
        var mantissa = mantissa
        var exponent = exponent
        if mantissa == 0 {
            exponent = 0
        } else {
            while exponent < 22, mantissa % 10 == 0 {
                mantissa /= 10
                exponent += 1
            }
            while exponent > 22, mantissa < Self.mantissaLimit {
                mantissa *= 10
                exponent -= 1
            }
        }
        guard mantissa < Self.mantissaLimit, exponent >= -22, exponent <= 22 else { return nil }
        self.mantissa = mantissa
        self.exponent = exponent
        self.isNegative = isNegative
    }

    /// Takes bytes as they are stored; `nil` if they break the bounds of invariant 1.
    @inline(__always)
    init?(storedMantissa: UInt64, exponent: Int, isNegative: Bool) {
        guard storedMantissa < Self.mantissaLimit, exponent >= -22, exponent <= 22 else {
            return nil
        }
        mantissa = storedMantissa
        self.exponent = exponent
        self.isNegative = isNegative
    }

    /// Takes a double's shortest digits; `nil` if there are too many of them.
    init?(_ value: Double) {
        guard value.isFinite else { return nil }
        let digits = DecimalDigits(value)
        guard let mantissa = digits.mantissa else { return nil }
        self.init(mantissa: mantissa, exponent: digits.exponent, isNegative: value.sign == .minus)
    }

    /// The double.
    @inline(__always)
    var double: Double {
        let whole = Double(mantissa)
        let value =
            exponent >= 0 ? whole * Self.power(exponent) : whole / Self.power(-exponent)
        return isNegative ? -value : value
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        precondition(mantissa < Self.mantissaLimit && abs(exponent) <= 22, "invariant 1")
        precondition(
            mantissa == 0 ? exponent == 0 : exponent == 22 || mantissa % 10 != 0, "invariant 1")
        let sign = isNegative ? "-" : ""
        precondition(
            Double("\(sign)\(mantissa)e\(exponent)")?.bitPattern == double.bitPattern, "invariant 1"
        )
        precondition(CompactDecimal(double) == self, "invariant 2")
    }

    /// 10 to the power of 0 to 22, exactly.
    @inline(__always)
    private static func power(_ exponent: Int) -> Double {
        var result = 1.0
        var base = 10.0
        var rest = exponent
        // Every product on the way is a power of ten up to 10^22 or unused, hence exact.
        while rest > 0 {
            if rest & 1 == 1 { result *= base }
            base *= base
            rest >>= 1
        }
        return result
    }
}
