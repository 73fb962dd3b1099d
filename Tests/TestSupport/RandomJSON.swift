// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// Makes random JSON values that look for trouble.
///
/// Uniformly random values rarely meet: no two begin alike, and no number is near another. These
/// are put together from few pieces, so that ties, prefixes, neighbouring numbers and composed and
/// decomposed characters come up all the time.
///
/// ```swift
/// let value = RandomJSON.value(using: &generator)
/// let neighbour = RandomJSON.variation(of: value, using: &generator)
/// ```
public enum RandomJSON {
    /// Makes a value of any type, nested up to `depth` levels.
    public static func value(
        depth: Int = 3, using generator: inout some RandomNumberGenerator
    ) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &generator) {
        case 0: .null
        case 1: .bool(.random(using: &generator))
        case 2, 3: number(using: &generator)
        case 4, 5, 6: .string(string(using: &generator))
        case 7, 8: array(depth: depth, using: &generator)
        default: .object(object(depth: depth - 1, using: &generator))
        }
    }

    /// Makes an object, such as a document's body, whose values nest up to `depth` levels.
    public static func object(
        depth: Int = 3, using generator: inout some RandomNumberGenerator
    ) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            object[string(using: &generator)] = value(depth: depth - 1, using: &generator)
        }
        return object
    }

    /// Makes a string of up to four pieces.
    public static func string(using generator: inout some RandomNumberGenerator) -> String {
        (0..<Int.random(in: 0...4, using: &generator))
            .map { _ in pieces.randomElement(using: &generator) ?? "" }
            .joined()
    }

    /// Makes a number: at an edge, small, or of any bits.
    public static func number(using generator: inout some RandomNumberGenerator) -> JSONValue {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1, 2: return edges.randomElement(using: &generator) ?? 0
        case 3: return .integer(.random(in: -3...3, using: &generator))
        case 4: return .double(Double(Int.random(in: -12...12, using: &generator)) / 4)
        case 5: return .integer(.random(in: .min ... .max, using: &generator))
        case 6: return bigNumber(using: &generator)
        default:
            let double = Double(bitPattern: .random(in: 0...UInt64.max, using: &generator))
            return .double(double.isFinite ? double : 0.5)
        }
    }

    /// Makes a value that differs from another one in one place, or not at all.
    public static func variation(
        of value: JSONValue, using generator: inout some RandomNumberGenerator
    ) -> JSONValue {
        switch value {
        case .array(var items) where !items.isEmpty:
            let index = items.indices.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: items.append(self.value(depth: 1, using: &generator))
            case 1: items.removeLast()
            default: items[index] = variation(of: items[index], using: &generator)
            }
            return .array(items)
        case .object(var object) where !object.isEmpty:
            let key = object.keys.randomElement(using: &generator) ?? ""
            object[key] = variation(of: object[key] ?? .null, using: &generator)
            return .object(object)
        case .string(let text):
            return .string(text + string(using: &generator))
        case .integer(let value) where Bool.random(using: &generator):
            return .double(Double(value))
        case .double(let double) where double.nextUp.isFinite:
            return .double(double.nextUp)
        default:
            return self.value(depth: 1, using: &generator)
        }
    }

    private static func array(
        depth: Int, using generator: inout some RandomNumberGenerator
    ) -> JSONValue {
        let count = Int.random(in: 0...4, using: &generator)
        return .array((0..<count).map { _ in value(depth: depth - 1, using: &generator) })
    }

    private static func bigNumber(using generator: inout some RandomNumberGenerator) -> JSONValue {
        let sign = Bool.random(using: &generator) ? "-" : ""
        let digits = (0..<Int.random(in: 1...30, using: &generator))
            .map { _ in String(Int.random(in: 0...9, using: &generator)) }
            .joined()
        let exponent = Int.random(in: 300...410, using: &generator)
        let text =
            Bool.random(using: &generator)
            ? "\(sign)1\(digits)00000000000000000000" : "\(sign)9.\(digits)e\(exponent)"
        return BigNumber(text).map(JSONValue.number) ?? 0
    }
}

extension RandomJSON {
    /// Letters with their cases and accents, composed and decomposed, ignorable and control
    /// characters, contractions, both sides of the surrogates, and what row keys escape.
    static let pieces = [
        "a", "A", "b", "e", "\u{E1}", "a\u{301}", "\u{E9}", "e\u{301}", "\u{1EC7}",
        "e\u{323}\u{302}", "e\u{302}\u{323}", "\u{DF}", "ss", "\u{E6}", "ae", "\u{FB01}",
        "\u{FF21}", "\u{130}", "\u{0}", "\u{1}", "\u{2}", "\u{7F}", "\u{80}", "\u{FF}", "\t", " ",
        "-", "_", "~", "0", "10", "9", "\u{3B1}", "\u{416}", "\u{3042}", "\u{4E2D}", "\u{AC00}",
        "\u{1100}\u{1161}", "\u{E40}\u{E01}", "\u{FB2}\u{F71}\u{F80}", "\u{F71}\u{F72}", "\u{200D}",
        "\u{FFFD}", "\u{E000}", "\u{FFFF}", "\u{1F600}", "\u{1D4B3}", "\u{10FFFF}",
    ]

    /// Zeros, neighbours of 2^53, of the 64-bit limits and of the largest and least doubles, and
    /// equal numbers written differently.
    static let edges: [JSONValue] = {
        let integers: [Int64] = [
            0, 1, -1, 1 << 53 - 1, 1 << 53, 1 << 53 + 1, 1 << 53 + 2, -(1 << 53), -(1 << 53) - 1,
            .max, .max - 1, .min, .min + 1,
        ]
        let unsigned: [UInt64] = [1 << 63, 1 << 63 + 1, .max, .max - 1]
        let doubles = [
            0.0, -0.0, 1, 0.1, 0x1p53, 0x1p53 + 2, -0x1p53, 0x1p63, -0x1p63, 0x1p64,
            .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude,
            .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
        ]
        let texts = [
            "18446744073709551616", "18446744073709551617", "-9223372036854775809", "1e400",
            "1E400", "10e399", "-1e400", "-1e401", "1.5e309", "1e99999999999999999999",
        ]
        return integers.map { .integer($0) } + unsigned.map { .unsigned($0) }
            + doubles.map { .double($0) } + texts.compactMap { BigNumber($0).map { .number($0) } }
    }()
}
