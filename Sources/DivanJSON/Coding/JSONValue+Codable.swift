// SPDX-License-Identifier: Apache-2.0

extension JSONValue: Codable {
    /// Reads any JSON value from a decoder.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ValueDecoder {
            self = decoder.value
            return
        }
        if let keyed = try? decoder.container(keyedBy: AnyCodingKey.self) {
            var properties = JSONObject()
            for key in keyed.allKeys {
                properties[key.stringValue] = try keyed.decode(JSONValue.self, forKey: key)
            }
            self = .object(properties)
        } else if var unkeyed = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !unkeyed.isAtEnd { elements.append(try unkeyed.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try JSONValue(scalarFrom: decoder.singleValueContainer())
        }
    }

    private init(scalarFrom container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Writes the value to an encoder.
    ///
    /// An encoder that is not Divan's gets a big number as the nearest double.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? ValueEncoder {
            encoder.slot.value = self
            return
        }
        switch self {
        case .object(let properties):
            var container = encoder.container(keyedBy: AnyCodingKey.self)
            for (key, value) in properties {
                try container.encode(value, forKey: AnyCodingKey(stringValue: key))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .number(let value): try container.encode(value.double)
            case .string(let value): try container.encode(value)
            default: try container.encodeNil()
            }
        }
    }
}

extension JSONObject: Codable {
    /// Reads an object from a decoder.
    public init(from decoder: any Decoder) throws {
        let value = try JSONValue(from: decoder)
        guard let properties = value.object else {
            throw DecodingError.typeMismatch(
                JSONObject.self,
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "Expected an object but found \(value.typeName)."))
        }
        self = properties
    }

    /// Writes the object to an encoder.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue.object(self).encode(to: encoder)
    }
}
