// SPDX-License-Identifier: Apache-2.0

// The key of a property index is a fixed number of values one after the other, without an array
// around them. A property that a document does not have is one byte below the tags of all types:
//
//     04         in place of a whole key: something in the document fits into no key
//     08         a property that is missing
//     10 … 70    a value
//
// Equal values have equal bytes, so a range behind equal beginnings is one range of bytes.

extension RowKeyCoder {
    /// Stands for a property that is missing.
    package static let missing: UInt8 = 0x08
    /// Stands for a document that has something too large for a key.
    package static let unindexable: UInt8 = 0x04

    /// Appends what the encodings of all strings with a beginning begin with; only for collations
    /// that compare strings by bytes.
    package func appendTextPrefix(_ text: String, to key: inout [UInt8]) {
        append(.string(text), to: &key)
        // Without its end, it is the beginning of all longer strings that begin with it.
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
