// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel
internal import DivanStorage

/// The key of a row: what was emitted, which document emitted it, and which of several equal
/// emissions it is.
///
///     size  meaning
///        …  the emitted key (`RowKeyCoder`), which ends itself
///        n  the document's ID (``RowDocumentID``), which holds no zero
///        1  00
///     for most rows that is all; the others go on
///     1 … 9  the ordinal: how many rows of this key the document emitted before
///        …  how the key's numbers are written (`NumberForms`), if not in the plainest way
///
/// In an index that is made for partitions, the name of the document's partition and a zero stand before all that
/// (``RowPartition``), so that the rows of a partition are one range.
///
/// So rows sort by key and then by the UTF-8 of the document's ID, a shorter ID first. Rows of one
/// document whose keys collate as equal come in the order in which it emitted them.
///
/// The ordinal is an ``OrderedNumber``.
package enum RowKey {
    /// A byte that stands above the first one of every document's ID, which is that of its UTF-8: an emitted
    /// key with this behind it is above all rows of that key and below those of the next.
    package static let aboveIDs: UInt8 = 0xFF

    /// Appends what follows the emitted key.
    ///
    /// - Parameters:
    ///   - id: The emitting document.
    ///   - ordinal: How many rows of the same key it emitted before.
    ///   - forms: How the numbers of the emitted key are written: the bytes of its `NumberForms`.
    ///   - key: Grows by the rest of the row key.
    package static func append(
        _ id: DocumentID, ordinal: Int, forms: some Collection<UInt8>, to key: inout [UInt8]
    ) {
        RowDocumentID.append(id, to: &key)
        appendEnd(ordinal: ordinal, forms: forms, to: &key)
    }

    /// The same with the ID as an index has it.
    static func append(
        id: Span<UInt8>, ordinal: Int, forms: some Collection<UInt8>, to key: inout [UInt8]
    ) {
        key.append(copying: id)
        appendEnd(ordinal: ordinal, forms: forms, to: &key)
    }

    private static func appendEnd(
        ordinal: Int, forms: some Collection<UInt8>, to key: inout [UInt8]
    ) {
        key.append(0)
        guard ordinal > 0 || !forms.isEmpty else { return }
        OrderedNumber.append(UInt64(ordinal), to: &key)
        key.append(contentsOf: forms)
    }

    /// Where the forms of the emitted key's numbers stand, given what follows the document's ID and the
    /// zero behind it.
    static func forms(behindID start: Int, end: Int, in key: [UInt8]) -> Range<Int> {
        guard start < end else { return end..<end }
        let size = OrderedNumber.countOfMore(after: key[start])
        return min(end, start + 1 + size)..<end
    }

    /// Reads what was emitted, numbers written as they were.
    ///
    /// - Parameters:
    ///   - key: A row key.
    ///   - coder: The coder of the index.
    /// - Returns: The emitted key.
    /// - Throws: ``IndexCorruption`` when the bytes are no row key.
    package static func emittedKey(
        in key: Span<UInt8>, _ coder: RowKeyCoder
    ) throws(IndexCorruption) -> JSONValue {
        do throws(RowKeyCoder.Failure) {
            var offset = coder.start(in: key)
            let value = try coder.decode(key, at: &offset)
            offset = key.firstZero(from: offset)
            guard offset + 1 < key.count else { return value }
            let size = OrderedNumber.countOfMore(after: key[offset + 1])
            let forms = min(key.count, offset + 2 + size)
            return try coder.restoring(value, key.extracting(forms..<key.count))
        } catch {
            throw IndexCorruption("A row's key is damaged.")
        }
    }

    /// Reads the document's ID that begins at an offset.
    ///
    /// - Parameters:
    ///   - key: A row key.
    ///   - offset: Where its emitted key ends.
    /// - Returns: The ID.
    /// - Throws: ``IndexCorruption`` when no ID stands there.
    package static func documentID(
        in key: Span<UInt8>, at offset: Int
    ) throws(IndexCorruption) -> DocumentID {
        try RowDocumentID.decode(key.extracting(idRange(in: key, at: offset)))
    }

    /// Appends the document's ID that begins at an offset, in UTF-8.
    ///
    /// - Parameters:
    ///   - key: A row key.
    ///   - offset: Where its emitted key ends.
    ///   - text: Grows by the ID.
    /// - Throws: ``IndexCorruption`` when no ID stands there.
    package static func appendDocumentID(
        in key: Span<UInt8>, at offset: Int, to text: inout [UInt8]
    ) throws(IndexCorruption) {
        try RowDocumentID.decode(key.extracting(idRange(in: key, at: offset)), to: &text)
    }

    private static func idRange(
        in key: Span<UInt8>, at offset: Int
    ) throws(IndexCorruption) -> Range<Int> {
        let end = key.firstZero(from: offset)
        guard end > offset, end < key.count else {
            throw IndexCorruption("A row's key has no document ID.")
        }
        return offset..<end
    }
}
