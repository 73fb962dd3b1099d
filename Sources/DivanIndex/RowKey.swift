// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

/// The key of a row: what was emitted, who emitted it, and which of several equal emissions it is.
///
///     size  meaning
///        …  the emitted key (`RowKeyCoder`), which ends itself
///        n  the document's ID in UTF-8, which holds no zero
///        1  00
///        …  how many rows of this key the document emitted before, big-endian; nothing for the first
///
/// So rows sort by key and then by the bytes of the document's ID, a shorter ID first. Rows of one
/// document with one key come in no order that anybody may rely on.
package enum RowKey {
    /// Appends what follows the emitted key.
    ///
    /// - Parameters:
    ///   - id: The emitting document.
    ///   - ordinal: How many rows of the same key it emitted before.
    ///   - key: Grows by the rest of the row key.
    package static func append(_ id: DocumentID, ordinal: Int, to key: inout [UInt8]) {
        key.append(contentsOf: id.text.utf8)
        append(ordinal: ordinal, to: &key)
    }

    /// Appends what follows the document's ID.
    static func append(ordinal: Int, to key: inout [UInt8]) {
        key.append(0)
        guard ordinal > 0 else { return }
        var shift = (ordinal.bitWidth - ordinal.leadingZeroBitCount - 1) / 8 * 8
        while shift >= 0 {
            key.append(UInt8(truncatingIfNeeded: ordinal >> shift))
            shift -= 8
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
        var end = offset
        while end < key.count, key[end] != 0 { end += 1 }
        guard end > offset, end < key.count else {
            throw IndexCorruption("A row's key has no document ID.")
        }
        // SAFETY: the buffer is read before the closure returns.
        let text = unsafe key.extracting(offset..<end).withUnsafeBufferPointer {
            unsafe String(validating: $0, as: UTF8.self)
        }
        guard let text else {
            throw IndexCorruption("A row's key has a document ID that is not UTF-8.")
        }
        return DocumentID(unchecked: text)
    }
}

/// Bytes of an index that are not what an index holds. The index can be dropped and built anew.
package struct IndexCorruption: Error, CustomStringConvertible {
    /// What is wrong, in one sentence without any key or value.
    package var description: String

    /// Makes the error of a sentence.
    package init(_ description: String) { self.description = description }
}
