// SPDX-License-Identifier: Apache-2.0

/// Any JSON value, held in memory.
///
/// ```swift
/// let value: JSONValue = ["name": "Ann", "tags": ["a", "b"]]
/// value["tags"]?[0]?.string        // "a"
/// ```
///
/// Numbers keep what a revision's digest sees. `1` is `.integer` and `1.0` is `.double`; they are
/// not equal, and neither are `0.0` and `-0.0`. Strings are compared by their bytes. Equality is
/// therefore exact: two equal values have the same canonical JSON. For the order and
/// equality of view keys see ``ValueOrder``.
public enum JSONValue: Sendable {
    /// The value `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without a point or exponent, between `Int64.min` and `Int64.max`.
    case integer(Int64)
    /// A number written without a point or exponent, above `Int64.max` and up to `UInt64.max`.
    case unsigned(UInt64)
    /// A number written with a point or an exponent. JSON has no infinity and no NaN: they are
    /// packed and written as `null`.
    case double(Double)
    /// A number beyond the others, kept as digits.
    case number(BigNumber)
    /// A text.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue: Hashable {
    /// Whether both are the same value, written the same way.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.unsigned(let a), .unsigned(let b)): a == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    /// Hashes the value, in agreement with `==`.
    public func hash(into hasher: inout Hasher) {
        hash(into: &hasher, levels: JSONValue.maximumDepth)
    }

    /// Hashes so many levels of the value. What lies deeper makes no difference to the hash.
    func hash(into hasher: inout Hasher, levels: Int) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .unsigned(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.bitPattern)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(ExactString(value))
        case .array(let elements):
            hasher.combine(elements.count)
            guard levels > 0 else { return }
            for element in elements { element.hash(into: &hasher, levels: levels - 1) }
        case .object(let value): value.hash(into: &hasher, levels: levels)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String {
        var bytes: [UInt8] = []
        JSONWriter.append(self, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONValue {
    /// The deepest nesting that Divan reads or packs: a bound on every recursion over values.
    ///
    /// The parser's default is 512 (``JSONParser/Options/maximumDepth``), and more than this it
    /// never allows.
    public static let maximumDepth = 1024

    /// Whether arrays and objects nest at most `limit` deep; a scalar has depth 0.
    ///
    /// The check itself stops at the limit, so it is safe on any value.
    public func isNested(atMost limit: Int) -> Bool {
        switch self {
        case .array(let elements):
            limit > 0 && elements.allSatisfy { $0.isNested(atMost: limit - 1) }
        case .object(let properties):
            limit > 0 && properties.values.allSatisfy { $0.isNested(atMost: limit - 1) }
        default: true
        }
    }
}
