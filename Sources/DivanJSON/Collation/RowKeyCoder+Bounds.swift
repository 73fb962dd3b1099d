// SPDX-License-Identifier: Apache-2.0

// To a query, numbers are equal whatever their representation: 1 finds 1.0. In a row's key the
// representation comes after the bits and tells them apart, so the keys that equal a number lie
// between two bounds that are no keys themselves:
//
//     tag  bits  02      below every representation of exactly this number
//     tag  bits  10 … 13 the keys
//     tag  bits  7F      above them, and below the numbers beyond the bits
//
// Only a number that is the whole key is treated so. Inside an array the representation is part of
// the order, as ``Collation`` says in its sixth invariant.

extension RowKeyCoder {
    private static let belowRepresentations: UInt8 = 0x02
    private static let aboveRepresentations: UInt8 = 0x7F

    /// Appends bytes that no key below a value reaches, and every key that equals it does.
    ///
    /// - Parameters:
    ///   - value: The value that a range of keys begins with.
    ///   - key: Grows by the bound.
    public func appendLowerBound(of value: JSONValue, to key: inout [UInt8]) {
        appendBound(of: value, RowKeyCoder.belowRepresentations, to: &key)
    }

    /// Appends bytes that are above every key that equals a value, whatever follows it in a row's
    /// key, and below the keys of all greater values.
    ///
    /// - Parameters:
    ///   - value: The value that a range of keys ends with.
    ///   - key: Grows by the bound.
    public func appendUpperBound(of value: JSONValue, to key: inout [UInt8]) {
        appendBound(of: value, RowKeyCoder.aboveRepresentations, to: &key)
        // Above the first byte of every document ID, which is UTF-8.
        key.append(0xFF)
    }

    private func appendBound(
        of value: JSONValue, _ representation: UInt8, to key: inout [UInt8]
    ) {
        let start = key.count
        append(value, to: &key)
        // A number beyond its bits, or kept as text, is found by its exact form only.
        guard value.collationType == .number, key.count == start + 10 else { return }
        key[start + 9] = representation
    }
}
