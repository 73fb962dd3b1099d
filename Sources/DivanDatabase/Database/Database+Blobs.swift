// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanModel

// Content beside documents: stored before there is a document for it, found by what names it.
extension Database {
    /// Stores the content of a blob, for a document that is to be saved later.
    ///
    /// ```swift
    /// let blob = try database.saveBlob(Blob(contentType: "image/jpeg", file: url))
    /// // … later, also after the app was started anew:
    /// let found = database.blob(for: blob.properties)
    /// ```
    ///
    /// Saving a document stores the content of its blobs by itself, so there is seldom a need for this.
    /// If no document refers to the content, the next compaction removes it.
    ///
    /// A blob that was read from another database is copied, as a save does.
    ///
    /// - Returns: The blob, readable from this database.
    /// - Throws: `DatabaseError` with code `.attachmentNotFound` when the content cannot be copied, `.io`,
    ///   `.storageFull`, or as `write(_:)`; and what the content's reader throws.
    @discardableResult
    public func saveBlob(_ blob: Blob) throws -> Blob {
        try checkWritable()
        let transfer = try blob.isLacking(in: core.attachments) ? blob.transfer : nil
        guard let pending = blob.pending ?? transfer else {
            return Blob(blob.properties, store: core.attachments.number) ?? blob
        }
        // Read before waiting for the writer.
        if !core.isInTransaction { try pending.stage(in: core.attachments, for: "") }
        try core.write { try $0.store(pending) }
        return Blob(blob.properties, store: core.attachments.number) ?? blob
    }

    /// The blob that an object of a document stands for; nil when its content is not here.
    ///
    /// - Parameter properties: What `Blob.properties` says: the digest names the content.
    /// - Returns: The blob, readable from this database.
    public func blob(for properties: JSONObject) -> Blob? {
        var properties = properties
        properties["@type"] = .string(Blob.typeName)
        let blob = Blob(properties, store: core.attachments.number)
        return blob?.isContentAvailable == true ? blob : nil
    }
}
