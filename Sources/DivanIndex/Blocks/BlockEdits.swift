// SPDX-License-Identifier: Apache-2.0

/// Changes of the rows of a store, sorted by key, and the bytes that they are made of.
///
/// A bulk build has hundreds of thousands of these, so one is a few numbers; most are sorted by their
/// first eight bytes, without looking at the rest.
struct BlockEdits {
    enum Kind: UInt8, Sendable {
        /// Puts a row, in place of any former one.
        case put
        /// Puts a row in place of one that must be there.
        case replace
        /// Removes a row that must be there.
        case remove
        /// Removes a row if it is there.
        case clear
    }

    struct Edit {
        /// The first eight bytes of the key, for sorting.
        var beginning: UInt64
        var start: Int
        var keySize: Int32
        var valueSize: Int32
        var kind: Kind
        /// What the edit is made for, in words of whoever makes it.
        var source: Int32

        var key: Range<Int> { start..<start + Int(keySize) }
        var value: Range<Int> {
            let keyEnd = start + Int(keySize)
            return keyEnd..<keyEnd + Int(valueSize)
        }
    }

    private(set) var edits: [Edit] = []

    var count: Int { edits.count }

    mutating func reserve(_ count: Int) { edits.reserveCapacity(count) }

    /// Adds an edit whose key, followed by its value, stands in `bytes`.
    mutating func append(
        _ kind: Kind, at start: Int, keySize: Int, valueSize: Int, of bytes: [UInt8],
        source: Int = 0
    ) {
        var beginning: UInt64 = 0
        for offset in 0..<min(8, keySize) {
            beginning |= UInt64(bytes[start + offset]) << UInt64(56 - 8 * offset)
        }
        edits.append(
            Edit(
                beginning: beginning, start: start, keySize: Int32(keySize),
                valueSize: Int32(valueSize), kind: kind, source: Int32(source)))
    }

    /// Adds an edit whose key and value are appended to `bytes`.
    mutating func append(_ kind: Kind, key: [UInt8], value: [UInt8], to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: key)
        bytes.append(contentsOf: value)
        append(kind, at: start, keySize: key.count, valueSize: value.count, of: bytes)
    }

    /// Sorts by key, unless they are sorted.
    mutating func sort(in bytes: [UInt8]) {
        if !isSorted(in: bytes) { edits.sort { Self.isBefore($0, $1, bytes) } }
    }

    private func isSorted(in bytes: [UInt8]) -> Bool {
        for index in edits.indices.dropFirst()
        where Self.isBefore(edits[index], edits[index - 1], bytes) {
            return false
        }
        return true
    }

    @inline(__always)
    private static func isBefore(_ left: Edit, _ right: Edit, _ bytes: [UInt8]) -> Bool {
        if left.beginning != right.beginning { return left.beginning < right.beginning }
        let span = bytes.span
        return compare(span.extracting(left.key), span.extracting(right.key)) < 0
    }
}
