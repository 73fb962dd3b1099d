// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

/// The key of a row in `olderRevisions`: a block of the older revisions of a document.
///
///     offset  size  meaning
///          0     n  UTF-8 of the document ID, which has no NUL
///          n     1  0
///      n + 1     8  the block's number, big-endian
///
/// The value is the block's tree (RevisionTree+Encoding). Rows of one document stand together, the oldest
/// block first.
package struct OlderRevisionsKey: Equatable {
    /// The document.
    package var documentID: DocumentID
    /// The block's number.
    package var number: UInt64

    init(_ documentID: DocumentID, _ number: UInt64) {
        self.documentID = documentID
        self.number = number
    }

    /// Reads the key of a row.
    package init(_ key: Span<UInt8>) throws {
        guard key.count > 9, key[key.count - 9] == 0 else { throw MalformedRow() }
        var reader = RowReader(offset: key.count - 8)
        number = try reader.bigEndian64(key)
        documentID = DocumentID(String(utf8: key.extracting(0..<key.count - 9)))
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(documentID.text.utf8.count + 9)
        bytes.append(contentsOf: documentID.text.utf8)
        bytes.append(0)
        bytes.append(bigEndian64: number)
        return bytes
    }
}

extension RevisionBlock {
    /// Reads the value of a row.
    package init(number: UInt64, _ row: Span<UInt8>) throws {
        var reader = RowReader()
        let tree = try RevisionTree(decoding: row, at: &reader.offset)
        guard reader.rest(row).isEmpty else { throw MalformedRow() }
        self.init(number: number, tree: tree)
    }
}
