// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
package import DivanStorage

/// A row of `attachmentReferences`: that a stored revision refers to a content.
///
///     key     offset  size  meaning
///                  0    20  the content's key: its SHA-1, or its MD5 and four bytes (AttachmentKey)
///                 20     8  sequence of the revision that refers to it, big-endian
///     value        0     0  the content is stored
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

    /// The row's key.
    func rowKey(_ sequence: SequenceNumber) -> [UInt8] { Self.rowKey(key, sequence) }

    static func rowKey(_ key: AttachmentKey, _ sequence: SequenceNumber) -> [UInt8] {
        var row = key.bytes
        row.append(bigEndian64: sequence)
        return row
    }

    /// The row's value.
    var value: [UInt8] { isAbsent ? [Self.absent] : [] }

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

extension AttachmentReference {
    /// A content that rows refer to, and whether it must be there.
    package struct Content {
        var key: AttachmentKey
        /// False when every revision that refers to it came without it.
        var isNeeded: Bool
    }

    /// The contents that the rows of a database refer to, in the order of their keys, each once.
    ///
    /// - Parameters:
    ///   - core: The database, which is named when its rows are damaged.
    ///   - engine: The engine to read, when it is not the database's own but that of a copy.
    /// - Returns: The contents.
    /// - Throws: `DatabaseError`.
    package static func contents(in core: DatabaseCore, of engine: (any StorageEngine)? = nil)
        throws
        -> [Content]
    {
        let engine = engine ?? core.engine
        let store = Stores(engine: engine).attachmentReferences
        var contents: [Content] = []
        try core.blaming(nil) {
            try engine.read { (reader: any StorageReader) throws -> Void in
                let cursor = try reader.cursor(in: store)
                defer { cursor.close() }
                var found = try cursor.seekToFirst()
                while found {
                    try cursor.withRow { row, value in
                        let key = try core.decoding(nil) { try decode(row).key }
                        // Some revisions came without their contents.
                        let isNeeded = value.count == 0
                        if contents.last?.key == key {
                            contents[contents.count - 1].isNeeded =
                                contents[contents.count - 1].isNeeded || isNeeded
                        } else {
                            contents.append(Content(key: key, isNeeded: isNeeded))
                        }
                    }
                    found = try cursor.next()
                }
            }
        }
        return contents
    }
}

extension PackedValue {
    /// The contents that a body refers to, in `_attachments` and in blobs, each once.
    ///
    /// A body without either costs one search for the bytes that every blob has.
    package var attachmentKeys: [AttachmentKey] {
        var keys: [AttachmentKey] = []
        func add(_ key: AttachmentKey?) {
            if let key, !keys.contains(key) { keys.append(key) }
        }
        self["_attachments"]?.forEachProperty { _, stub in
            add(stub["digest"]?.string.flatMap(AttachmentKey.init(ofStub:)))
        }
        if mayHoldBlobs {
            forEachBlob { add($0["digest"]?.string.flatMap(AttachmentKey.init(digest:))) }
        }
        return keys
    }

    /// Whether the bytes hold `"@type":"blob"` as a blob packs it; false only when there is no blob.
    var mayHoldBlobs: Bool { withBytes { BlobMark.occurs(in: $0) } }

    /// Calls `body` for each blob, at any depth.
    func forEachBlob(_ body: (PackedValue) -> Void) {
        switch kind {
        case .array: forEachElement { $0.forEachBlob(body) }
        case .object:
            if Blob.typeName.hasSameBytes(as: self["@type"]?.string) { body(self) }
            forEachProperty { _, value in value.forEachBlob(body) }
        default: break
        }
    }
}
