// SPDX-License-Identifier: Apache-2.0

/// Changes of the rows of a store, sorted by key (``KeySorter``), and the bytes that they are made of.
///
/// A bulk build has hundreds of thousands of edits. So an edit is a few numbers.
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
        var start: Int
        var keySize: Int32
        var valueSize: Int32
        var kind: Kind

        var key: Range<Int> { start..<start + Int(keySize) }
        var value: Range<Int> {
            let keyEnd = start + Int(keySize)
            return keyEnd..<keyEnd + Int(valueSize)
        }
    }

    private(set) var edits: [Edit] = []

    var count: Int { edits.count }

    mutating func reserve(_ count: Int) { edits.reserveCapacity(count) }

    /// Adds an edit whose key, followed by its value, stands in the bytes.
    mutating func append(_ kind: Kind, at start: Int, keySize: Int, valueSize: Int) {
        edits.append(
            Edit(
                start: start, keySize: Int32(keySize), valueSize: Int32(valueSize), kind: kind))
    }

    /// Adds an edit whose key and value are appended to `bytes`.
    mutating func append(_ kind: Kind, key: [UInt8], value: [UInt8], to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: key)
        bytes.append(contentsOf: value)
        append(kind, at: start, keySize: key.count, valueSize: value.count)
    }

    /// Sorts by key, unless they are sorted.
    mutating func sort(in bytes: [UInt8]) {
        guard !isSorted(in: bytes.span) else { return }
        var sorter = KeySorter()
        sorter.reserve(count)
        for index in edits.indices { sorter.append(index, edits[index].key, of: bytes) }
        sorter.sort(in: bytes) { edits[$0].key }
        move(sorter.places.map(\.index))
    }

    /// Moves each edit to its place, one circle of places after the other. A copy of all edits would be most of the memory that
    /// sorting takes.
    private mutating func move(_ order: consuming [Int]) {
        for start in order.indices where order[start] >= 0 {
            let first = edits[start]
            var place = start
            while true {
                let source = order[place]
                order[place] = -1
                guard source != start else { break }
                edits[place] = edits[source]
                place = source
            }
            edits[place] = first
        }
    }

    private func isSorted(in bytes: Span<UInt8>) -> Bool {
        for index in edits.indices.dropFirst() {
            let (key, former) = (edits[index].key, edits[index - 1].key)
            if compare(bytes.extracting(key), bytes.extracting(former)) < 0 { return false }
        }
        return true
    }
}
