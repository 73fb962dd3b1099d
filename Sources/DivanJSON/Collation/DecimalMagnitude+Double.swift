// SPDX-License-Identifier: Apache-2.0

extension DecimalMagnitude {
    /// The largest double that is not larger than the magnitude, and whether it is the magnitude.
    func doubleTowardsZero() -> (double: Double, isExact: Bool) {
        // Magnitudes below 10^-324 are less than the least double, those from 10^309 more than the
        // largest; beyond these bounds the exponent alone may be longer than any parser wants.
        if exponent < -323 { return (0, isZero) }
        if exponent > 309 { return (.greatestFiniteMagnitude, false) }
        let text = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        let nearest = Double("\(text)e\(exponent - digits.count)") ?? 0
        guard nearest.isFinite else { return (.greatestFiniteMagnitude, false) }
        // The nearest double is at most one step too far: its own digits tell.
        let order = DecimalMagnitude(nearest).compare(self)
        return order > 0 ? (nearest.nextDown, false) : (nearest, order == 0)
    }

    /// The exact digits of a finite double, up to 767 of them.
    ///
    /// A double is an integer times a power of two. With a negative power it is that integer times
    /// a power of five, divided by the same power of ten, which only moves the decimal point.
    init(_ value: Double) {
        guard value.isFinite, value != 0 else {
            self.init([], exponent: 0)
            return
        }
        let width = value.significandWidth
        let odd = Double(sign: .plus, exponent: width, significand: value.significand)
        let power = Int(value.exponent) - width
        var integer = LimbedInteger(UInt64(odd))
        integer.multiply(by: power < 0 ? 5 : 2, times: abs(power))
        let digits = integer.decimalDigits()
        self.init(digits, exponent: digits.count + min(0, power))
    }
}

/// A natural number in base 10^9, least significant limb first: arithmetic to write a double.
private struct LimbedInteger {
    private static let base: UInt64 = 1_000_000_000

    private var limbs: [UInt64] = []

    init(_ value: UInt64) {
        var rest = value
        while rest > 0 {
            limbs.append(rest % LimbedInteger.base)
            rest /= LimbedInteger.base
        }
    }

    /// Multiplies by a power of a small factor, 12 factors at a stroke: 5^12 times a limb fits.
    mutating func multiply(by factor: UInt64, times: Int) {
        var rest = times
        while rest > 0 {
            let stroke = min(rest, 12)
            multiply(by: (0..<stroke).reduce(1) { product, _ in product * factor })
            rest -= stroke
        }
    }

    private mutating func multiply(by factor: UInt64) {
        var carry: UInt64 = 0
        for index in limbs.indices {
            let product = limbs[index] * factor + carry
            limbs[index] = product % LimbedInteger.base
            carry = product / LimbedInteger.base
        }
        if carry > 0 { limbs.append(carry) }
    }

    /// All digits, most significant first, with zeros in front up to a whole limb.
    func decimalDigits() -> [UInt8] {
        limbs.reversed().flatMap { limb in
            var digits = [UInt8](repeating: 0, count: 9)
            var rest = limb
            for index in digits.indices.reversed() {
                digits[index] = UInt8(rest % 10)
                rest /= 10
            }
            return digits
        }
    }
}
