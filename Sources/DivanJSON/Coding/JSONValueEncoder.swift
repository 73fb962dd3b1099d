// SPDX-License-Identifier: Apache-2.0

/// Turns values of your own types into JSON values.
///
/// ```swift
/// struct Person: Codable { var name: String; var age: Int }
/// let value = try JSONValueEncoder().encode(Person(name: "Ann", age: 30))
/// value["age"]?.int64      // 30
/// ```
///
/// Integers stay integers of any size, `Float` and `Double` become doubles, and `nil` in an
/// optional property is left out, as Swift's synthesised coding does. Keys keep the order in which
/// they were written.
public struct JSONValueEncoder: Sendable {
    /// Creates an encoder.
    public init() {}

    /// The JSON value of an encodable value.
    ///
    /// - Throws: `EncodingError.invalidValue` for infinities and NaN, which JSON cannot express, and for
    ///   what nests deeper than 512 levels, and whatever the value's own `encode(to:)` throws.
    public func encode(_ value: some Encodable) throws -> JSONValue {
        try ValueEncoder.encode(value, path: [])
    }
}

/// Where an encoder leaves its value. A reference, because containers outlive their encoder.
final class EncodingSlot {
    private enum Content {
        case value(JSONValue)
        case object([(key: String, slot: EncodingSlot)])
        case array([EncodingSlot])
    }

    private var content: Content?

    /// The value; `nil` as long as nothing was encoded.
    var value: JSONValue? {
        get {
            switch content {
            case .value(let value): value
            case .object(let entries):
                .object(JSONObject(entries.map { ($0.key, $0.slot.value ?? [:]) }))
            case .array(let slots): .array(slots.map { $0.value ?? [:] })
            case nil: nil
            }
        }
        set { content = newValue.map { .value($0) } }
    }

    var count: Int { if case .array(let slots) = content { slots.count } else { 0 } }

    /// Makes an object of the slot, unless it is one.
    func makeObject() {
        if case .object = content { return }
        content = .object([])
    }

    /// Makes an array of the slot, unless it is one.
    func makeArray() {
        if case .array = content { return }
        content = .array([])
    }

    /// A new slot at the end of an object.
    func property(_ key: String) -> EncodingSlot {
        let slot = EncodingSlot()
        guard case .object(var entries) = content else { return slot }
        content = nil
        entries.append((key, slot))
        content = .object(entries)
        return slot
    }

    /// A new slot at the end of an array.
    func element() -> EncodingSlot {
        let slot = EncodingSlot()
        guard case .array(var slots) = content else { return slot }
        content = nil
        slots.append(slot)
        content = .array(slots)
        return slot
    }
}

/// An encoder of one value into a slot.
struct ValueEncoder: Encoder {
    let slot: EncodingSlot
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Encodes a value on its own.
    static func encode(_ value: some Encodable, path: [any CodingKey]) throws -> JSONValue {
        let encoder = ValueEncoder(slot: EncodingSlot(), codingPath: path)
        try encoder.put(value)
        // A type that encodes nothing at all is an object without properties.
        return encoder.slot.value ?? [:]
    }

    /// Encodes a value into the slot, without the detour of a container for JSON's own types.
    func put(_ value: some Encodable) throws {
        guard codingPath.count <= Self.deepest else { throw tooDeep(value) }
        switch value {
        case let value as String: slot.value = .string(value)
        case let value as Bool: slot.value = .bool(value)
        case let value as Double: slot.value = try double(value)
        case let value as Float: slot.value = try double(Double(value.description) ?? Double(value))
        case let value as any FixedWidthInteger: slot.value = JSONValue(value)
        case let value as any JSONCodable:
            let json = value.jsonValue
            slot.value = if case .double(let number) = json { try double(number) } else { json }
        default: try value.encode(to: self)
        }
    }

    /// How deep values may nest: as deep as text that is parsed.
    static let deepest = 512

    private func tooDeep(_ value: Any) -> any Error {
        EncodingError.invalidValue(
            value,
            .init(
                codingPath: [],
                debugDescription:
                    "The value nests deeper than \(Self.deepest) levels; make it flatter."))
    }

    private func double(_ value: Double) throws -> JSONValue {
        guard value.isFinite else {
            throw EncodingError.invalidValue(
                value,
                .init(
                    codingPath: codingPath,
                    debugDescription: "JSON has no infinity and no NaN; encode null or a string."))
        }
        return .double(value)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.makeObject()
        return KeyedEncodingContainer(KeyedValueEncoder<Key>(slot: slot, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.makeArray()
        return UnkeyedValueEncoder(slot: slot, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { slot.value = .null }
    func encode(_ value: some Encodable) throws { try put(value) }
}
