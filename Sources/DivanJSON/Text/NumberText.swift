// SPDX-License-Identifier: Apache-2.0

/// How doubles are spelled: where plain notation gives way to an exponent, and the letter for it.
struct DoubleStyle {
    /// The powers of ten, of the first digit, that are written plainly.
    var plain: ClosedRange<Int>
    var exponentMark: UInt8
    /// Whether a lone digit before an exponent gets `.0`.
    var hasFractionBeforeExponent: Bool

    /// As Java's `Double.toString`: the form that digests are taken over.
    static let java = DoubleStyle(
        plain: -3...6, exponentMark: 0x45, hasFractionBeforeExponent: true)
    /// As people and JavaScript write: the form of ordinary JSON output.
    static let plain = DoubleStyle(
        plain: -7...20, exponentMark: 0x65, hasFractionBeforeExponent: false)
}

extension ByteSink {
    /// Appends an unsigned integer.
    @inline(__always)
    mutating func append(number: UInt64) {
        if number < 10 {
            append(UInt8(truncatingIfNeeded: number) &+ 0x30)
            return
        }
        appendDigits(number)
    }

    private mutating func appendDigits(_ number: UInt64) {
        var length = 1
        var limit: UInt64 = 10
        while length < 20, number >= limit {
            length += 1
            let (next, overflow) = limit.multipliedReportingOverflow(by: 10)
            if overflow { limit = .max } else { limit = next }
            if overflow {
                length = 20
                break
            }
        }
        unsafe write(length) { target in
            var rest = number
            var index = length
            // SAFETY: `length` digits are written from the end of the room to its start.
            while index > 0 {
                index -= 1
                unsafe target[index] = UInt8(truncatingIfNeeded: rest % 10) &+ 0x30
                rest /= 10
            }
            return length
        }
    }

    /// Appends an integer.
    @inline(__always)
    mutating func append(number: Int64) {
        if number < 0 { append(0x2D) }
        append(number: number.magnitude)
    }

    /// Appends a double; null if it is infinite or not a number, because JSON cannot express it.
    mutating func append(_ value: Double, style: DoubleStyle) {
        guard value.isFinite else {
            append("null")
            return
        }
        if value.sign == .minus { append(0x2D) }
        let decimal = style.exponentMark == 0x45 ? DecimalDigits(java: value) : DecimalDigits(value)
        append(digits: decimal.digits, exponent: decimal.exponent, style: style)
    }

    /// Appends a double known by its shortest digits.
    mutating func append(_ decimal: CompactDecimal, style: DoubleStyle) {
        if decimal.isNegative { append(0x2D) }
        var mantissa = decimal.mantissa
        var exponent = decimal.exponent
        // Only beyond 10^22 does a mantissa end in zeros, which are no significant digits.
        while exponent == 22 || exponent > 22, mantissa != 0, mantissa % 10 == 0 {
            mantissa /= 10
            exponent += 1
        }
        if exponent < 0, exponent >= -6, mantissa >= 10, style.plain.contains(0) {
            let unit = Self.units[-exponent]
            let whole = mantissa / unit
            if whole > 0, whole < 10_000_000 {
                append(number: whole)
                append(0x2E)
                append(padded: mantissa % unit, digits: -exponent)
                return
            }
        }
        var digits: [UInt8] = []
        repeat {
            digits.append(UInt8(truncatingIfNeeded: mantissa % 10) + 0x30)
            mantissa /= 10
        } while mantissa > 0
        digits.reverse()
        append(digits: digits, exponent: exponent, style: style)
    }

    private static var units: [7 of UInt64] { [1, 10, 100, 1000, 10000, 100_000, 1_000_000] }

    private mutating func append(padded number: UInt64, digits: Int) {
        var unit = Self.units[digits - 1]
        var rest = number
        for _ in 0..<digits {
            append(UInt8(truncatingIfNeeded: rest / unit) &+ 0x30)
            rest %= unit
            unit = max(unit / 10, 1)
        }
    }

    private mutating func append(digits: [UInt8], exponent: Int, style: DoubleStyle) {
        // The power of ten of the first digit says which notation it is.
        let power = digits == [0x30] ? 0 : exponent + digits.count - 1
        if style.plain.contains(power) {
            if power < 0 {
                append("0.")
                append(repeatElement(0x30, count: -power - 1))
                append(digits)
            } else if exponent >= 0 {
                append(digits)
                append(repeatElement(0x30, count: exponent))
                append(".0")
            } else {
                append(digits[...power])
                append(0x2E)
                append(digits[(power + 1)...])
            }
            return
        }
        append(digits[0])
        if digits.count > 1 {
            append(0x2E)
            append(digits[1...])
        } else if style.hasFractionBeforeExponent {
            append(".0")
        }
        append(style.exponentMark)
        append(number: Int64(power))
    }
}
