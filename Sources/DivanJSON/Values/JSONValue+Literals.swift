// SPDX-License-Identifier: Apache-2.0

extension JSONValue: ExpressibleByNilLiteral {
    /// Creates null.
    public init(nilLiteral: ()) { self = .null }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// Creates a double.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Creates a text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Creates an object; of a key written twice the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var properties = JSONObject()
        for (key, value) in elements { properties[key] = value }
        self = .object(properties)
    }
}

extension JSONValue {
    /// Creates the integer case that holds the value.
    public init(_ value: some FixedWidthInteger) {
        if let small = Int64(exactly: value) {
            self = .integer(small)
        } else if let large = UInt64(exactly: value) {
            self = .unsigned(large)
        } else {
            self = .number(BigNumber(checked: String(value)))
        }
    }

    /// Creates a text.
    public init(_ value: some StringProtocol) { self = .string(String(value)) }

    /// Creates a Boolean.
    public init(_ value: Bool) { self = .bool(value) }

    /// Creates a double.
    public init(_ value: Double) { self = .double(value) }

    /// Creates an object.
    public init(_ value: JSONObject) { self = .object(value) }

    /// Creates an array.
    public init(_ value: [JSONValue]) { self = .array(value) }
}
