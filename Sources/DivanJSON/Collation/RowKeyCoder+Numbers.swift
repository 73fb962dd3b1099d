// SPDX-License-Identifier: Apache-2.0

// After the tag, a number is the bits of the double towards zero (see ExactNumber), then
//
//     exact:      10 integer │ 11 -0.0 │ 12 double │ 13 escaped text 00
//     further from zero than the double:
//                 80 (positive) or 01 (negative), digits, then 10 or 13 as above
//     digits:     exponent as 8 bytes with the sign bit turned, pairs of digits as 1 + pair, 00;
//                 all inverted for a negative number, so that more digits are less
//
// so the byte after the bits orders negative beyond, exact in order of ties, positive beyond.

extension RowKeyCoder {
    /// Marks a number above the positive double whose bits stand before.
    static let beyondPositive: UInt8 = 0x80
    /// Marks a number below the negative double whose bits stand before.
    static let beyondNegative: UInt8 = 0x01

    /// Appends an integer's encoding after its tag, at once if a double holds it.
    func appendInteger(_ value: Int64, to key: inout [UInt8]) {
        guard value.magnitude <= 1 << 53 else {
            append(ExactNumber(value), to: &key)
            return
        }
        RowKeyCoder.append(ExactNumber.orderedBits(Double(value)), to: &key)
        key.append(ExactNumber.Representation.integer.rawValue)
    }

    /// Appends a number's encoding after its tag.
    func append(_ number: ExactNumber, to key: inout [UInt8]) {
        RowKeyCoder.append(number.bits, to: &key)
        if let digits = number.digits {
            key.append(
                number.isNegative ? RowKeyCoder.beyondNegative : RowKeyCoder.beyondPositive)
            RowKeyCoder.append(digits, inverting: number.isNegative ? 0xFF : 0, to: &key)
        }
        key.append(number.representation.rawValue)
        if number.representation == .bigNumber {
            number.text.withUTF8Span { appendEscaped($0, to: &key) }
        }
    }

    private static func append(_ bits: UInt64, to key: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
    }

    private static func append(
        _ digits: DecimalMagnitude, inverting mask: UInt8, to key: inout [UInt8]
    ) {
        let start = key.count
        append(UInt64(bitPattern: Int64(digits.exponent)) ^ ExactNumber.zeroBits, to: &key)
        for index in stride(from: 0, to: digits.digits.count, by: 2) {
            let low = index + 1 < digits.digits.count ? digits.digits[index + 1] : 0
            key.append(1 + digits.digits[index] * 10 + low)
        }
        key.append(end)
        for index in start..<key.count { key[index] ^= mask }
    }
}
