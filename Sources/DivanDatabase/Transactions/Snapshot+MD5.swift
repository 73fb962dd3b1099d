// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

// The MD5 of contents, as far as rows tell it; see `AttachmentStore.md5(of:)`.
extension Snapshot {
    /// So many rows are looked at: revisions of an earlier release may have many without it.
    private static let mostRows = 16

    /// The MD5 that is noted of a content, or stands in one of its rows.
    func knownMD5(of key: AttachmentKey) throws -> [UInt8]? {
        try core.attachments.knownMD5s[key] ?? referredMD5(of: key)
    }

    /// The MD5 in one of the rows of a content.
    func referredMD5(of key: AttachmentKey) throws -> [UInt8]? {
        let cursor = try reader.cursor(in: core.stores.attachmentReferences)
        defer { cursor.close() }
        // The newest first, which are of this release.
        var found = try cursor.seek(toAtMost: AttachmentReference.rowKey(key, .max).span)
        for _ in 0..<Self.mostRows where found {
            var md5: [UInt8]?
            var isOfOther = false
            try cursor.withRow { row, value in
                isOfOther = AttachmentKey(row) != key
                md5 = AttachmentReference.md5(in: value)
            }
            if isOfOther { return nil }
            if let md5 { return md5 }
            found = try cursor.previous()
        }
        return nil
    }
}
