// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

/// Something with named properties that can be read: a document, a mutable document, an object in one.
///
/// Typed accessors never fail. For a property that is missing or of another type, those for objects
/// (`string`, `date`, `array`, `dictionary`) return nil and those for scalars return zero or false,
/// as in Couchbase Lite 2; `contains` tells a missing property from a null or zero one.
///
/// ```swift
/// document.int(forKey: "age")              // 0 when absent
/// document.string(forKey: "name")          // nil when absent
/// document.contains("name")                // whether it is there at all
/// ```
public protocol PropertyReader {
    /// The value of a property.
    subscript(key: String) -> Fragment { get }
    /// The names of all properties.
    var keys: [String] { get }
    /// The number of properties.
    var count: Int { get }
    /// All properties, decoded.
    var properties: JSONObject { get }
}

extension PropertyReader {
    /// Whether there is such a property; a null one counts.
    public func contains(_ key: String) -> Bool { self[key].exists }

    /// The value of a property, decoded; nil when missing.
    public func value(forKey key: String) -> JSONValue? { self[key].value }

    /// The string, or nil.
    public func string(forKey key: String) -> String? { self[key].string }

    /// The integer part of the number, 1 or 0 for a boolean, 0 for anything else.
    public func int64(forKey key: String) -> Int64 { self[key].integerOrZero }

    /// As `int64(forKey:)`, 0 where it does not fit.
    public func int(forKey key: String) -> Int { Int(exactly: int64(forKey: key)) ?? 0 }

    /// The number, 1 or 0 for a boolean, 0 for anything else.
    public func double(forKey key: String) -> Double {
        let fragment = self[key]
        return fragment.double ?? (fragment.bool == true ? 1 : 0)
    }

    /// As `double(forKey:)`, rounded to a float.
    public func float(forKey key: String) -> Float { Float(double(forKey: key)) }

    /// The boolean; true for a number other than zero; false for anything else.
    public func bool(forKey key: String) -> Bool {
        let fragment = self[key]
        return fragment.bool ?? (fragment.double.map { $0 != 0 } ?? false)
    }

    /// The number as JSON has it, whatever its size, or nil.
    public func number(forKey key: String) -> JSONValue? {
        switch value(forKey: key) {
        case let value? where value.double != nil: value
        case .number(let big)?: .number(big)
        default: nil
        }
    }

    /// The date in an ISO-8601 string, to the millisecond, or nil.
    public func date(forKey key: String) -> Date? { self[key].date }

    /// The elements of an array, or nil.
    public func array(forKey key: String) -> ArrayObject? { ArrayObject(self[key]) }

    /// The members of an object, or nil.
    public func dictionary(forKey key: String) -> DictionaryObject? { DictionaryObject(self[key]) }
}

extension Fragment {
    /// The date in an ISO-8601 string, or nil.
    public var date: Date? { string.flatMap { Date(jsonValue: .string($0)) } }

    /// The number cut off to an integer; 1 and 0 for booleans; 0 for anything else or out of range.
    var integerOrZero: Int64 {
        if let exact = int64 { return exact }
        if let bool { return bool ? 1 : 0 }
        return double.flatMap { Int64(exactly: $0.rounded(.towardZero)) } ?? 0
    }
}

/// An object inside a document, read-only.
public struct DictionaryObject: Sendable, PropertyReader {
    private let fragment: Fragment

    init?(_ fragment: Fragment) {
        guard fragment.object != nil || fragment.packed?.kind == .object else { return nil }
        self.fragment = fragment
    }

    /// The value of a member.
    public subscript(key: String) -> Fragment { fragment[key] }
    /// The names of all members.
    public var keys: [String] { fragment.packed?.keys ?? properties.map(\.key) }
    /// The number of members.
    public var count: Int { fragment.count }
    /// All members, decoded.
    public var properties: JSONObject { fragment.object ?? [:] }
}

/// An array inside a document, read-only.
public struct ArrayObject: Sendable, RandomAccessCollection {
    private let fragment: Fragment

    init?(_ fragment: Fragment) {
        guard fragment.packed?.kind == .array || (fragment.packed == nil && fragment.array != nil)
        else { return nil }
        self.fragment = fragment
    }

    /// The first index, 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { fragment.count }
    /// The value of an element; absent when the index is out of bounds.
    public subscript(index: Int) -> Fragment { fragment[index] }
    /// All elements, decoded.
    public var values: [JSONValue] { fragment.array ?? [] }
}
