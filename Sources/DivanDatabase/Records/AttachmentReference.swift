// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
internal import DivanStorage

/// A row of `attachmentReferences`: that a stored revision refers to a content.
///
///     key     offset  size  meaning
///                  0    20  the content's key: its SHA-1, or its MD5 and four bytes (AttachmentKey)
///                 20     8  sequence of the revision that refers to it, big-endian
///     value        0     0  the content is stored
///                  0    16  the content is stored, and this is its MD5
///                  0     1  flags: 1 the content need not be here: it was not when the revision was
///                           stored, or `release` has given it up
///
/// The file of a content is kept as long as there is a row for it. The rows of a revision come and go
/// with the revision's own row, in one transaction.
package struct AttachmentReference: Equatable {
    static let absent: UInt8 = 1
    static let keyLength = AttachmentKey.byteCount + 8

    var key: AttachmentKey
    /// Whether the content was not here when the revision was stored.
    var isAbsent = false
    /// The MD5 of the content, where it is known.
    var md5: [UInt8]?

    /// The row's key.
    func rowKey(_ sequence: SequenceNumber) -> [UInt8] { Self.rowKey(key, sequence) }

    static func rowKey(_ key: AttachmentKey, _ sequence: SequenceNumber) -> [UInt8] {
        var row = key.bytes
        row.append(bigEndian64: sequence)
        return row
    }

    /// The row's value.
    var value: [UInt8] { isAbsent ? [Self.absent] : md5 ?? [] }

    /// Whether a row's value says that the content need not be here.
    static func isAbsent(_ value: Span<UInt8>) -> Bool { value.count == 1 }

    /// The MD5 in a row's value.
    static func md5(in value: Span<UInt8>) -> [UInt8]? {
        value.count == DigestAlgorithm.md5.byteCount ? value.indices.map { value[$0] } : nil
    }

    /// Whether a row's value is one of the three.
    static func isWellFormed(_ value: Span<UInt8>) -> Bool {
        value.isEmpty || md5(in: value) != nil || (value.count == 1 && value[0] == absent)
    }

    /// Reads a row's key.
    package static func decode(_ row: Span<UInt8>) throws -> (
        key: AttachmentKey, sequence: SequenceNumber
    ) {
        guard row.count == keyLength, let key = AttachmentKey(row) else { throw MalformedRow() }
        var reader = RowReader()
        reader.offset = AttachmentKey.byteCount
        return (key, try reader.bigEndian64(row))
    }
}
