// SPDX-License-Identifier: Apache-2.0

extension JSONScanner {
    /// A number, in the form that keeps it.
    enum NumberToken {
        case integer(Int64)
        case unsigned(UInt64)
        /// A double equal to `±mantissa × 10^exponent`, where these are its shortest digits.
        case decimal(CompactDecimal)
        case double(Double)
        /// A number that keeps its digits, which stand in the text.
        case digits(Range<Int>)
    }

    /// Whether a text is one number by the grammar of JSON that keeps its digits.
    static func isBigNumber(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        // SAFETY: the scanner lives inside the closure.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            var scanner = unsafe JSONScanner(buffer)
            guard scanner.end > 0, case .digits(let range) = try? scanner.scanNumber() else {
                return false
            }
            return range == 0..<scanner.end
        }
    }

    /// Reads a number; the position is at its first character.
    mutating func scanNumber() throws(JSONParser.Failure) -> NumberToken {
        let start = position
        let isNegative = byte(at: position) == 0x2D
        if isNegative { position += 1 }
        var mantissa: UInt64 = 0
        let digits = try scanDigits(into: &mantissa, "a digit")
        if digits > 1, byte(at: position - digits) == 0x30 {
            throw failure("no digit after a leading zero", at: position - digits + 1)
        }
        guard position < end else {
            return integer(mantissa, digits: digits, isNegative: isNegative, from: start)
        }
        let next = byte(at: position)
        guard next == 0x2E || next | 0x20 == 0x65 else {
            return integer(mantissa, digits: digits, isNegative: isNegative, from: start)
        }
        return try scanFraction(mantissa, digits: digits, isNegative: isNegative, from: start)
    }

    /// Reads at least one digit and adds them to a mantissa, wrapping when there are too many.
    @inline(__always)
    private mutating func scanDigits(
        into mantissa: inout UInt64, _ expectation: StaticString
    ) throws(JSONParser.Failure) -> Int {
        let start = position
        while position < end {
            let digit = byte(at: position) &- 0x30
            guard digit < 10 else { break }
            mantissa = mantissa &* 10 &+ UInt64(digit)
            position += 1
        }
        guard position > start else { throw failure(expectation) }
        return position - start
    }

    @inline(__always)
    private func integer(
        _ magnitude: UInt64, digits: Int, isNegative: Bool, from start: Int
    ) -> NumberToken {
        // Nineteen digits always fit 64 bits; twenty may have wrapped.
        guard digits <= 19 || (digits == 20 && fitsTwentyDigits(magnitude)) else {
            return .digits(start..<position)
        }
        if isNegative {
            guard magnitude <= UInt64(Int64.max) + 1 else { return .digits(start..<position) }
            return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
        }
        return magnitude <= UInt64(Int64.max) ? .integer(Int64(magnitude)) : .unsigned(magnitude)
    }

    /// Whether twenty digits ending at the position did not wrap: they begin with 1 and their value
    /// is still at least 10^19, which a wrapped one beginning with 1 never is.
    private func fitsTwentyDigits(_ magnitude: UInt64) -> Bool {
        byte(at: position - 20) == 0x31 && magnitude >= 10_000_000_000_000_000_000
    }

    /// Reads what follows the integer part of a decimal.
    private mutating func scanFraction(
        _ integerPart: UInt64, digits integerDigits: Int, isNegative: Bool, from start: Int
    ) throws(JSONParser.Failure) -> NumberToken {
        var mantissa = integerPart
        var digits = integerDigits
        var exponent = 0
        if byte(at: position) == 0x2E {
            position += 1
            let fraction = try scanDigits(into: &mantissa, "a digit after the decimal point")
            digits += fraction
            exponent = -fraction
        }
        if position < end, byte(at: position) | 0x20 == 0x65 {
            position += 1
            let sign = current
            if sign == 0x2B || sign == 0x2D { position += 1 }
            let first = position
            var power: UInt64 = 0
            let length = try scanDigits(into: &power, "a digit of the exponent")
            // An exponent of many digits may be zeros, or beyond any double: leave it to the slow
            // path.
            if length > 6 { digits = .max }
            let value = position - first > 6 ? 0 : Int(power)
            exponent += sign == 0x2D ? -value : value
        }
        if digits <= 19,
            let decimal = CompactDecimal(
                mantissa: mantissa, exponent: exponent, isNegative: isNegative)
        {
            return .decimal(decimal)
        }
        let value = unsafe withBytes(start..<position) {
            unsafe String(decoding: $0, as: UTF8.self)
        }
        guard let double = Double(value), double.isFinite else { return .digits(start..<position) }
        return .double(double)
    }
}
