// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// A sum of numbers that is the same in whatever order they are added.
///
/// Nothing is rounded before the sum is asked for, but a number beyond 64 bits that a double does not hold: the nearest
/// double stands for it. Integers are added in 128 bits, which fewer than 2^63 of them cannot
/// outgrow. A double is a whole number of 2^-1074, the least of all; it is added to digits in base 2^32:
///
///     sum of doubles = Σ digits[i] · 2^(32 · (lowest + i) - 1074)
///
/// A digit is signed and may outgrow its place until carries are made, so that adding touches three digits. Only as many
/// digits are kept as there are between the least and the greatest number: usually four or five.
struct ExactSum {
    private var integers: Int128 = 0
    private var digits: [Int64] = []
    /// The place of the first digit.
    private var lowest = 0
    /// How many numbers were added to the digits since the last carries.
    private var uncarried = 0
    private var hasDoubles = false
    /// Whether a number was added that is beyond all doubles, so that there is no sum.
    private var isBeyond = false

    /// The exponent of the least bit of a double.
    private static let leastExponent = -1_074
    private static let digitBits = 32
    private static let digitMask: Int64 = 0xFFFF_FFFF
    /// A digit has 31 bits to outgrow its place by.
    private static let mostUncarried = 1 << 30

    /// Adds a number.
    ///
    /// - Parameter value: The number.
    /// - Returns: Whether it was one; any other value is left out.
    mutating func add(_ value: JSONValue) -> Bool {
        switch value {
        case .integer(let integer): integers += Int128(integer)
        case .unsigned(let integer): integers += Int128(integer)
        default:
            guard let double = value.double else { return false }
            add(double)
        }
        return true
    }

    /// The sum: an integer if all numbers were, and 64 bits hold it; otherwise the double that is nearest. Null if that
    /// is not finite.
    var value: JSONValue {
        if !hasDoubles {
            if let integer = Int64(exactly: integers) { return .integer(integer) }
            if let integer = UInt64(exactly: integers) { return .unsigned(integer) }
        }
        let sum = double()
        return sum.isFinite ? .double(sum) : .null
    }

    /// The sum divided by a number of values; null if that is not finite.
    func mean(of count: Int64) -> JSONValue {
        var mean = double() / Double(count)
        // Numbers that have a mean may have a sum beyond all doubles.
        if !mean.isFinite { mean = double(scaledBy: -64) / Double(count) * 0x1p64 }
        return mean.isFinite ? .double(mean) : .null
    }

    // MARK: - Adding

    private mutating func add(_ double: Double) {
        hasDoubles = true
        guard double.isFinite else {
            isBeyond = true
            return
        }
        let exponent = Int(double.exponentBitPattern)
        let isNormal = exponent > 0
        let significand = double.significandBitPattern | (isNormal ? 1 << 52 : 0)
        add(significand, atBit: isNormal ? exponent - 1 : 0, isNegative: double.sign == .minus)
    }

    /// Adds a whole number of times a power of two.
    private mutating func add(_ magnitude: UInt64, atBit bit: Int, isNegative: Bool) {
        let place = bit / Self.digitBits
        let shifted = UInt128(magnitude) << UInt128(bit % Self.digitBits)
        makeRoom(place..<place + 3)
        for step in 0..<3 {
            let part = shifted >> UInt128(step * Self.digitBits)
            let digit = Int64(truncatingIfNeeded: part) & Self.digitMask
            digits[place - lowest + step] += isNegative ? -digit : digit
        }
        uncarried += 1
        if uncarried == Self.mostUncarried { carry() }
    }

    private mutating func makeRoom(_ places: Range<Int>) {
        if digits.isEmpty { lowest = places.lowerBound }
        if places.lowerBound < lowest {
            digits.insert(contentsOf: repeatElement(0, count: lowest - places.lowerBound), at: 0)
            lowest = places.lowerBound
        }
        let missing = places.upperBound - lowest - digits.count
        if missing > 0 { digits += repeatElement(0, count: missing) }
    }

    /// Brings all digits into 0..<2^32 but for the last, which has the sign of the sum.
    private mutating func carry() {
        uncarried = 0
        var carry: Int64 = 0
        for place in digits.indices {
            let digit = digits[place] + carry
            let isLast = place == digits.count - 1
            guard !isLast || digit.magnitude > UInt64(Self.digitMask) else {
                digits[place] = digit
                return
            }
            digits[place] = digit & Self.digitMask
            carry = digit >> Int64(Self.digitBits)
        }
        if carry != 0 { digits.append(carry) }
    }

    // MARK: - The result

    /// The nearest double of the sum times a power of two, halves to even; infinite beyond all doubles.
    private func double(scaledBy exponent: Int = 0) -> Double {
        guard !isBeyond else { return .infinity }
        var sum = self
        sum.addIntegers()
        sum.carry()
        let isNegative = sum.digits.last { $0 != 0 } ?? 0 < 0
        if isNegative {
            for place in sum.digits.indices { sum.digits[place].negate() }
            sum.carry()
        }
        let magnitude = sum.roundedMagnitude(scaledBy: exponent)
        return isNegative ? -magnitude : magnitude
    }

    private mutating func addIntegers() {
        guard integers != 0 else { return }
        let (magnitude, isNegative) = (integers.magnitude, integers < 0)
        for half in 0..<2 {
            let part = UInt64(truncatingIfNeeded: magnitude >> UInt128(half * 64))
            add(part, atBit: half * 64 - Self.leastExponent, isNegative: isNegative)
        }
    }

    /// The value of digits that have been carried, and of which none is negative.
    private func roundedMagnitude(scaledBy exponent: Int) -> Double {
        guard let top = digits.lastIndex(where: { $0 != 0 }) else { return 0 }
        var leading: UInt128 = 0
        for place in [top, top - 1, top - 2] {
            leading <<= UInt128(Self.digitBits)
            if place >= 0 { leading |= UInt128(digits[place]) }
        }
        // 64 bits, the last of which is 1 if anything but zeros comes behind: so a double of them is the nearest.
        let dropped = 64 - leading.leadingZeroBitCount
        var bits = UInt64(leading >> UInt128(dropped))
        let isExact =
            leading & ((1 << UInt128(dropped)) - 1) == 0
            && digits.prefix(max(0, top - 2)).allSatisfy { $0 == 0 }
        if !isExact { bits |= 1 }
        let lastBit = (lowest + top - 2) * Self.digitBits + dropped + Self.leastExponent
        return Double(sign: .plus, exponent: lastBit + exponent, significand: Double(bits))
    }
}
