// SPDX-License-Identifier: Apache-2.0

/// A coding key made from a string or an index.
struct AnyCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// The key under which `super` is coded.
    static let `super` = AnyCodingKey(stringValue: "super")
}

extension JSONValue {
    /// What a value is, for messages; never its content.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .integer, .unsigned, .number: "an integer"
        case .double: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
