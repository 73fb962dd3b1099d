// SPDX-License-Identifier: Apache-2.0

/// A number's magnitude as decimal digits, exact and of any length.
///
///     0.d1 d2 … dk × 10^exponent        12.50  is  [1, 2, 5], exponent 2
///
/// The first and the last digit are not zero, so a magnitude has one form, and comparing exponents
/// and then digits compares magnitudes. Zero has no digits.
struct DecimalMagnitude: Equatable {
    /// The digits, 0 to 9 each.
    let digits: [UInt8]
    /// The power of ten in front of which the digits stand.
    let exponent: Int

    /// Exponents lie between this and its negative. A text that names a larger one is ordered as if
    /// it had named this: the text itself is kept, and still breaks the tie.
    static let largestExponent = 100_000_000_000_000_000

    /// Whether the magnitude is zero.
    var isZero: Bool { digits.isEmpty }

    /// Strips the zeros at both ends.
    init(_ digits: some BidirectionalCollection<UInt8>, exponent: Int) {
        let leadingZeros = digits.prefix { $0 == 0 }.count
        var kept = Array(digits.dropFirst(leadingZeros))
        while kept.last == 0 { kept.removeLast() }
        self.digits = kept
        let bound = DecimalMagnitude.largestExponent
        self.exponent = kept.isEmpty ? 0 : max(-bound, min(bound, exponent - leadingZeros))
    }

    /// The digits of an integer.
    init(_ value: UInt64) {
        let digits = String(value).utf8.map { $0 - UInt8(ascii: "0") }
        self.init(digits, exponent: digits.count)
    }

    /// Compares magnitudes.
    func compare(_ other: DecimalMagnitude) -> Int {
        if isZero || other.isZero { return digits.count - other.digits.count }
        if exponent != other.exponent { return exponent < other.exponent ? -1 : 1 }
        for (left, right) in zip(digits, other.digits) where left != right {
            return left < right ? -1 : 1
        }
        return digits.count - other.digits.count
    }
}

extension DecimalMagnitude {
    /// Reads a big number's magnitude; the sign is skipped.
    init(_ number: BigNumber) {
        var rest = number.text.utf8[...]
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let whole = DecimalMagnitude.takeDigits(&rest)
        var fraction: [UInt8] = []
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = DecimalMagnitude.takeDigits(&rest)
        }
        self.init(whole + fraction, exponent: whole.count + DecimalMagnitude.power(rest))
    }

    private static func takeDigits(_ text: inout Substring.UTF8View) -> [UInt8] {
        let digits = text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        text = text[digits.endIndex...]
        return digits.map { $0 - UInt8(ascii: "0") }
    }

    /// The power of ten that `e` and a number name, or zero. Digits after the largest exponent is
    /// passed no longer count, so that no sum of this and a digit count overflows.
    private static func power(_ text: Substring.UTF8View) -> Int {
        var digits = text.dropFirst()
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative || digits.first == UInt8(ascii: "+") { digits.removeFirst() }
        let power = takeDigits(&digits).reduce(0) {
            $0 > largestExponent ? $0 : $0 * 10 + Int($1)
        }
        return isNegative ? -power : power
    }
}
