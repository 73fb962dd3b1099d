// SPDX-License-Identifier: Apache-2.0

/// How the numbers of a value are written, as far as a row key does not tell.
///
/// In a row key all numbers that are equal have the same bytes, and are read back as the plainest of
/// them: an integer if 64 bits hold it, else a double, else the fewest digits. Numbers that were
/// written in another way are listed here. The list follows the document's ID in the key of a row,
/// where it decides nothing that a query can see:
///
///     [1, 1.0, "a", -0.0]       key   [1, 1, "a", 0]       forms   one number passed over, double
///                                                                  none passed over, -0.0
///
/// Nearly all values are plain throughout and have no list.
///
/// ## The bytes
///
/// For each number that is not plain, in the order of the key's bytes:
///
///     varint    the plain numbers before it, since the last entry, times four; plus
///                   0   a double
///                   1   -0.0
///                   2   a number kept as text, which follows: varint, its length; UTF-8
package struct NumberForms: Sendable {
    /// A way to write a number that is not the plainest.
    enum Form: UInt64 {
        case double = 0
        case negativeZero = 1
        case text = 2
    }

    /// The list; empty when every number is plain.
    package private(set) var bytes: [UInt8] = []
    /// How many plain numbers were passed since the last entry.
    private var plain: UInt64 = 0
    private let isKept: Bool

    /// Makes an empty list.
    package init() { isKept = true }

    private init(isKept: Bool) { self.isKept = isKept }

    /// For a caller that does not need the forms: it stays empty.
    static var ignored: NumberForms { NumberForms(isKept: false) }

    /// Begins with the next value.
    package mutating func removeAll() {
        if !bytes.isEmpty { bytes.removeAll(keepingCapacity: true) }
        plain = 0
    }

    /// Passes a number that is plain.
    @inline(__always)
    mutating func passPlain() { plain += 1 }

    /// Passes a number, and lists it if it is not plain.
    mutating func pass(_ number: ExactNumber) {
        guard isKept, let form = number.form else { return passPlain() }
        Self.append(plain << 2 | form.rawValue, to: &bytes)
        plain = 0
        guard form == .text else { return }
        Self.append(UInt64(number.text.utf8.count), to: &bytes)
        bytes.append(contentsOf: number.text.utf8)
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

// MARK: - Plain numbers

extension ExactNumber {
    /// The way in which the number is written; nil for the plainest.
    var form: NumberForms.Form? {
        switch representation {
        case .integer: return nil
        case .negativeZero: return .negativeZero
        case .double:
            return JSONValue(integer: ExactNumber.double(orderedBits: bits)) == nil ? nil : .double
        case .bigNumber:
            if case .number(let plain)? = JSONValue(plainest: self), plain.text == text {
                return nil
            }
            return .text
        }
    }
}

extension JSONValue {
    /// The plainest way to write a number; nil for one that does not exist, such as digits of zero.
    init?(plainest number: ExactNumber) {
        guard let digits = number.digits else {
            let double = ExactNumber.double(orderedBits: number.bits)
            // Zero has the bits of +0.0 only.
            guard double != 0 || double.sign == .plus else { return nil }
            self = JSONValue(integer: double) ?? .double(double)
            return
        }
        guard !digits.isZero else { return nil }
        if let integer = JSONValue(integer: digits, isNegative: number.isNegative) {
            self = integer
        } else {
            self = .number(BigNumber(checked: (number.isNegative ? "-" : "") + digits.text))
        }
    }

    /// The integer that a double is, if it is one and 64 bits hold it.
    init?(integer double: Double) {
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
    private init?(integer digits: DecimalMagnitude, isNegative: Bool) {
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
}

extension DecimalMagnitude {
    /// The digits, with zeros behind them up to 309 places, else with an exponent.
    fileprivate var text: String {
        let text = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        guard exponent >= digits.count, exponent <= 309 else {
            return text + "e\(exponent - digits.count)"
        }
        return text + String(repeating: "0", count: exponent - digits.count)
    }
}
