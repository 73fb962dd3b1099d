// SPDX-License-Identifier: Apache-2.0

/// A type with a JSON value of its own, which Divan's coders use instead of its `Codable` form.
///
/// A date, for instance, codes itself as a number of seconds; in a document it is ISO-8601 text.
///
/// ```swift
/// extension Colour: JSONCodable {
///     var jsonValue: JSONValue { .string(hexadecimal) }
///     init?(jsonValue: JSONValue) { self.init(hexadecimal: jsonValue.string ?? "") }
/// }
/// ```
///
/// Other coders are not affected.
public protocol JSONCodable: Codable {
    /// The value as JSON.
    var jsonValue: JSONValue { get }

    /// Reads a value from JSON; nil when it is not one of this type.
    init?(jsonValue: JSONValue)
}
