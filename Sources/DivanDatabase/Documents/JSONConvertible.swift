// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// A Swift value that can be stored in a document.
public protocol JSONConvertible {
    /// The value as JSON.
    var jsonValue: JSONValue { get }

    /// The blobs in the value, whose content is stored with the document; none unless said otherwise.
    var blobs: [Blob] { get }
}

extension JSONConvertible {
    /// None.
    public var blobs: [Blob] { [] }
}

extension JSONValue: JSONConvertible {
    /// The value itself.
    public var jsonValue: JSONValue { self }
}

extension JSONObject: JSONConvertible {
    /// A JSON object.
    public var jsonValue: JSONValue { .object(self) }
}

extension String: JSONConvertible {
    /// A JSON string.
    public var jsonValue: JSONValue { .string(self) }
}

extension DocumentID: JSONConvertible {
    /// The ID as a JSON string.
    public var jsonValue: JSONValue { .string(text) }
}

extension RevisionID: JSONConvertible {
    /// The ID as a JSON string.
    public var jsonValue: JSONValue { .string(description) }
}

extension Bool: JSONConvertible {
    /// A JSON boolean.
    public var jsonValue: JSONValue { .bool(self) }
}

extension Int: JSONConvertible {
    /// A JSON number.
    public var jsonValue: JSONValue { .integer(Int64(self)) }
}

extension Int64: JSONConvertible {
    /// A JSON number.
    public var jsonValue: JSONValue { .integer(self) }
}

extension UInt64: JSONConvertible {
    /// A JSON number.
    public var jsonValue: JSONValue { Int64(exactly: self).map { .integer($0) } ?? .unsigned(self) }
}

extension Double: JSONConvertible {
    /// A JSON number; JSON has no NaN and no infinities, which become null.
    public var jsonValue: JSONValue { isFinite ? .double(self) : .null }
}

extension Float: JSONConvertible {
    /// A JSON number; JSON has no NaN and no infinities, which become null.
    public var jsonValue: JSONValue { Double(self).jsonValue }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    /// A JSON array.
    public var jsonValue: JSONValue { .array(map(\.jsonValue)) }

    /// The blobs of the elements.
    public var blobs: [Blob] { flatMap(\.blobs) }
}

extension Dictionary: JSONConvertible where Key == String, Value: JSONConvertible {
    /// A JSON object, its members in the order of their keys.
    public var jsonValue: JSONValue {
        var object: JSONObject = [:]
        for key in keys.sorted() { object[key] = self[key]?.jsonValue }
        return .object(object)
    }

    /// The blobs of the members.
    public var blobs: [Blob] { values.flatMap(\.blobs) }
}

extension Fragment: JSONConvertible {
    /// The value; JSON null when it is absent.
    public var jsonValue: JSONValue { value ?? .null }
}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    /// The value, or JSON null.
    public var jsonValue: JSONValue { self?.jsonValue ?? .null }

    /// The blobs in the value.
    public var blobs: [Blob] { self?.blobs ?? [] }
}
