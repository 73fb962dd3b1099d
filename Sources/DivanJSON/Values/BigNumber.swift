// SPDX-License-Identifier: Apache-2.0

/// A JSON number that no machine number holds, kept as the digits it was written with.
///
/// ```swift
/// let value = try JSONParser.parse("1e400")     // .number(BigNumber)
/// ```
///
/// Two kinds of numbers end up here: integers beyond `UInt64.max` or below `Int64.min`, and
/// decimals whose magnitude overflows `Double`. Two big numbers are equal when their texts are.
public struct BigNumber: Sendable, Hashable {
    /// The number exactly as it stood in the JSON text.
    public let text: String

    /// Wraps the text of a JSON number.
    ///
    /// - Returns: `nil` if `text` is not a number by the grammar of RFC 8259, or one that an
    ///   integer of 64 bits or a `Double` holds, which ``JSONParser`` would read as such.
    public init?(_ text: String) {
        guard JSONScanner.isBigNumber(text) else { return nil }
        self.text = text
    }

    /// Wraps digits that the parser has just checked.
    init(checked text: String) {
        self.text = text
    }

    /// The nearest `Double`, infinite when the magnitude is too large for one.
    public var double: Double { Double(text) ?? (text.utf8.first == 0x2D ? -.infinity : .infinity) }
}

extension BigNumber: CustomStringConvertible {
    /// The number's text.
    public var description: String { text }
}
