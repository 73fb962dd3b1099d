// SPDX-License-Identifier: Apache-2.0

// The key of a property index is a fixed number of values one after the other, without an array
// around them. A property that a document has not got is one byte below the tags of all types:
//
//     04         in place of a whole key: something in the document fits into no key
//     08         a property that is missing
//     10 … 70    a value
//
// Queries hold numbers equal however they are written, so they are written in one form here. Then
// equal values have equal bytes, and a range behind equal beginnings is one range of bytes.

extension RowKeyCoder {
    /// Stands for a property that is missing.
    package static let missing: UInt8 = 0x08
    /// Stands for a document that has something too large for a key.
    package static let unindexable: UInt8 = 0x04

    /// Appends a value in the form in which all values that a query holds equal are the same.
    package func appendComponent(_ value: JSONValue, to key: inout [UInt8]) {
        append(value.collationForm, to: &key)
    }

    /// Appends a packed value in the form in which all values that a query holds equal are the same.
    package func appendComponent(_ value: PackedValue, to key: inout [UInt8]) {
        switch value.kind {
        case .null, .bool, .integer, .string: append(value, to: &key)
        default: append(value.jsonValue().collationForm, to: &key)
        }
    }

    /// Appends what the encodings of all strings with a beginning begin with; only for collations
    /// that compare strings by bytes.
    package func appendTextPrefix(_ text: String, to key: inout [UInt8]) {
        append(.string(text), to: &key)
        // Without its end it begins all that go on.
        key.removeLast()
    }

    /// The first byte of the encodings of a value's type.
    package func tag(ofTypeOf value: JSONValue) -> UInt8 { tag(of: value.collationType) }

    /// Whether strings compare by their bytes.
    package var comparesBytes: Bool { collation != .unicode }

    /// Moves past the components of a property index's key.
    ///
    /// - Throws: `Failure` if so many do not begin there.
    package func skipComponents(
        _ count: Int, of key: Span<UInt8>, at offset: inout Int
    ) throws(Failure) {
        if offset < key.count, key[offset] == RowKeyCoder.unindexable {
            offset += 1
            return
        }
        for _ in 0..<count {
            if offset < key.count, key[offset] == RowKeyCoder.missing {
                offset += 1
            } else {
                try skip(key, at: &offset)
            }
        }
    }
}

extension JSONValue {
    /// The one value that stands for all that collate as equal: `1` for `1` and `1.0`.
    package var collationForm: JSONValue {
        switch self {
        case .null, .bool, .integer, .string: self
        case .unsigned, .double, .number: ExactNumber(self).collationForm(of: self)
        case .array(let items): .array(items.map(\.collationForm))
        case .object(let object):
            .object(JSONObject(object.lazy.map { ($0.key, $0.value.collationForm) }))
        }
    }
}

extension ExactNumber {
    /// The integer, if it is one of 64 bits, else the double, else the shortest digits.
    fileprivate func collationForm(of value: JSONValue) -> JSONValue {
        guard let digits else {
            let double = ExactNumber.double(orderedBits: bits)
            if let integer = Int64(exactly: double) { return .integer(integer) }
            if let integer = UInt64(exactly: double) { return .unsigned(integer) }
            return .double(double)
        }
        // Integers of 64 bits have one form only.
        guard case .number = value else { return value }
        let sign = isNegative ? "-" : ""
        var text = String(decoding: digits.digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        if digits.exponent <= 309, digits.exponent >= digits.digits.count {
            text += String(repeating: "0", count: digits.exponent - digits.digits.count)
        } else {
            text += "e\(digits.exponent - digits.digits.count)"
        }
        return .number(BigNumber(checked: sign + text))
    }
}
