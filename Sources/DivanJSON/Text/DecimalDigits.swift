// SPDX-License-Identifier: Apache-2.0

/// The shortest decimal digits that read back as a double, and where its point stands.
struct DecimalDigits {
    /// The digits as ASCII, without zeros at either end (but for the value zero).
    private(set) var digits: [UInt8] = []
    /// The power of ten of the last digit.
    private(set) var exponent = 0

    /// Takes apart a finite double, without its sign.
    init(_ value: Double) {
        // The standard library's description holds the shortest digits that round-trip.
        var point: Int?
        var rest = value.magnitude.description.utf8[...]
        if let mark = rest.firstIndex(of: 0x65) {
            exponent = Int(Substring(rest[rest.index(after: mark)...])) ?? 0
            rest = rest[..<mark]
        }
        for byte in rest {
            if byte == 0x2E { point = digits.count } else { digits.append(byte) }
        }
        if let point { exponent -= digits.count - point }
        while digits.count > 1, digits.last == 0x30 {
            digits.removeLast()
            exponent += 1
        }
        digits.removeFirst(digits.prefix { $0 == 0x30 }.count)
        if digits.isEmpty {
            digits = [0x30]
            exponent = 0
        }
    }

    /// Takes apart a finite double as Java does.
    ///
    /// Java writes at least two digits, and where one would be enough it takes the nearest two: the
    /// least double is `4.9E-324`. They differ from the shortest only among the smallest
    /// subnormals, where one step is more than a hundredth.
    init(java value: Double) {
        self.init(value)
        guard digits.count == 1, value != 0, value.magnitude < .leastNormalMagnitude else { return }
        // A subnormal's bits count steps of 4.94...e-324; few of these are spelt with one digit.
        var steps = Double(value.magnitude.bitPattern) * 4.940656458412465
        var power = -324
        while steps < 10 {
            steps *= 10
            power -= 1
        }
        while steps >= 99.5 {
            steps /= 10
            power += 1
        }
        let pair = UInt8(steps.rounded())
        digits = pair % 10 == 0 ? [0x30 + pair / 10] : [0x30 + pair / 10, 0x30 + pair % 10]
        exponent = pair % 10 == 0 ? power + 1 : power
    }

    /// The digits as a number, unless there are more than 18.
    var mantissa: UInt64? {
        guard digits.count <= 18 else { return nil }
        return digits.reduce(0) { $0 * 10 + UInt64($1 - 0x30) }
    }
}
