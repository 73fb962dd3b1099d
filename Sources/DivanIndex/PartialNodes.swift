// SPDX-License-Identifier: Apache-2.0

/// Nodes of partial reductions in the order of their keys.
///
/// An index of ten million rows has a third of a million. So their bytes stand one after the other: nodes with two arrays each would take three
/// times as much memory.
struct PartialNodes: Sendable {
    /// The key and the value of each.
    private var bytes: [UInt8] = []
    /// Where the key of each ends, and where its value does.
    private var ends: [(key: Int, value: Int)] = []

    /// How many there are.
    var count: Int { ends.count }

    /// How many bytes their keys and values have.
    var size: Int { bytes.count }

    /// Adds the next node.
    mutating func append(key: [UInt8], value: [UInt8]) {
        bytes += key
        let keyEnd = bytes.count
        bytes += value
        ends.append((keyEnd, bytes.count))
    }

    /// Adds nodes that follow.
    mutating func append(_ others: PartialNodes) {
        let offset = bytes.count
        bytes += others.bytes
        ends += others.ends.map { ($0.key + offset, $0.value + offset) }
    }

    /// The key and the value of a node.
    subscript(position: Int) -> (key: [UInt8], value: [UInt8]) {
        let start = position == 0 ? 0 : ends[position - 1].value
        let end = ends[position]
        return (Array(bytes[start..<end.key]), Array(bytes[end.key..<end.value]))
    }

    /// Lends each node's key and value.
    func forEach(_ body: (Span<UInt8>, Span<UInt8>) throws -> Void) rethrows {
        let bytes = bytes.span
        var start = 0
        for end in ends {
            try body(bytes.extracting(start..<end.key), bytes.extracting(end.key..<end.value))
            start = end.value
        }
    }
}
