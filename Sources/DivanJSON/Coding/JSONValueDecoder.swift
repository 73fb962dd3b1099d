// SPDX-License-Identifier: Apache-2.0

/// Turns JSON values into values of your own types.
///
/// ```swift
/// struct Person: Codable { var name: String; var age: Int }
/// let person = try JSONValueDecoder().decode(Person.self, from: ["name": "Ann", "age": 30])
/// ```
///
/// A number becomes any type that holds it exactly: `1.0` may be read as `Int`, `1.5` may not. Any
/// number may be read as `Double` or `Float`, rounded when need be.
public struct JSONValueDecoder: Sendable {
    /// Creates a decoder.
    public init() {}

    /// Reads a value of a type.
    ///
    /// - Throws: `DecodingError`, with the path to the value that is missing or does not fit, or for a value
    ///   that nests deeper than 512 levels.
    public func decode<T: Decodable>(_ type: T.Type, from value: JSONValue) throws -> T {
        try ValueDecoder(value: value, codingPath: []).take(type)
    }
}

extension JSONValueDecoder {
    /// Reads a value as the type's own `init(from:)` does, also of a type that has a JSON value of its own.
    ///
    /// - Parameters:
    ///   - type: The type.
    ///   - value: The value.
    /// - Returns: What was read; nil when it does not fit.
    package func decodeCodableForm<T: Decodable>(_ type: T.Type, from value: JSONValue) -> T? {
        try? T(from: ValueDecoder(value: value, codingPath: []))
    }
}

/// A decoder of one value.
struct ValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Reads the value as a type, without the detour of a container for JSON's own types.
    func take<T: Decodable>(_ type: T.Type) throws -> T {
        guard codingPath.count <= ValueEncoder.deepest else { throw tooDeep }
        let result: Any?
        switch type {
        case is String.Type: result = value.string
        case is Bool.Type: result = value.bool
        case is Double.Type: result = try finiteDouble(type)
        case is Float.Type: result = try finiteDouble(type).map { Float($0) }
        case let type as any FixedWidthInteger.Type: result = integer(type)
        case let type as any JSONCodable.Type: result = type.init(jsonValue: value)
        default: return try T(from: self)
        }
        guard let result = result as? T else { throw mismatch(type) }
        return result
    }

    private func finiteDouble(_ type: Any.Type) throws -> Double? {
        guard let double = value.double else { return nil }
        guard double.isFinite else { throw mismatch(type) }
        return double
    }

    private func integer<T: FixedWidthInteger>(_ type: T.Type) -> T? {
        switch value {
        case .integer(let value): T(exactly: value)
        case .unsigned(let value): T(exactly: value)
        case .double(let value): T(exactly: value)
        case .number(let value): T(value.text)
        default: nil
        }
    }

    private var tooDeep: any Error {
        DecodingError.dataCorrupted(
            .init(
                codingPath: [],
                debugDescription: "The value nests deeper than \(ValueEncoder.deepest) levels."))
    }

    /// The error of finding another type.
    func mismatch(_ type: Any.Type) -> any Error {
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "Expected \(type) but found \(value.typeName) that does not fit.")
        return value.isNull
            ? DecodingError.valueNotFound(type, context) : DecodingError.typeMismatch(type, context)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let object = value.object else { throw mismatch(JSONObject.self) }
        return KeyedDecodingContainer(KeyedValueDecoder(object: object, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value.array else { throw mismatch([JSONValue].self) }
        return UnkeyedValueDecoder(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value.isNull }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try take(type) }
}
