// SPDX-License-Identifier: Apache-2.0

/// Writes the properties of an object.
struct KeyedValueEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: EncodingSlot
    let codingPath: [any CodingKey]

    private func encoder(_ key: any CodingKey) -> ValueEncoder {
        ValueEncoder(slot: slot.property(key.stringValue), codingPath: codingPath + [key])
    }

    func encodeNil(forKey key: Key) { encoder(key).encodeNil() }

    func encode(_ value: some Encodable, forKey key: Key) throws { try encoder(key).put(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder(AnyCodingKey.super) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
}

/// Writes the elements of an array.
struct UnkeyedValueEncoder: UnkeyedEncodingContainer {
    let slot: EncodingSlot
    let codingPath: [any CodingKey]
    var count: Int { slot.count }

    private func encoder() -> ValueEncoder {
        let path = codingPath + [AnyCodingKey(intValue: count)]
        return ValueEncoder(slot: slot.element(), codingPath: path)
    }

    func encodeNil() { encoder().encodeNil() }

    func encode(_ value: some Encodable) throws { try encoder().put(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder() }
}
