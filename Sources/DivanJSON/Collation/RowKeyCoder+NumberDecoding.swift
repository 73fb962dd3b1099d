// SPDX-License-Identifier: Apache-2.0

extension RowKeyCoder {
    /// Reads a number after its tag.
    func decodeNumber(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> JSONValue {
        let start = offset
        let double = ExactNumber.double(
            orderedBits: try RowKeyCoder.takeBits(key, at: &offset, inverting: 0))
        var mark = try RowKeyCoder.take(key, at: &offset, "a number's representation")
        var digits: DecimalMagnitude?
        if mark == RowKeyCoder.beyondPositive || mark == RowKeyCoder.beyondNegative {
            let mask: UInt8 = mark == RowKeyCoder.beyondNegative ? 0xFF : 0
            digits = try RowKeyCoder.takeDigits(key, at: &offset, inverting: mask)
            mark = try RowKeyCoder.take(key, at: &offset, "a number's representation")
        }
        let value: JSONValue?
        switch (ExactNumber.Representation(rawValue: mark), digits) {
        case (.integer, nil): value = JSONValue(integer: double)
        case (.integer, let digits?):
            value = JSONValue(integer: digits, isNegative: double.sign == .minus)
        case (.negativeZero, nil): value = double == 0 ? .double(-0.0) : nil
        case (.double, nil): value = .double(double)
        case (.bigNumber, _):
            value = JSONValue(bigNumber: try decodeEscaped(key, at: &offset))
        default: value = nil
        }
        guard let value else {
            throw Failure(offset: start, expectation: "a number that has this representation")
        }
        return value
    }

    private static func takeBits(
        _ key: Span<UInt8>, at offset: inout Int, inverting mask: UInt8
    ) throws(Failure) -> UInt64 {
        var bits: UInt64 = 0
        for _ in 0..<8 {
            bits = bits << 8 | UInt64(try take(key, at: &offset, "eight bytes of a number") ^ mask)
        }
        return bits
    }

    private static func takeDigits(
        _ key: Span<UInt8>, at offset: inout Int, inverting mask: UInt8
    ) throws(Failure) -> DecimalMagnitude {
        let bits = try takeBits(key, at: &offset, inverting: mask)
        var digits: [UInt8] = []
        while true {
            let pair = try take(key, at: &offset, "the end of the digits") ^ mask
            if pair == end { break }
            guard pair <= 100 else {
                throw Failure(offset: offset - 1, expectation: "a pair of digits")
            }
            digits.append((pair - 1) / 10)
            digits.append((pair - 1) % 10)
        }
        let exponent = Int64(bitPattern: bits ^ ExactNumber.zeroBits)
        let bound = Int64(DecimalMagnitude.largestExponent)
        return DecimalMagnitude(digits, exponent: Int(max(-bound, min(bound, exponent))))
    }
}

extension JSONValue {
    /// The integer that a double is, if it is one and 64 bits hold it.
    fileprivate init?(integer double: Double) {
        // Powers of two bound what converts without a trap; both are doubles themselves.
        if double >= -0x1p63, double < 0x1p63 {
            let value = Int64(double)
            guard Double(value).bitPattern == double.bitPattern else { return nil }
            self = .integer(value)
        } else if double >= 0x1p63, double < 0x1p64 {
            self = .unsigned(UInt64(double))
        } else {
            return nil
        }
    }

    /// The integer that these digits are, if they are one and 64 bits hold it.
    fileprivate init?(integer digits: DecimalMagnitude, isNegative: Bool) {
        guard digits.exponent >= digits.digits.count, digits.exponent <= 20 else { return nil }
        var magnitude: UInt64 = 0
        for index in 0..<digits.exponent {
            let digit = index < digits.digits.count ? digits.digits[index] : 0
            let (tens, isTooLarge) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, isBeyond) = tens.addingReportingOverflow(UInt64(digit))
            guard !isTooLarge, !isBeyond else { return nil }
            magnitude = sum
        }
        if isNegative {
            guard magnitude <= Int64.min.magnitude else { return nil }
            self = .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
        } else {
            self = magnitude <= Int64.max ? .integer(Int64(magnitude)) : .unsigned(magnitude)
        }
    }

    /// The big number of a text, if the text is a number.
    fileprivate init?(bigNumber text: String) {
        guard let number = BigNumber(text) else { return nil }
        self = .number(number)
    }
}
