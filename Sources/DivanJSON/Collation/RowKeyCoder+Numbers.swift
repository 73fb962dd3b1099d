// SPDX-License-Identifier: Apache-2.0

// After the tag, a number is the bits of the double towards zero (see ExactNumber), then
//
//     10           the double is the number
//     80, digits   positive, further from zero than the double
//     01, digits   negative, further from zero than the double
//     digits:      exponent as 8 bytes with the sign bit turned, pairs of digits as 1 + pair, 00;
//                  all inverted for a negative number, so that more digits are less
//
// so the byte after the bits orders negative beyond, exact, positive beyond. Numbers that are equal have
// equal bytes, however they are written: NumberForms says how that was.

extension RowKeyCoder {
    /// Says that the double whose bits stand before is the number.
    static let exactly: UInt8 = 0x10
    /// Marks a number above the positive double whose bits stand before.
    static let beyondPositive: UInt8 = 0x80
    /// Marks a number below the negative double whose bits stand before.
    static let beyondNegative: UInt8 = 0x01

    /// Appends an integer's encoding after its tag, at once if a double holds it.
    func appendInteger(_ value: Int64, to key: inout [UInt8], _ forms: inout NumberForms) {
        guard value.magnitude <= 1 << 53 else {
            append(ExactNumber(value), to: &key, &forms)
            return
        }
        RowKeyCoder.append(ExactNumber.orderedBits(Double(value)), to: &key)
        key.append(RowKeyCoder.exactly)
        forms.passPlain()
    }

    /// Appends a number's encoding after its tag.
    func append(_ number: ExactNumber, to key: inout [UInt8], _ forms: inout NumberForms) {
        RowKeyCoder.append(number.bits, to: &key)
        if let digits = number.digits {
            key.append(
                number.isNegative ? RowKeyCoder.beyondNegative : RowKeyCoder.beyondPositive)
            RowKeyCoder.append(digits, inverting: number.isNegative ? 0xFF : 0, to: &key)
        } else {
            key.append(RowKeyCoder.exactly)
        }
        forms.pass(number)
    }

    private static func append(_ bits: UInt64, to key: inout [UInt8]) {
        // SAFETY: the buffer lives for the call, and its bytes are copied.
        unsafe withUnsafeBytes(of: bits.bigEndian) { unsafe key.append(contentsOf: $0) }
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
