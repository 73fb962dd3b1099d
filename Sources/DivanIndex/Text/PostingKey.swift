// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// The key of a block of postings: the number of its term, and the ordinal of its first document.
///
/// The first block of a term, its *head*, has the number alone. So it stands before all others of the term,
/// whatever documents come to stand in it.
enum PostingKey {
    static func append(_ number: UInt64, to key: inout [UInt8]) {
        OrderedNumber.append(number, to: &key)
    }

    static func append(_ number: UInt64, _ ordinal: UInt64, to key: inout [UInt8]) {
        OrderedNumber.append(number, to: &key)
        OrderedNumber.append(ordinal, to: &key)
    }

    /// The parts of a key; a head has no ordinal.
    static func parts(_ key: Span<UInt8>) throws(IndexCorruption) -> (
        number: UInt64, ordinal: UInt64?
    ) {
        var offset = 0
        let number = try OrderedNumber.decode(key, at: &offset)
        guard offset < key.count else { return (number, nil) }
        let ordinal = try OrderedNumber.decode(key, at: &offset)
        guard offset == key.count else {
            throw IndexCorruption("The key of a block of postings is damaged.")
        }
        return (number, ordinal)
    }
}
