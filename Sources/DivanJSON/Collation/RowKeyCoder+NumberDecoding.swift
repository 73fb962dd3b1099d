// SPDX-License-Identifier: Apache-2.0

extension RowKeyCoder {
    /// Reads a number after its tag, as the plainest of those that are equal to it.
    func decodeNumber(_ key: Span<UInt8>, at offset: inout Int) throws(Failure) -> JSONValue {
        let start = offset
        let bits = try RowKeyCoder.takeBits(key, at: &offset, inverting: 0)
        let mark = try RowKeyCoder.take(key, at: &offset, "what follows the bits of a number")
        var digits: DecimalMagnitude?
        if mark != RowKeyCoder.exactly {
            let isNegative = bits < ExactNumber.zeroBits
            guard mark == (isNegative ? RowKeyCoder.beyondNegative : RowKeyCoder.beyondPositive)
            else { throw Failure(offset: offset - 1, expectation: "the mark of its digits") }
            digits = try RowKeyCoder.takeDigits(
                key, at: &offset, inverting: isNegative ? 0xFF : 0)
        }
        let number = ExactNumber(bits: bits, digits: digits, representation: .integer, text: "")
        guard let value = JSONValue(plainest: number) else {
            throw Failure(offset: start, expectation: "a number that has this form")
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
