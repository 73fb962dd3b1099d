// SPDX-License-Identifier: Apache-2.0

/// A JSON number taken apart so that its parts order as its exact value.
///
/// A number is the nearest double towards zero and, only if that double is not the number itself,
/// the number's decimal digits:
///
///     1, 1.0         bits of 1.0                  exact
///     2^53 + 1       bits of 2^53                 digits 9007199254740993
///     1e400          bits of the largest double   digits 1, exponent 401
///     -1e400         bits of the lowest double    digits 1, exponent 401, lower than the double
///
/// Nearly every number is a double or a small integer, and costs no more than 64 bits here.
/// Numbers that share the double compare by their digits.
///
/// ## Invariants
///
/// `checkInvariants(with:)` tests each.
///
/// 1. `bits` of two numbers compare, as unsigned integers, as their doubles do.
/// 2. `digits` is nil exactly if the double is the number.
/// 3. Zero has one set of bits, that of +0.0; a number between zero and the least double keeps the
///    zero of its own sign, so the bits still order.
/// 4. Beyond infinity stand the NaNs by their bits. JSON has neither; an order must place them.
struct ExactNumber {
    /// How the number was represented, in the order that breaks ties.
    enum Representation: UInt8 {
        /// `JSONValue.integer` or `.unsigned`, whichever the value fits.
        case integer
        /// `JSONValue.double(-0.0)`.
        case negativeZero
        /// Any other `JSONValue.double`.
        case double
        /// `JSONValue.number`, told apart by its text.
        case bigNumber
    }

    /// The double towards zero, its bits turned so that they order as unsigned integers.
    let bits: UInt64
    /// The magnitude's digits, if the double is not the number itself.
    let digits: DecimalMagnitude?
    /// What the value is made into again.
    let representation: Representation
    /// A big number's text, else empty.
    let text: String

    /// Whether the bits are those of a negative number.
    var isNegative: Bool { bits < ExactNumber.zeroBits }

    /// The bits of zero, the least of a number that is not negative.
    static let zeroBits: UInt64 = 1 << 63
}

extension ExactNumber {
    /// Takes a value apart. Anything but a number counts as zero.
    init(_ value: JSONValue) {
        switch value {
        case .integer(let value): self.init(value)
        case .unsigned(let value): self.init(magnitude: value, isNegative: false)
        case .double(let value): self.init(value)
        case .number(let value): self.init(value)
        default: self.init(0 as Int64)
        }
    }

    /// Takes an integer apart.
    init(_ value: Int64) {
        self.init(magnitude: value.magnitude, isNegative: value < 0)
    }

    /// Takes a double apart.
    init(_ value: Double) {
        let isNegativeZero = value == 0 && value.sign == .minus
        self.init(
            bits: ExactNumber.orderedBits(isNegativeZero ? 0 : value), digits: nil,
            representation: isNegativeZero ? .negativeZero : .double, text: "")
    }

    /// Takes a big number apart.
    init(_ value: BigNumber) {
        let digits = DecimalMagnitude(value)
        let (double, isExact) = digits.doubleTowardsZero()
        let isNegative = value.text.utf8.first == UInt8(ascii: "-") && !digits.isZero
        self.init(
            bits: ExactNumber.orderedBits(isNegative ? -double : double),
            digits: isExact ? nil : digits, representation: .bigNumber, text: value.text)
    }

    /// Takes apart an integer given by magnitude and sign.
    init(magnitude: UInt64, isNegative: Bool) {
        // A double holds the 53 highest bits; what is below them is cut off, towards zero.
        let cut = max(0, 11 - magnitude.leadingZeroBitCount)
        let kept = (magnitude >> cut) << cut
        let double = Double(kept)
        self.init(
            bits: ExactNumber.orderedBits(isNegative ? -double : double),
            digits: kept == magnitude ? nil : DecimalMagnitude(magnitude),
            representation: .integer, text: "")
    }

    /// A double's bits, turned so that they order as unsigned integers.
    ///
    ///     sign 0: set the sign bit          negative numbers come below
    ///     sign 1: invert all bits           the larger the magnitude, the lower
    ///
    /// This puts -0.0 just below +0.0. A caller that means zero gives +0.0; a number that was cut
    /// off to -0.0 lies there rightly.
    static func orderedBits(_ value: Double) -> UInt64 {
        let bits = value.bitPattern
        return bits < zeroBits ? bits | zeroBits : ~bits
    }

    /// The double whose ordered bits these are.
    static func double(orderedBits bits: UInt64) -> Double {
        Double(bitPattern: bits < zeroBits ? ~bits : bits & ~zeroBits)
    }
}

extension ExactNumber {
    /// Compares two numbers by value and, if asked, breaks ties by representation.
    func compare(_ other: ExactNumber, breakingTies: Bool) -> Int {
        if bits != other.bits { return bits < other.bits ? -1 : 1 }
        let byDigits = compareDigits(other)
        if byDigits != 0 || !breakingTies { return byDigits }
        if representation != other.representation {
            return representation.rawValue < other.representation.rawValue ? -1 : 1
        }
        return text.withUTF8Span { left in
            other.text.withUTF8Span { right in ByteOrder.compare(left, right) }
        }
    }

    /// Compares numbers that share a double: digits lead away from zero.
    private func compareDigits(_ other: ExactNumber) -> Int {
        let awayFromZero =
            switch (digits, other.digits) {
            case (nil, nil): 0
            case (nil, _): -1
            case (_, nil): 1
            case (let left?, let right?): left.compare(right)
            }
        return isNegative ? -awayFromZero : awayFromZero
    }

    /// Stops the program where an invariant does not hold for this and another number; for tests.
    func checkInvariants(with other: ExactNumber) {
        let (mine, others) = (
            ExactNumber.double(orderedBits: bits), ExactNumber.double(orderedBits: other.bits)
        )
        if mine < others { precondition(bits < other.bits, "invariant 1") }
        if mine > others { precondition(bits > other.bits, "invariant 1") }
        if let digits {
            let (double, isExact) = digits.doubleTowardsZero()
            precondition(!isExact && double == mine.magnitude, "invariant 2")
        } else if mine == 0 {
            precondition(bits == ExactNumber.zeroBits, "invariant 3")
        }
        if mine.isNaN {
            precondition(
                bits > ExactNumber.orderedBits(.infinity)
                    || bits < ExactNumber.orderedBits(-.infinity), "invariant 4")
        }
        let order = compare(other, breakingTies: true)
        precondition(order == -other.compare(self, breakingTies: true), "invariant 1")
    }
}
