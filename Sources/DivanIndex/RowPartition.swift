// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// What stands before the emitted key in an index that is made for partitions: the name of the document's partition
/// in UTF-8, then a zero, which no name holds.
///
///     sensor-1 00 │ emitted key │ ID 00          a row of a document of the partition "sensor-1"
///              00 │ emitted key │ ID 00          one of a document of no partition, which no query finds
///
/// So the rows of a partition are one range, in which everything works as it does in a whole index: counting,
/// reducing and skipping cost O(log n) of the rows.
package enum RowPartition {
    private static let colon = UInt8(ascii: ":")

    /// Appends what the rows of a document begin with.
    ///
    /// - Parameters:
    ///   - id: The document's ID, as an index has it (``RowDocumentID``).
    ///   - bytes: Grows by the name and the zero.
    static func append(of id: Span<UInt8>, to bytes: inout [UInt8]) {
        defer { bytes.append(0) }
        // Reserved IDs are those of no partition.
        guard id.count > 0, id[0] != UInt8(ascii: "_") else { return }
        guard isPutTogether(id) else { return append(nameIn: id, to: &bytes) }
        guard let whole = try? RowDocumentID.decode(id) else { return }
        let text = Array(whole.text.utf8)
        append(nameIn: text.span, to: &bytes)
    }

    /// Appends what the rows of a partition begin with.
    package static func append(_ name: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(0)
    }

    private static func append(nameIn id: Span<UInt8>, to bytes: inout [UInt8]) {
        for index in 0..<id.count where id[index] == colon {
            return bytes.append(copying: id.extracting(..<index))
        }
    }

    /// Whether an ID is not kept as its text: one that begins with two digits.
    private static func isPutTogether(_ id: Span<UInt8>) -> Bool {
        id.count >= 2 && isDigit(id[0]) && isDigit(id[1])
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")
    }
}
