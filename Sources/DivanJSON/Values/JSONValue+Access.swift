// SPDX-License-Identifier: Apache-2.0

extension JSONValue {
    /// Whether the value is null.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The Boolean, or `nil` for anything else.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The integer, or `nil` for anything that is not written as one or does not fit.
    public var int64: Int64? { if case .integer(let value) = self { value } else { nil } }

    /// The integer, or `nil` when it is none, is negative, or does not fit.
    public var uint64: UInt64? {
        switch self {
        case .integer(let value): UInt64(exactly: value)
        case .unsigned(let value): value
        default: nil
        }
    }

    /// The nearest `Double` of any number, or `nil` for anything else.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        case .number(let value): value.double
        default: nil
        }
    }

    /// The text, or `nil` for anything else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// What the value is as a parameter in a URL's query: a text itself, anything else as JSON.
    package var parameterText: String { string ?? JSONWriter.string(self) }

    /// The elements, or `nil` for anything but an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The properties, or `nil` for anything but an object.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// A date written in ISO 8601, in milliseconds since 1970; `nil` when this is not such a text.
    public var millisecondsSince1970: Int64? { string.flatMap(ISO8601.parse) }

    /// Creates a date as ISO 8601 text, from milliseconds since 1970.
    public static func date(millisecondsSince1970 milliseconds: Int64) -> JSONValue {
        .string(ISO8601.format(millisecondsSince1970: milliseconds))
    }

    /// A property of an object; `nil` when there is none or this is no object.
    ///
    /// Setting a property of null makes an object of it; setting one of another value does nothing.
    public subscript(key: String) -> JSONValue? {
        get { if case .object(let properties) = self { properties[key] } else { nil } }
        set {
            switch self {
            case .object(var properties):
                // The old copy is released first, so that the change happens in place.
                self = .null
                properties[key] = newValue
                self = .object(properties)
            case .null:
                if let newValue { self = .object([key: newValue]) }
            default: break
            }
        }
    }

    /// An element of an array; `nil` when the index is outside or this is no array.
    ///
    /// Setting at the index after the last appends, setting `nil` removes; outside it does nothing.
    public subscript(index: Int) -> JSONValue? {
        get {
            guard case .array(let elements) = self, elements.indices.contains(index) else {
                return nil
            }
            return elements[index]
        }
        set {
            guard case .array(var elements) = self else { return }
            self = .null
            if elements.indices.contains(index) {
                if let newValue { elements[index] = newValue } else { elements.remove(at: index) }
            } else if index == elements.count, let newValue {
                elements.append(newValue)
            }
            self = .array(elements)
        }
    }
}
