// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import DivanJSON

// The functions of numbers. An argument that is not a number, or a result that is not finite, gives
// null: that row has no answer, and the query goes on.
extension ExpressionFunction {
    /// What it is without an argument; null for a function that needs one.
    var constant: JSONValue {
        switch self {
        case .e: .double(2.718281828459045)
        case .pi: .double(.pi)
        default: .null
        }
    }

    /// The result for one number, or for two where there is a second argument.
    func number(_ arguments: [JSONValue]) -> JSONValue {
        guard let value = arguments.first else { return constant }
        if arguments.count == 1, value.isInteger, let result = exact(value) { return result }
        if arguments.count == 2, self == .round || self == .trunc, value.isInteger,
            let places = arguments[1].int64, places >= 0
        {
            return value
        }
        guard let first = value.double else { return .null }
        let result: Double?
        if arguments.count == 1 {
            result = functionsOfOne[self]?(first)
        } else {
            result = arguments[1].double.flatMap { functionsOfTwo[self]?(first, $0) }
        }
        guard let result, result.isFinite else { return .null }
        return self == .sign ? .integer(Int64(result)) : .double(result)
    }

    /// The result for an integer where that is an integer; nil where the function is one of reals.
    private func exact(_ integer: JSONValue) -> JSONValue? {
        switch self {
        case .abs: integer.magnitude
        case .ceil, .floor, .round, .trunc: integer
        default: nil
        }
    }
}

extension JSONValue {
    /// Whether it is an integer, be it one of more than 64 bits, which is kept as its digits.
    fileprivate var isInteger: Bool {
        switch self {
        case .integer, .unsigned: true
        case .number(let number): number.text.utf8.allSatisfy { $0 == 0x2D || 0x30...0x39 ~= $0 }
        default: false
        }
    }

    /// An integer without its sign; nil for anything else.
    fileprivate var magnitude: JSONValue? {
        switch self {
        case .integer(let integer):
            Int64(exactly: integer.magnitude).map { .integer($0) } ?? .unsigned(integer.magnitude)
        case .unsigned: self
        case .number(let number):
            number.text.afterBytePrefix("-").map { digits -> JSONValue in
                UInt64(digits).map { .unsigned($0) } ?? BigNumber(digits).map { .number($0) }
                    ?? .null
            } ?? self
        default: nil
        }
    }
}

// Outside the extension, whose cases would hide the functions of the C library.

private let functionsOfOne: [ExpressionFunction: @Sendable (Double) -> Double] = [
    .abs: { $0.magnitude },
    .ceil: { $0.rounded(.up) },
    .floor: { $0.rounded(.down) },
    .round: { $0.rounded() },
    .trunc: { $0.rounded(.towardZero) },
    .sign: { $0 > 0 ? 1 : $0 < 0 ? -1 : 0 },
    .sqrt: { $0.squareRoot() },
    .exp: { exp($0) },
    .ln: { log($0) },
    .log: { log10($0) },
    .sin: { sin($0) },
    .cos: { cos($0) },
    .tan: { tan($0) },
    .asin: { asin($0) },
    .acos: { acos($0) },
    .atan: { atan($0) },
    .degrees: { $0 * 180 / .pi },
    .radians: { $0 * .pi / 180 },
]

private let functionsOfTwo: [ExpressionFunction: @Sendable (Double, Double) -> Double?] = [
    .power: { pow($0, $1) },
    .atan2: { atan2($0, $1) },
    .round: { rounded($0, places: $1, .toNearestOrAwayFromZero) },
    .trunc: { rounded($0, places: $1, .towardZero) },
]

/// Rounds to a number of decimal places; negative ones are tens, hundreds and so on.
private func rounded(_ x: Double, places: Double, _ rule: FloatingPointRoundingRule) -> Double? {
    guard places == places.rounded(), places.magnitude <= 308 else { return nil }
    let factor = pow(10, places.magnitude)
    guard places >= 0 else { return (x / factor).rounded(rule) * factor }
    let scaled = x * factor
    // Beyond 2^53 a double has no decimal places to round.
    guard scaled.magnitude < 0x1p53 else { return x }
    return scaled.rounded(rule) / factor
}
