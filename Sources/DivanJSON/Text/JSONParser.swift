// SPDX-License-Identifier: Apache-2.0

/// A strict parser of JSON text, by RFC 8259.
///
/// ```swift
/// let value = try JSONParser.parse(#"{"name": "Ann", "age": 30}"#)
/// ```
///
/// The text is UTF-8 without a byte order mark. Refused are: invalid UTF-8, escaped surrogates
/// without their other half, control characters inside strings, numbers outside the grammar (`NaN`,
/// `01`, `.5`), commas at the end, comments, anything after the value, and nesting beyond
/// ``Options/maximumDepth``.
///
/// Where the RFC leaves a choice:
/// - Of a key that occurs twice in an object the last value counts; it takes the first one's place.
/// - Integers are exact: `Int64`, then `UInt64`, then digits. `-0` is the integer 0.
/// - A number with a point or an exponent becomes the nearest `Double`; one too small for a double
///   becomes zero, one too large keeps its digits as ``BigNumber``.
/// - NUL (`\u0000`) is a character like others.
///
/// For text that goes straight into a database use ``PackedValue/init(parsing:options:)-(Span<UInt8>,_)``, which
/// accepts exactly the same texts and builds no values.
public enum JSONParser {
    /// The bounds of a parse.
    public struct Options: Sendable {
        /// How deep arrays and objects may nest: 512 unless set, and never more than
        /// ``JSONValue/maximumDepth``.
        public var maximumDepth = 512

        /// Creates the default options.
        public init() {}

        /// Creates options with another depth.
        public init(maximumDepth: Int) { self.maximumDepth = maximumDepth }

        /// The depth that is in force.
        var effectiveDepth: Int { min(max(maximumDepth, 0), JSONValue.maximumDepth) }
    }

    /// Why a text is not JSON. It says what was wanted and where, and never quotes the text.
    public struct Failure: Error, Equatable, CustomStringConvertible {
        /// Which rule a text breaks.
        @nonexhaustive
        public enum Kind: Sendable {
            /// It does not follow the grammar of JSON.
            case grammar
            /// It nests deeper than ``Options/maximumDepth``.
            case nesting
            /// One of its strings is no text: it holds half of a surrogate pair, or bytes that are not UTF-8.
            case characters
        }

        /// Which rule the text breaks at that byte. The text after it was not looked at.
        public var kind: Kind
        /// The offset of the byte that does not fit, from the start of the text.
        public var offset: Int
        /// What should stand there, as the rest of a sentence that begins with "expected".
        public var expectation: String

        /// Describes a failure.
        public init(offset: Int, expectation: String, kind: Kind = .grammar) {
            self.kind = kind
            self.offset = offset
            self.expectation = expectation
        }

        /// One sentence with both.
        public var description: String { "At byte \(offset): expected \(expectation)." }
    }

    /// Parses one JSON value from UTF-8 bytes.
    ///
    /// - Throws: ``Failure`` at the first byte that does not fit.
    public static func parse(
        _ text: Span<UInt8>, options: Options = .init()
    ) throws(Failure) -> JSONValue {
        try JSONScanner.parse(text, depth: options.effectiveDepth)
    }

    /// Parses one JSON value from UTF-8 bytes. See ``parse(_:options:)``.
    public static func parse(
        _ text: [UInt8], options: Options = .init()
    ) throws(Failure) -> JSONValue {
        try parse(text.span, options: options)
    }

    /// Parses one JSON value from a string. See ``parse(_:options:)``.
    public static func parse(
        _ text: String, options: Options = .init()
    ) throws(Failure) -> JSONValue {
        try parse(Array(text.utf8).span, options: options)
    }
}
